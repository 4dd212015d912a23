package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// Flags of an experiment whose cells are commands.
const (
	nameFlag    = "name"
	commandFlag = "command"
)

// perCommand are the flags of `gorun ab` that belong to a command: each has one value for all commands, or one for
// each. Their texts may contain parameters too.
var perCommand = []string{"setup", "prepare", "conclude", "cleanup", "input"}

// Commands supplies the cells of `gorun ab`: its positional arguments are commands, each of which is a group of cells for each
// combination of the parameters' values.
type Commands struct {
	names  []string // "": the command's own words
	lists  []string // NAME=A,B
	ranges []string // NAME=FROM:TO[:STEP]
}

// Register implements experiment.Source.
func (c *Commands) Register(set *experiment.FlagSet) {
	set.StringArrayVarP(&c.names, "command-name", "n", nil, "a `name` of a command in tables (repeatable, in the order of the commands)")
	set.StringArrayVar(&c.lists, "param", nil, "put each of these `values` in place of {NAME}: NAME=A,B (repeatable;\n"+matrix.CommaUsage+")")
	set.StringArrayVar(&c.ranges, "param-range", nil, "put the numbers of this `range` in place of {NAME}: NAME=FROM:TO or NAME=FROM:TO:STEP (repeatable)")
}

// Close implements experiment.Source.
func (c *Commands) Close() error { return nil }

// Open implements experiment.Source.
func (c *Commands) Open(_ context.Context, o experiment.Opening) (f experiment.Found, err error) {
	f.Has = perCommand
	f.FirstColumns = []result.FlagColumn{{Title: "command", Flag: nameFlag, Style: result.FlagStyles[0]}}
	f.Few = hint.With(errors.New("one command is nothing to compare"),
		"give another command, each with its arguments in quotes, as 'sort FILE', or several values of a flag: --placement unbound,one-cpu")
	if given := o.Values(commandFlag); len(given) > 0 {
		return f, hint.Usage(hint.Flag(commandFlag, given[0], hint.With(errors.New("the commands are arguments"), "gorun ab 'COMMAND A' 'COMMAND B'")))
	}
	if len(o.Args) == 0 {
		o.Args = []string{"true", "false"} // by which the flags are checked
		f.Missing = hint.Usage(hint.With(errors.New("no command was given"), "gorun ab 'COMMAND A' 'COMMAND B'"))
	}
	f.Groups, err = c.groups(o.Args, o.Values)
	return f, hint.Usage(err)
}

// groups returns the groups of these commands. given returns the values of a flag on the command line.
func (c *Commands) groups(texts []string, given func(flag string) []string) (groups []matrix.Group, err error) {
	if len(c.names) > len(texts) {
		return nil, fmt.Errorf("--command-name is given %d times, for %d commands", len(c.names), len(texts))
	}
	for _, name := range c.names {
		if err := shell.CheckText(name); err != nil {
			return nil, hint.Flag("command-name", name, err)
		}
	}
	params, err := c.parameters()
	if err != nil {
		return nil, err
	}
	if err := onePerArgument(texts); err != nil && len(given("shell")) == 0 {
		return nil, err
	}
	used := make([]bool, len(params))
	labels := map[string]int{}
	count := len(texts)
	var size matrix.Size
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("command %d is empty", i+1)
		}
		texts := [][2]string{{commandFlag, text}}
		for _, flag := range perCommand {
			switch values := given(flag); len(values) {
			case 0:
			case 1:
				texts = append(texts, [2]string{flag, values[0]})
			case count:
				texts = append(texts, [2]string{flag, values[i]})
			default:
				return nil, fmt.Errorf("--%s is given %d times, for %d commands: give it once, or once for each", flag, len(values), count)
			}
		}
		name := ""
		if i < len(c.names) {
			name = c.names[i]
		}
		more, err := expand(name, texts, params, used, labels, &size)
		if err != nil {
			if len(params) > 0 {
				err = fmt.Errorf("--%s: %w", c.flagOf(params[len(params)-1]), err)
			}
			return nil, err
		}
		groups = append(groups, more...)
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, hint.With(fmt.Errorf("--%s: no command has %s", c.flagOf(params[i]), placeholder(params[i].Flag)), "write it where its values belong, or leave the parameter out")
	}
	return groups, nil
}

// flagOf returns the flag of a parameter.
func (c *Commands) flagOf(of matrix.Axis) string {
	if slices.ContainsFunc(c.ranges, func(text string) bool { return strings.HasPrefix(text, of.Flag+"=") }) {
		return "param-range"
	}
	return "param"
}

