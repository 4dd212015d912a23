package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
)

// What was not counted is said once for each reason, with what it would have answered and, if it was counted in some rounds, in how many not.
func TestMissingWords(t *testing.T) {
	assert.Empty(t, missingWords(&result.Why{}))
	assert.Equal(t, "Not counted: cycles (how fast), TLB misses (how far) in 3 of 9 rounds: no counter. Not counted: energy (how much): only root may.",
		missingWords(&result.Why{Rounds: 9, Missing: []result.Missing{
			{Label: "cycles", Answers: "how fast", Rounds: 9, Why: "no counter"},
			{Label: "energy", Answers: "how much", Rounds: 9, Why: "only root may"},
			{Label: "TLB misses", Answers: "how far", Rounds: 3, Why: "no counter"},
		}}))
	assert.Equal(t, "Not counted: cycles (how fast).", missingWords(&result.Why{Rounds: 9, Missing: []result.Missing{{Label: "cycles", Answers: "how fast", Rounds: 9}}}))
}
