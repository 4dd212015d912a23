// Package matrix measures one experiment in many configurations: the axes of a Spec become cells, whose samples are
// taken by child processes in an order that a design decides.
package matrix

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"gorun/internal/base/hint"
	"gorun/internal/record/result"
)

// Flag is a flag of the experiment's command.
type Flag struct {
	Name    string
	Switch  bool   // its values are "true" and "false"
	List    bool   // a CPU list: its values are separated by spaces, since it contains commas
	Whole   bool   // a text that is always one value
	Joined  bool   // a text that is always one value, to which a flag that is given again adds a line
	Default string // value in a cell without the flag; "" if it equals none of the flag's values
}

// Axis is a flag and the values it takes, in order.
type Axis struct {
	Flag   string
	Values []string
	Typed  bool // Values is one text with commas, as it is typed on the command line
}

// Group is a group of rows in the table: the full product of its axes.
type Group struct {
	Name, Comment string
	Axes          []Axis
	Parameters    map[string]string // values that were put into the texts of its axes
}

// parameters returns the names of the groups' parameters, without those that a flag has.
func (s Spec) parameters(flags []Flag) map[string]bool {
	names := map[string]bool{}
	for _, g := range s.Groups {
		for name := range g.Parameters {
			if !slices.ContainsFunc(flags, func(f Flag) bool { return f.Name == name }) {
				names[name] = true
			}
		}
	}
	return names
}

// Spec defines the cells of a matrix, and optionally how they are measured.
type Spec struct {
	Experiment, Title string
	Groups            []Group
	Exclude           []Conditions // a cell that meets all of any one of them is left out
	Baseline          Conditions   // met by exactly one cell; none: the first
	Contrasts         Conditions   // met by the cells with which the others are compared in addition; none: no contrasts
	Columns           []result.FlagColumn
	Common            map[string]string // what all cells have in common in addition to flags
	Layouts           int               // number of orders of the programs' functions: round i uses number i mod Layouts
	One               bool              // one cell is enough: it is shown, and nothing is compared

	// The run's parameters; 0 and nil if the spec does not give them.
	Budget            time.Duration
	Samples, Warmup   *int
	Precision, Margin *float64
	Seed              *uint64
}

// maxSpec limits a spec's text, in bytes: far more than a person writes.
const maxSpec = 64 << 10

// ReadSpec reads a spec in YAML. An error about a line names it. Aliases are not followed.
func ReadSpec(r io.Reader) (Spec, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSpec+1))
	if err != nil {
		return Spec{}, err
	}
	if len(text) > maxSpec {
		return Spec{}, fmt.Errorf("it is longer than %d KiB", maxSpec>>10)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return Spec{}, errors.New("it is empty")
	case err != nil:
		return Spec{}, syntax(err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return Spec{}, at(&second, "a second document begins: a file has one matrix")
	case !errors.Is(err, io.EOF):
		return Spec{}, syntax(err)
	}
	return readSpec(document.Content[0])
}

// syntax returns the parser's error with the word "near" before the line, since for some errors the line is one too
// low.
func syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(text, "line ") {
		text = "near " + text
	}
	return errors.New(text)
}

func readSpec(n *yaml.Node) (Spec, error) {
	var s Spec
	var shared []Axis
	names := map[string]bool{} // of the groups that are given here
	err := mapping("the file", n, []field{
		{"like", func(what string, value *yaml.Node) error {
			if n.Content[1] != value {
				return at(value, "%s: it must come first, since later keys replace what it sets", what)
			}
			return into(&s, Preset)(what, value)
		}},
		{"experiment", into(&s.Experiment, word)},
		{"title", into(&s.Title, word)},
		{"budget", into(&s.Budget, duration)},
		{"samples", optional(&s.Samples, atLeast(1))},
		{"warmup", optional(&s.Warmup, atLeast(0))},
		{"precision", optional(&s.Precision, ParseFraction)},
		{"margin", optional(&s.Margin, ParseFraction)},
		{"seed", optional(&s.Seed, seed)},
		{"flags", axes(&shared)},
		{"groups", list(&s.Groups, func(what string, n *yaml.Node) (Group, error) {
			g, err := readGroup(what, n)
			if err == nil && names[g.Name] {
				err = at(n, "two groups have the name %q", g.Name)
			}
			names[g.Name] = true
			return g, err
		})},
		{"exclude", list(&s.Exclude, readConditions)},
		{"baseline", one(&s.Baseline, readConditions)},
		{"contrasts", one(&s.Contrasts, readConditions)},
		{"columns", list(&s.Columns, readColumn)},
	})
	if err != nil {
		return Spec{}, err
	}
	if s.Experiment == "" {
		return Spec{}, hint.With(at(n, "no experiment is named"), `begin with a line such as "experiment: primes"`)
	}
	if len(s.Groups) == 0 {
		s.Groups = []Group{{}}
	}
	for i, g := range s.Groups {
		if len(names) > 0 {
			s.Groups[i].Axes = overlay(shared, g.Axes)
		} else { // the preset's, or none
			s.Groups[i].Axes = overlay(g.Axes, shared)
		}
	}
	return s, nil
}

func readGroup(what string, n *yaml.Node) (Group, error) {
	var g Group
	err := mapping(what, n, []field{
		{"name", into(&g.Name, word)},
		{"comment", into(&g.Comment, word)},
		{"flags", axes(&g.Axes)},
	})
	if err == nil && g.Name == "" {
		err = at(n, "a group has no name")
	}
	return g, err
}

