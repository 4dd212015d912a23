package matrix

// What the tests look at.
var Warmups = warmups

const PilotExecutions = pilotExecutions
