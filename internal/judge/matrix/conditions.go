package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/record/result"
)

// groupName stands for a cell's group among the flags of conditions and columns.
const groupName = "group"

// Conditions select cells: values by flag, by parameter, or by "group". ReadSpec and ParseConditions return no empty ones.
type Conditions map[string]string

// escaped returns a condition's value as ParseConditions reads it: commas need a backslash only before a "=" or after a
// backslash.
func escaped(value string) string {
	if strings.ContainsAny(value, `=\`) {
		return listed(value)
	}
	return value
}

// String formats the conditions as ParseConditions reads them.
func (c Conditions) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		words = append(words, name+"="+escaped(c[name]))
	}
	return strings.Join(words, ",")
}

// ParseConditions reads conditions as they are typed, a list of SplitList: "workers=50,lock-thread=true". A part without
// "=" belongs to the value before it, since CPU lists and names have commas too: "pin-cpus=0,2,workers=50".
func ParseConditions(text string) (Conditions, error) {
	conditions := Conditions{}
	var last string
	for _, part := range SplitList(text) {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			conditions[last] += "," + part
			continue
		}
		last = strings.TrimSpace(name)
		if _, twice := conditions[last]; twice && last != "" {
			return nil, notConditions(fmt.Errorf("%q gives %s twice", text, last))
		}
		conditions[last] = value
	}
	if _, unnamed := conditions[""]; unnamed {
		return nil, notConditions(fmt.Errorf("%q names no flag", text))
	}
	for name, value := range conditions {
		conditions[name] = strings.TrimSpace(value)
	}
	return conditions, nil
}

func notConditions(err error) error {
	return hint.With(err, `conditions are written FLAG=VALUE or group=NAME, joined by commas: "workers=50,serial=true"`)
}

// conditions returns the conditions with canonical values.
func (e experiment) conditions(conditions Conditions) (Conditions, error) {
	canonical := maps.Clone(conditions)
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		if name == groupName || e.parameters[name] {
			continue
		}
		flag, err := e.flag(name)
		if err != nil {
			return nil, err
		}
		if canonical[name], err = flag.canonical(conditions[name]); err != nil {
			return nil, err
		}
	}
	return canonical, nil
}

// value returns a cell's value of a flag, or of "group".
func (e experiment) value(cell result.Cell, name string) string {
	if name == groupName {
		return cell.Group
	}
	if value, given := cell.Flags[name]; given {
		return value
	}
	if value, given := cell.Parameters[name]; given || e.parameters[name] {
		return value
	}
	flag, _ := e.flag(name) // known: conditions has checked it
	return flag.Default
}

// find returns the cells that meet the conditions of a key of the spec; none is an error, unless there may be none.
func (e experiment) find(what string, cells []result.Cell, conditions Conditions, mayLack bool) (found []int, err error) {
	if conditions, err = e.conditions(conditions); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	for i := range cells {
		found = append(found, i)
	}
	for name, value := range conditions {
		found = slices.DeleteFunc(found, func(i int) bool { return e.value(cells[i], name) != value })
	}
	if len(found) == 0 && !mayLack {
		err = hint.With(fmt.Errorf("%s: no cell has %v", what, conditions), e.values(cells, conditions))
	}
	return found, err
}

// exclude returns the cells that meet none of the lists of conditions.
func (e experiment) exclude(cells []result.Cell, lists []Conditions) (kept []result.Cell, err error) {
	excluded := map[int]bool{}
	for _, conditions := range lists {
		found, err := e.find("--exclude", cells, conditions, false)
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			excluded[i] = true
		}
	}
	for i, cell := range cells {
		if !excluded[i] {
			kept = append(kept, cell)
		}
	}
	return kept, nil
}

// baseline returns the only cell that meets the conditions, or the first cell if there are none.
func (e experiment) baseline(cells []result.Cell, conditions Conditions) (int, error) {
	if len(conditions) == 0 {
		return 0, nil
	}
	found, err := e.find("--baseline", cells, conditions, false)
	if err != nil {
		return 0, err
	}
	if len(found) > 1 {
		conditions, _ = e.conditions(conditions) // find has checked them
		return 0, hint.With(fmt.Errorf("--baseline: %d cells have %v, the first of them %q and %q",
			len(found), conditions, cells[found[0]].Name, cells[found[1]].Name), "add conditions until one cell is left")
	}
	return found[0], nil
}

// Contrasted returns the comparisons with the cells that meet the spec's Contrasts. Each other cell is compared with
// the one of these that has the same values of all flags in which these differ, for example the same number of workers.
// The baseline is in none, since all cells are compared with it anyway. The cells and the baseline are those that Cells
// returns.
func (s Spec) Contrasted(flags []Flag, cells []result.Cell, baseline int) ([]result.Contrast, error) {
	if len(s.Contrasts) == 0 {
		return nil, nil
	}
	e := experiment{name: s.Experiment, flags: flags}
	references, err := e.find("contrasts", cells, s.Contrasts, len(s.Exclude) > 0)
	if err != nil {
		return nil, err
	}
	var varying []string
	for _, name := range append([]string{groupName}, e.names()...) {
		if slices.ContainsFunc(references, func(i int) bool {
			return e.value(cells[i], name) != e.value(cells[references[0]], name)
		}) {
			varying = append(varying, name)
		}
	}
	key := func(i int) string {
		var values []string
		for _, name := range varying {
			values = append(values, e.value(cells[i], name))
		}
		return strings.Join(values, "\x00")
	}
	with := map[string]int{} // no two have the same key: the cells of a group differ in flags
	for _, i := range references {
		with[key(i)] = i
	}
	var contrasts []result.Contrast
	for i := range cells {
		if a, found := with[key(i)]; found && a != i && a != baseline && i != baseline {
			contrasts = append(contrasts, result.Contrast{A: a, B: i})
		}
	}
	return contrasts, nil
}

// mostShown is the maximum number of values of a flag in a hint.
const mostShown = 8

// values lists the values that cells have for the names of conditions.
func (e experiment) values(cells []result.Cell, conditions Conditions) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		var values []string
		for _, cell := range cells {
			value := shell.Quote(escaped(e.value(cell, name)))
			if slices.Contains(values, value) {
				continue
			}
			if len(values) == mostShown {
				values = append(values, "…")
				break
			}
			values = append(values, value)
		}
		words = append(words, name+" is "+strings.Join(values, ", "))
	}
	return "in the cells, " + strings.Join(words, "; ")
}
