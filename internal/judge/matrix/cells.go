package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/record/result"
)

// MaxCells limits the number of cells of a matrix before exclusions: a few long axes multiply to more cells than can be
// measured or held in memory.
const MaxCells = 10_000

// maxText limits the bytes of the values of all cells: far more than the cells of any matrix have.
const maxText = 64 << 20

// Size is how large the cells of a matrix will be. It is counted before they are made, in numbers that cannot overflow.
type Size struct{ Cells, Bytes float64 }

// Add counts the cells of a group, all combinations of its axes. Each has its values, and more bytes.
func (s *Size) Add(g Group, bytes float64) {
	cells := 1.0
	for _, axis := range g.Axes {
		cells *= float64(len(axis.Values))
		bytes += axis.Mean()
	}
	s.Cells += cells
	s.Bytes += cells * bytes
}

// Mean returns the mean length of the axis's values, in bytes.
func (a Axis) Mean() float64 {
	sum := 0
	for _, value := range a.Values {
		sum += len(value)
	}
	return float64(sum) / float64(max(1, len(a.Values)))
}

// weight is what an axis contributes to the size of a matrix: the bytes of its values.
func (a Axis) weight() float64 { return a.Mean() * float64(len(a.Values)) }

// Check returns an error for more than a matrix can have.
func (s Size) Check() error {
	switch {
	case s.Cells > MaxCells:
		return hint.With(fmt.Errorf("the matrix would have more than %d cells", MaxCells),
			"the number of cells of a group is the product of the numbers of values of its flags: give fewer values")
	case s.Bytes > maxText:
		return hint.With(fmt.Errorf("the values of all cells would take more than %d MiB", maxText>>20), "give fewer or shorter values")
	}
	return nil
}

// Cells returns the cells of the spec in order, group by group, with the last axis of a group varying fastest, and the
// index of the baseline. The flags are all flags of the experiment; their order is the order in names and commands.
func (s Spec) Cells(flags []Flag) (cells []result.Cell, baseline int, err error) {
	known := experiment{s.Experiment, flags, s.parameters(flags)}
	groups, err := known.groups(s.Groups)
	if err != nil {
		return nil, 0, err
	}
	if err := known.columns(s.Columns); err != nil {
		return nil, 0, err
	}
	for _, g := range groups {
		cells = append(cells, g.Product()...)
	}
	if cells, err = known.exclude(cells, s.Exclude); err != nil {
		return nil, 0, err
	}
	var few error
	if len(cells) == 0 || len(cells) == 1 && !s.One {
		way := "give a flag several values"
		if len(flags) > 0 {
			way += fmt.Sprintf(", such as --%s A,B", flags[0].Name)
		}
		for _, g := range groups {
			for _, axis := range g.Axes {
				if len(axis.Values) == 1 && strings.Contains(axis.Values[0], ",") { // a list
					way = fmt.Sprintf("--%s '%s' has several values", axis.Flag, strings.ReplaceAll(axis.Values[0], ",", " "))
				}
			}
		}
		few = TooFew{hint.With(fmt.Errorf("a matrix has at least 2 cells, and this one has %d", len(cells)), way)}
	}
	if len(cells) == 0 {
		return nil, 0, few
	}
	known.describe(cells)
	if err := distinct(cells); err != nil {
		return nil, 0, err
	}
	if baseline, err = known.baseline(cells, s.Baseline); err != nil {
		return nil, 0, err
	}
	return cells, baseline, few
}

// TooFew is the error of a matrix with one cell, which is right otherwise: Cells returns it too.
type TooFew struct{ error }

func (e TooFew) Unwrap() error { return e.error }

// experiment is the experiment against which a spec is checked.
type experiment struct {
	name       string
	flags      []Flag
	parameters map[string]bool // which may be conditions too
}

// flag finds a flag by its name.
func (e experiment) flag(name string) (Flag, error) {
	i := slices.IndexFunc(e.flags, func(f Flag) bool { return f.Name == name })
	if i < 0 {
		return Flag{}, hint.With(fmt.Errorf("gorun %s has no flag %q that a matrix can vary", e.name, name),
			"flags that can vary: --"+strings.Join(e.names(), ", --"))
	}
	return e.flags[i], nil
}