// expand returns a group for each combination of the values of the parameters in the texts; the last parameter varies
// fastest. It sets used for each parameter in a text. labels counts the groups by name, so that equal names can be
// made different, and size all that is made.
func expand(
	name string, texts [][2]string, params []matrix.Axis, used []bool, labels map[string]int, size *matrix.Size,
) (groups []matrix.Group, err error) {
	var has matrix.Group
	bytes := 0.0 // of the texts of a combination
	for _, text := range texts {
		bytes += float64(len(text[1]))
	}
	for i, p := range params {
		times := 0
		for _, text := range texts {
			times += strings.Count(text[1], placeholder(p.Flag))
		}
		if times > 0 {
			has.Axes, used[i] = append(has.Axes, p), true
			bytes += float64(times) * p.Mean()
		}
	}
	if size.Add(has, bytes); size.Check() != nil {
		return nil, size.Check()
	}
	for _, combination := range has.Product() {
		var replace, values []string
		for _, p := range has.Axes {
			value := combination.Flags[p.Flag]
			replace, values = append(replace, placeholder(p.Flag), value), append(values, p.Flag+"="+value)
		}
		replacer := strings.NewReplacer(replace...)
		label := replacer.Replace(name)
		switch {
		case name == "":
			label = replacer.Replace(texts[0][1])
		case label == name && len(values) > 0:
			label += " " + strings.Join(values, " ")
		}
		if labels[label]++; labels[label] > 1 {
			label = fmt.Sprintf("%s (%d)", label, labels[label])
		}
		group := matrix.Group{Name: label, Axes: []matrix.Axis{{Flag: nameFlag, Values: []string{label}}}}
		if len(values) > 0 {
			group.Parameters = combination.Flags
		}
		for _, text := range texts {
			group.Axes = append(group.Axes, matrix.Axis{Flag: text[0], Values: []string{replacer.Replace(text[1])}})
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// placeholder returns the text that stands for a parameter's value.
func placeholder(name string) string { return "{" + name + "}" }

// parameters returns the names of the parameters and their values in the order of their flags, those of --param first.
func (c *Commands) parameters() (params []matrix.Axis, err error) {
	add := func(flag string, texts []string, parse func(string) ([]string, error)) error {
		for _, text := range texts {
			name, list, found := strings.Cut(text, "=")
			if !found || name == "" {
				return hint.Flag(flag, text, errors.New("it has no NAME="))
			}
			if slices.ContainsFunc(params, func(p matrix.Axis) bool { return p.Flag == name }) {
				return hint.Flag(flag, text, fmt.Errorf("the parameter %s is there already", name))
			}
			values, err := parse(list)
			if err != nil {
				return hint.Flag(flag, text, err)
			}
			params = append(params, matrix.Axis{Flag: name, Values: values})
		}
		return nil
	}
	err = cmp.Or(add("param", c.lists, matrix.ParseParameter), add("param-range", c.ranges, rangeOf))
	return params, err
}

// rangeOf returns the numbers of a range, FROM:TO or FROM:TO:STEP, including both ends.
func rangeOf(text string) (values []string, err error) {
	fields := strings.Split(text, ":")
	if len(fields) != 2 && len(fields) != 3 {
		return nil, errors.New("a range is FROM:TO or FROM:TO:STEP")
	}
	bounds := []float64{0, 0, 1}
	decimals := 0
	for i, field := range fields {
		if bounds[i], err = strconv.ParseFloat(field, 64); err != nil || math.IsNaN(bounds[i]) || math.IsInf(bounds[i], 0) {
			return nil, fmt.Errorf("%q is not a number", field)
		}
		if _, fraction, has := strings.Cut(field, "."); has && i != 1 {
			decimals = max(decimals, len(fraction))
		}
	}
	from, to, step := bounds[0], bounds[1], bounds[2]
	if step <= 0 || to < from {
		return nil, errors.New("a range goes up, by a step above 0")
	}
	count := math.Floor((to-from)/step+1e-9) + 1
	if count > matrix.MaxCells {
		return nil, fmt.Errorf("the range has more than %d numbers", matrix.MaxCells)
	}
	for i := range int(count) {
		values = append(values, strconv.FormatFloat(from+float64(i)*step, 'f', decimals, 64))
	}
	return values, nil
}

// onePerArgument returns an error if arguments are the words of one command, as in `gorun ab sort FILE`: a program, and a word that
// is none.
func onePerArgument(texts []string) error {
	for i, text := range texts {
		word := func(text string) bool { return !strings.ContainsAny(text, " \t\n{'\"\\") }
		if i == 0 || !word(text) || !word(texts[i-1]) || shell.Builtin(text) != "" {
			continue
		}
		_, missing := exec.LookPath(text)
		if _, err := exec.LookPath(texts[i-1]); err == nil && missing != nil {
			return hint.With(fmt.Errorf("command %d: %w", i+1, missing), "each command is one argument, with its own arguments in quotes: "+
				shell.Join([]string{"gorun", "ab", texts[i-1] + " " + text, "COMMAND B"}))
		}
	}
	return nil
}
