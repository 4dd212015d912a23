package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/result"
)

func TestEveryColumnStyleIsShown(t *testing.T) {
	for _, style := range result.ColumnStyles {
		assert.Contains(t, styles, style)
	}
	cell := &result.Cell{
		Name: "n", Group: "g", Flags: map[string]string{"pin-cpus": "0-3", "lock-thread": "false", "empty": ""},
		CPUs: map[string]result.CPUs{"cpus": {Count: 8}, "pin-cpus": {Count: 4}},
	}
	for _, c := range []struct {
		column result.Column
		want   string
	}{
		{result.Column{Flag: "group"}, "g"},
		{result.Column{Flag: "pin-cpus", Style: "cpus"}, "T-4"},
		{result.Column{Flag: "other", Style: "cpus"}, "F (8)"},
		{result.Column{Flag: "pin-cpus", Style: "truth"}, "T"},
		{result.Column{Flag: "lock-thread", Style: "truth"}, "F"},
		{result.Column{Flag: "other", Style: "truth"}, "F"},
		{result.Column{Flag: "other", Unset: "default"}, "default"},
		{result.Column{Flag: "empty", Unset: "default"}, ""},
		{result.Column{Flag: "pin-cpus"}, "0-3"},
		{result.Column{Flag: "pin-cpus", Style: "of another version"}, "0-3"},
	} {
		assert.Equal(t, c.want, cellLabel(cell, c.column), "%+v", c.column)
	}
}