func readColumn(what string, n *yaml.Node) (result.FlagColumn, error) {
	c := result.FlagColumn{Style: result.FlagStyles[0]}
	err := mapping(what, n, []field{
		{"title", into(&c.Title, word)},
		{"flag", into(&c.Flag, word)},
		{"style", into(&c.Style, style)},
		{"unset", into(&c.Unset, word)},
	})
	if err == nil && (c.Title == "" || c.Flag == "") {
		err = at(n, "a column needs a title and a flag")
	}
	return c, err
}

func readConditions(what string, n *yaml.Node) (Conditions, error) {
	conditions := Conditions{}
	err := pairs(what, n, func(key string, n *yaml.Node) error {
		value, err := scalar(key, n)
		conditions[key] = strings.Join(SplitList(value), ",") // as on the command line
		return err
	})
	if err == nil && len(conditions) == 0 {
		err = at(n, "%s: no condition is given", what)
	}
	return conditions, err
}

// reader reads the value of a key; its errors name the key and the line.
type reader func(what string, n *yaml.Node) error

// field is a key that a mapping may have.
type field struct {
	key  string
	read reader
}

// mapping reads a mapping that has some of the fields, and nothing else.
func mapping(what string, n *yaml.Node, fields []field) error {
	return pairs(what, n, func(key string, value *yaml.Node) error {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if i < 0 {
			keys := make([]string, len(fields))
			for i, f := range fields {
				keys[i] = f.key
			}
			return hint.With(at(value, "%s: unknown key %q", what, key), "there are "+strings.Join(keys, ", "))
		}
		return fields[i].read(key, value)
	})
}

// pairs reads a mapping in order, which a Go map does not keep.
func pairs(what string, n *yaml.Node, read func(key string, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "%s: expected keys with values, got %s", what, kind(n))
	}
	lines := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key, err := scalar(what, n.Content[i])
		if err != nil {
			return err
		}
		if first, twice := lines[key]; twice {
			return at(n.Content[i], "%s: %q is already given on line %d", what, key, first)
		}
		lines[key] = n.Content[i].Line
		if err := read(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// sequence reads a list that is not empty.
func sequence[T any](what string, n *yaml.Node, read func(what string, n *yaml.Node) (T, error)) ([]T, error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, at(n, "%s: expected a list, got %s", what, kind(n))
	}
	values := make([]T, len(n.Content))
	for i, element := range n.Content {
		var err error
		if values[i], err = read(what, element); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func one[T any](to *T, read func(what string, n *yaml.Node) (T, error)) reader {
	return func(what string, n *yaml.Node) (err error) {
		*to, err = read(what, n)
		return err
	}
}

func list[T any](to *[]T, read func(what string, n *yaml.Node) (T, error)) reader {
	return func(what string, n *yaml.Node) (err error) {
		*to, err = sequence(what, n, read)
		return err
	}
}

// axes reads flags with their values: a list of them, or a text as it is typed on the command line.
func axes(to *[]Axis) reader {
	return func(what string, n *yaml.Node) error {
		return pairs(what, n, func(flag string, n *yaml.Node) (err error) {
			axis := Axis{Flag: flag, Values: make([]string, 1)}
			if n.Kind == yaml.ScalarNode {
				axis.Values[0], err = scalar(flag, n)
				axis.Typed = strings.Contains(axis.Values[0], ",")
			} else {
				axis.Values, err = sequence(flag, n, scalar)
			}
			*to = append(*to, axis)
			return err
		})
	}
}

// into reads an optional value.
func into[T any](to *T, parse func(string) (T, error)) reader {
	return func(what string, n *yaml.Node) error {
		text, err := scalar(what, n)
		if err != nil {
			return err
		}
		value, err := parse(text)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", n.Line, what, err)
		}
		*to = value
		return nil
	}
}

// optional reads a value for which absence has a meaning.
func optional[T any](to **T, parse func(string) (T, error)) reader {
	return func(what string, n *yaml.Node) error {
		*to = new(T)
		return into(*to, parse)(what, n)
	}
}

// scalar returns a value as it was written, such as 0x10 or 1e3. It refuses control characters, since values are shown
// on a terminal.
func scalar(what string, n *yaml.Node) (string, error) {
	tags := []string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp"}
	if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.ShortTag()) {
		return "", at(n, "%s: expected a value, got %s", what, kind(n))
	}
	text := strings.TrimSpace(n.Value)
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		return "", at(n, "%s: %q cannot be printed on one line", what, text)
	}
	return text, nil
}

// kind describes a node.
func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.Kind == yaml.MappingNode:
		return "keys with values"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		return "an empty list"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%q", n.Value)
}

func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

func word(text string) (string, error) {
	if text == "" {
		return "", errors.New("it is empty")
	}
	return text, nil
}

func style(text string) (string, error) {
	if !slices.Contains(result.FlagStyles, text) {
		return "", fmt.Errorf("unknown style %q; there are %s", text, strings.Join(result.FlagStyles, ", "))
	}
	return text, nil
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time above 0, such as 45s or 30m", text)
	}
	return d, nil
}

func atLeast(least int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least {
			return 0, fmt.Errorf("%q is not a whole number of at least %d", text, least)
		}
		return n, nil
	}
}

func seed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number below 2^64", text)
	}
	return n, nil
}
