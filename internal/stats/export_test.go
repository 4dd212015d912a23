package stats

// Exported for tests of what is built on the bets.
var (
	WithReplays = withReplays
	EqualWork   = equalWork
	Most        = most
)
