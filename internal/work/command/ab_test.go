package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
)

// groupLines formats the groups, one per line: its name, which is its first axis too, and the values of the other axes.
func groupLines(t *testing.T, groups []matrix.Group) (lines string) {
	for _, g := range groups {
		assert.Equal(t, matrix.Axis{Flag: "name", Values: []string{g.Name}}, g.Axes[0])
		lines += "\n" + g.Name + ":"
		for _, axis := range g.Axes[1:] {
			lines += " " + axis.Flag + "=" + strings.Join(axis.Values, ",")
		}
	}
	return lines
}

func TestCommandGroups(t *testing.T) {
	for name, c := range map[string]struct {
		commands Commands
		texts    []string
		given    map[string][]string
		want     string
	}{
		"two commands are called by their words": {Commands{}, []string{"a x", "b"}, nil, `
a x: command=a x
b: command=b`},
		"equal commands are distinguished by position": {Commands{}, []string{"a", "a", "a"}, nil, `
a: command=a
a (2): command=a
a (3): command=a`},
		"names are in the order of the commands": {Commands{names: []string{"old"}}, []string{"a", "b"}, nil, `
old: command=a
b: command=b`},
		"the last parameter runs fastest, and only where it is used": {Commands{
			names: []string{"n"}, lists: []string{"x=1,2"}, ranges: []string{"y=8:9"},
		}, []string{"a {x} {y}", "b {y}", "c {z}"}, nil, `
n x=1 y=8: command=a 1 8
n x=1 y=9: command=a 1 9
n x=2 y=8: command=a 2 8
n x=2 y=9: command=a 2 9
b 8: command=b 8
b 9: command=b 9
c {z}: command=c {z}`},
		"a backslash makes a comma part of a value": {Commands{lists: []string{`x=1\,2,3`}}, []string{"a {x}"}, nil, `
a 1,2: command=a 1,2
a 3: command=a 3`},
		"a name may have the parameter itself": {Commands{
			names: []string{"{x} threads"}, lists: []string{"x=1,2"},
		}, []string{"a {x}"}, nil, `
1 threads: command=a 1
2 threads: command=a 2`},
		"what comes before is the same for all commands, or one for each": {Commands{
			lists: []string{"x=7"},
		}, []string{"a {x}", "b"}, map[string][]string{"setup": {"make {x}"}, "prepare": {"p", "q"}}, `
a 7: command=a 7 setup=make 7 prepare=p
b: command=b setup=make 7 prepare=q`}, // b's own name and command have no parameter
	} {
		groups, err := c.commands.groups(c.texts, func(flag string) []string { return c.given[flag] })
		require.NoError(t, err, name)
		assert.Equal(t, c.want, groupLines(t, groups), name)
	}
}

func TestCommandGroupsErrors(t *testing.T) {
	none := func(string) []string { return nil }
	for message, c := range map[string]struct {
		commands Commands
		texts    []string
		given    func(string) []string
	}{
		"command 2 is empty":                              {Commands{}, []string{"a", " "}, none},
		"--command-name is given 2 times, for 1 commands": {Commands{names: []string{"a", "b"}}, []string{"x"}, none},
		"no command has {x}":                              {Commands{lists: []string{"x=1"}}, []string{"a"}, none},
		"the parameter x is there already":                {Commands{lists: []string{"x=1"}, ranges: []string{"x=1:2"}}, []string{"a {x}"}, none},
		"it has no NAME=":                                 {Commands{lists: []string{"1,2"}}, []string{"a"}, none},
		"a value is missing":                              {Commands{lists: []string{"x=1,,2"}}, []string{"a {x}"}, none},
		"a range is FROM:TO or FROM:TO:STEP":              {Commands{ranges: []string{"x=1"}}, []string{"a {x}"}, none},
		`"y" is not a number`:                             {Commands{ranges: []string{"x=1:y"}}, []string{"a {x}"}, none},
		"a range goes up, by a step above 0":              {Commands{ranges: []string{"x=2:1"}}, []string{"a {x}"}, none},
		"the range has more than 10000 numbers":           {Commands{ranges: []string{"x=1:1e9"}}, []string{"a {x}"}, none},
		"the matrix would have more than 10000 cells":     {Commands{}, slices.Repeat([]string{"a"}, 10_001), none},
		"--param-range: the matrix would have more than 10000 cells": {
			Commands{lists: []string{"x=1,2"}, ranges: []string{"y=1:9000", "z=1:9000"}}, []string{"a {x} {y} {z}"}, none,
		},
		"--param: the values of all cells would take more than 64 MiB": {
			Commands{lists: []string{"x=" + strings.Repeat("1", 1<<16)}}, []string{strings.Repeat("{x}", 1<<11)}, none,
		},
		"--setup is given 3 times, for 2 commands: give it": {Commands{}, []string{"a", "b"}, func(string) []string { return []string{"1", "2", "3"} }},
	} {
		_, err := c.commands.groups(c.texts, c.given)
		require.Error(t, err, message)
		assert.Contains(t, err.Error(), message)
	}
}

func TestRange(t *testing.T) {
	for text, want := range map[string]string{
		"1:3":           "1 2 3",
		"0:1:0.25":      "0.00 0.25 0.50 0.75 1.00",
		"-1:1":          "-1 0 1",
		"1:1":           "1",
		"0.1:0.35:0.1":  "0.1 0.2 0.3",
		"0.10:0.3:0.10": "0.10 0.20 0.30",
	} {
		values, err := rangeOf(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, strings.Join(values, " "), text)
	}
}