// names returns the names of the flags.
func (e experiment) names() []string {
	names := make([]string, len(e.flags))
	for i, f := range e.flags {
		names[i] = f.Name
	}
	return names
}

// groups returns the groups with canonical values, or an error if they have too many cells.
func (e experiment) groups(groups []Group) ([]Group, error) {
	canonical := slices.Clone(groups)
	var size Size
	for i, g := range groups {
		canonical[i].Axes = make([]Axis, len(g.Axes))
		for j, axis := range g.Axes {
			var err error
			if canonical[i].Axes[j], err = e.axis(axis); err != nil {
				return nil, err
			}
		}
		size.Add(canonical[i], 0)
		if err := size.Check(); err != nil {
			longest := slices.MaxFunc(g.Axes, func(a, b Axis) int { return cmp.Compare(a.weight(), b.weight()) })
			return nil, fmt.Errorf("--%s: %w", longest.Flag, err)
		}
	}
	return canonical, nil
}

func (e experiment) axis(axis Axis) (Axis, error) {
	flag, err := e.flag(axis.Flag)
	if err != nil {
		return Axis{}, err
	}
	if len(axis.Values) == 0 {
		return Axis{}, fmt.Errorf("--%s has no value", flag.Name)
	}
	if axis.Typed {
		if axis.Values, err = ParseValues(flag, axis.Values[0]); err != nil {
			return Axis{}, fmt.Errorf("--%s: %w", flag.Name, err)
		}
	}
	canonical := Axis{Flag: flag.Name, Values: make([]string, len(axis.Values))}
	seen := map[string]bool{}
	for i, text := range axis.Values {
		value, err := flag.canonical(text)
		if err == nil && value == "" {
			err = fmt.Errorf("--%s has an empty value", flag.Name)
		}
		if err != nil {
			return Axis{}, err
		}
		if seen[value] {
			return Axis{}, fmt.Errorf("--%s has the value %q twice", flag.Name, value)
		}
		seen[value] = true
		canonical.Values[i] = value
	}
	return canonical, nil
}

// canonical returns the one spelling of a switch's value; other values stay as they were written.
func (f Flag) canonical(text string) (string, error) {
	if !f.Switch {
		return text, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return "", fmt.Errorf("--%s is a switch, true or false, and cannot be %q", f.Name, text)
	}
	return strconv.FormatBool(on), nil
}

// columns returns an error for a column whose flag does not exist, or does not fit its style.
func (e experiment) columns(columns []result.FlagColumn) error {
	for _, c := range columns {
		var flag Flag // stays zero for a group's name and comment, which are neither a switch nor a list
		if c.Flag != groupName && c.Flag != result.CommentColumn {
			var err error
			if flag, err = e.flag(c.Flag); err != nil {
				return fmt.Errorf("column %q: %w", c.Title, err)
			}
		}
		if c.Style == "truth" && !flag.Switch || c.Style == "cpus" && !flag.List {
			return fmt.Errorf("column %q: %s cannot be shown in the style %s", c.Title, c.Flag, c.Style)
		}
	}
	return nil
}

// Product returns all combinations of the group's values.
func (g Group) Product() []result.Cell {
	n := 1
	for _, axis := range g.Axes {
		n *= len(axis.Values)
	}
	cells := make([]result.Cell, n)
	for i := range cells {
		flags, rest := map[string]string{}, i
		for _, axis := range slices.Backward(g.Axes) {
			flags[axis.Flag] = axis.Values[rest%len(axis.Values)]
			rest /= len(axis.Values)
		}
		cells[i] = result.Cell{Group: g.Name, Comment: g.Comment, Flags: flags, Parameters: g.Parameters}
	}
	return cells
}

