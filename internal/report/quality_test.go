package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/result"
)

// What a reader should know of the machine is one row, in words.
func TestEnvironmentConditions(t *testing.T) {
	run := &result.Run{Host: result.Host{Conditions: []string{"virtual machine", "SMT on"}}}
	rows := environment(Input{Run: run}).Rows
	assert.Contains(t, rows, []cell{words("conditions"), words("virtual machine, SMT on")})
}
