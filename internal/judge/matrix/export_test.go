package matrix

// Exported for tests.
var Warmups = warmups

const PilotExecutions = pilotExecutions