// describe sets the command of every cell, and its name: its group, and the flags in which the group's cells differ.
func (e experiment) describe(cells []result.Cell) {
	groups, common := map[string][]result.Cell{}, map[string]map[string]string{}
	for _, cell := range cells {
		groups[cell.Group] = append(groups[cell.Group], cell)
	}
	for name, of := range groups {
		common[name] = Common(of)
	}
	for i := range cells {
		cell := &cells[i]
		cell.Command, cell.Name = []string{e.name}, cell.Group
		for _, flag := range e.flags {
			value, given := cell.Flags[flag.Name]
			if !given {
				continue
			}
			cell.Command = append(cell.Command, flag.Argument(value))
			if _, alike := common[cell.Group][flag.Name]; !alike {
				cell.Name = strings.TrimPrefix(cell.Name+" "+flag.typed(value), " ")
			}
		}
	}
}

// Argument returns the flag for a command's list of arguments.
func (f Flag) Argument(value string) string {
	if f.Switch && value == "true" {
		return "--" + f.Name
	}
	return "--" + f.Name + "=" + value
}

// typed returns the flag as it is typed in a shell.
func (f Flag) typed(value string) string {
	if f.Switch {
		return f.Argument(value)
	}
	return "--" + f.Name + " " + shell.Quote(value)
}

// distinct returns an error if two cells have the same flags or the same name.
func distinct(cells []result.Cell) error {
	commands, names := map[string]int{}, map[string]bool{}
	for i, cell := range cells {
		command := strings.Join(cell.Command, "\x00") // no argument can contain a null byte
		if first, seen := commands[command]; seen {
			return hint.With(fmt.Errorf("cells %q and %q have the same flags", cells[first].Name, cell.Name),
				"exclude one of them, or give it another value")
		}
		if names[cell.Name] {
			return hint.With(fmt.Errorf("two cells have the name %q", cell.Name), "rename a group")
		}
		commands[command], names[cell.Name] = i, true
	}
	return nil
}

// ParseParameter reads the values of a parameter, a list of SplitList. No value is empty.
func ParseParameter(text string) ([]string, error) {
	values := SplitList(text)
	if slices.Contains(values, "") {
		return nil, missing("threads=1,2,4")
	}
	return values, nil
}

func missing(example string) error {
	return hint.With(errors.New("a value is missing"), "values are joined by commas: "+example+` (\, is a comma in a value)`)
}

// ParseValues reads the values of an axis as they are typed, a list of SplitList. CPU lists contain commas, so they are
// separated by spaces. No value is empty.
func ParseValues(flag Flag, text string) ([]string, error) {
	switch empty := strings.TrimSpace(text) == ""; {
	case (flag.Whole || flag.Joined) && !empty:
		return []string{text}, nil
	case flag.List && !empty:
		return strings.Fields(text), nil
	}
	values := SplitList(text)
	for i, value := range values {
		value = strings.TrimSpace(value)
		if value == "" {
			return nil, missing("50,500")
		}
		var err error
		if values[i], err = flag.canonical(value); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Override returns the spec with each axis in every group, in place of the axis of the same flag or after the others. A
// spec without groups gets one without a name.
func Override(s Spec, axes []Axis) Spec {
	if len(s.Groups) == 0 {
		s.Groups = []Group{{}}
	}
	s.Groups = slices.Clone(s.Groups)
	for i := range s.Groups {
		s.Groups[i].Axes = overlay(s.Groups[i].Axes, axes)
	}
	return s
}

// overlay returns the axes below, with those above in place of the axes of the same flags or after the others.
func overlay(below, above []Axis) []Axis {
	axes := slices.Clone(below)
	for _, axis := range above {
		if i := slices.IndexFunc(axes, func(a Axis) bool { return a.Flag == axis.Flag }); i >= 0 {
			axes[i] = axis
		} else {
			axes = append(axes, axis)
		}
	}
	return axes
}

// ParseFraction reads a fraction as "2%" or "0.02".
func ParseFraction(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f > 0 && f < 1) { // NaN is neither
		return 0, hint.With(fmt.Errorf("%q is not a fraction between 0 and 1", text), "write 2% or 0.02")
	}
	return f, nil
}
