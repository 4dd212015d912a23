package topology

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
)

// Selector is a way to name CPUs other than by number. Help, completion and Select use the table Selectors.
type Selector struct {
	Name  string
	Usage string // what it selects, in a few words

	// One of these, depending on the argument after the name.
	pick  func(*Machine, cpuset.Set) cpuset.Set // no argument: CPUs out of the set
	of    func(CPU) int                         // ":N": the number that must be N
	share bool                                  // ":N/M": N/M of the set

	device func(m *Machine, term string, d Device) (cpuset.Set, error) // ":DEVICE": those of the machine
}

// Argument returns the form of the argument after the selector's colon: "N", "N/M"; "" if there is none.
func (s Selector) Argument() string {
	switch {
	case s.of != nil:
		return "N"
	case s.share:
		return "N/M"
	case s.device != nil:
		return "DEVICE"
	}
	return ""
}

// String returns the form of the selector: "all", "node:N", "share:N/M".
func (s Selector) String() string {
	if s.Argument() == "" {
		return s.Name
	}
	return s.Name + ":" + s.Argument()
}

// Selectors lists what Select accepts in addition to CPU numbers.
var Selectors = []Selector{
	{Name: "all", Usage: "every allowed CPU", pick: func(_ *Machine, s cpuset.Set) cpuset.Set { return s }},
	{Name: "node", Usage: "the CPUs of memory node N", of: func(c CPU) int { return c.Node }},
	{Name: "llc", Usage: "the CPUs that share last-level cache N", of: func(c CPU) int { return c.LLC }},
	{Name: "package", Usage: "the CPUs of package N", of: func(c CPU) int { return c.Package }},
	{Name: "core", Usage: "the threads of core N", of: func(c CPU) int { return c.Core }},
	{Name: "one-per-core", Usage: "the lowest CPU of each core", pick: func(m *Machine, s cpuset.Set) cpuset.Set {
		return cpuset.Of(m.OnePerCore(s)...)
	}},
	{Name: "kind", Usage: "the CPUs of kind N of a hybrid machine: 0 is the fastest", of: func(c CPU) int { return c.Kind }},
	{Name: "pcores", Usage: "performance cores of a hybrid machine", pick: ofClass(Performance)},
	{Name: "ecores", Usage: "efficiency cores of a hybrid machine", pick: ofClass(Efficiency)},
	{Name: "isolated", Usage: "CPUs kept free of other work (isolcpus)", pick: func(m *Machine, s cpuset.Set) cpuset.Set {
		return s.Intersect(m.Isolated)
	}},
	{Name: "share", Usage: "the lowest N/M of the CPUs, at least one", share: true},
	{Name: nearDevice, Usage: "the CPUs local to a network card, drive or other PCI device", device: nearCPUs},
	{Name: farDevice, Usage: "the CPUs of the nodes farthest from it", device: farCPUs},
}

func ofClass(class string) func(*Machine, cpuset.Set) cpuset.Set {
	return func(m *Machine, s cpuset.Set) cpuset.Set {
		return s.Intersect(m.Where(func(c CPU) bool { return c.Class == class }))
	}
}

// Select returns the CPUs of a comma-joined list of kernel ranges ("0-3", "0-31:2/4") and Selectors, in the order of
// its terms, ascending within each, without duplicates. Every CPU of a number or range must be in the set; a selector
// must match at least one CPU of the set. Every error has a hint.
func (m *Machine) Select(list string, within cpuset.Set) ([]int, error) {
	var cpus []int
	seen := map[int]bool{}
	for term := range strings.SplitSeq(list, ",") {
		term = strings.TrimSpace(term)
		set, err := m.selectTerm(term, within.Intersect(m.Online()))
		if err != nil {
			return nil, err
		}
		for cpu := range set.All() {
			if !seen[cpu] {
				seen[cpu] = true
				cpus = append(cpus, cpu)
			}
		}
	}
	return cpus, nil
}

func (m *Machine) selectTerm(term string, within cpuset.Set) (cpuset.Set, error) {
	if term == "" {
		return cpuset.Set{}, hint.With(errors.New("the list of CPUs is empty, or has an empty part"), selectorsHint())
	}
	if term[0] >= '0' && term[0] <= '9' {
		return m.selectNumbers(term, within)
	}
	name, argument, colon := strings.Cut(term, ":")
	i := slices.IndexFunc(Selectors, func(s Selector) bool { return s.Name == name })
	if i < 0 || (Selectors[i].Argument() != "") != colon {
		return cpuset.Set{}, hint.With(fmt.Errorf("%q does not select CPUs", term), selectorsHint())
	}
	switch s := Selectors[i]; {
	case s.of != nil:
		return m.selectNumbered(s, term, argument, within)
	case s.share:
		return selectShare(term, argument, within)
	case s.device != nil:
		return m.selectDevice(s, term, argument, within)
	default:
		cpus := s.pick(m, within)
		if there := s.pick(m, m.Online()); cpus.Empty() && !there.Empty() && !within.Empty() {
			return cpus, m.outside(term+": ", there, within)
		}
		return nonEmpty(term, cpus, within)
	}
}

// nonEmpty returns an error for an empty selection.
func nonEmpty(term string, cpus, within cpuset.Set) (cpuset.Set, error) {
	if cpus.Empty() {
		return cpus, hint.With(fmt.Errorf("%q selects none of the CPUs %s", term, quoted(within)), "gorun topo shows what there is")
	}
	return cpus, nil
}

// selectShare returns the lowest N/M of the CPUs, rounded down, but at least one.
func selectShare(term, argument string, within cpuset.Set) (cpuset.Set, error) {
	n, m, ok := parseFraction(argument)
	if !ok {
		return cpuset.Set{}, hint.With(fmt.Errorf("%q: a share is written N/M, with 1 <= N <= M", term), selectorsHint())
	}
	list := within.List()
	return nonEmpty(term, cpuset.Of(list[:min(len(list), max(1, int(int64(len(list))*n/m)))]...), within)
}

// parseFraction parses "N/M"; ok is false for anything else.
func parseFraction(text string) (n, m int64, ok bool) {
	before, after, _ := strings.Cut(text, "/")
	numerator, err := strconv.ParseUint(before, 10, 31)
	if err != nil {
		return 0, 0, false
	}
	denominator, err := strconv.ParseUint(after, 10, 31)
	return int64(numerator), int64(denominator), err == nil && 1 <= numerator && numerator <= denominator
}

func (m *Machine) selectNumbers(term string, within cpuset.Set) (cpuset.Set, error) {
	cpus, err := cpuset.Parse(term)
	if err != nil {
		return cpus, hint.With(err, selectorsHint())
	}
	if outside := cpus.Minus(within); !outside.Empty() {
		return cpus, m.outside("", outside, within)
	}
	return cpus, nil
}

// outside returns the error for CPUs that cannot be selected. The affinity mask is the cause only where it is that of all.
func (m *Machine) outside(prefix string, cpus, within cpuset.Set) error {
	why, masked := m.whyOutside(cpus)
	choice := "the CPUs that can be chosen are " + quoted(within)
	if masked {
		choice += "; --ignore-affinity allows those outside the mask"
	}
	return hint.With(errors.New(prefix+why), choice)
}

// whyOutside returns a reason why CPUs cannot be selected, with all CPUs that share it, and reports whether it is the affinity
// mask. Other reasons come first, because no flag removes them.
func (m *Machine) whyOutside(outside cpuset.Set) (why string, masked bool) {
	reason := m.WhyNot(outside.First())
	for cpu := range outside.All() {
		if of := m.WhyNot(cpu); reason == outsideMask && of != "" {
			reason = of
		}
	}
	var same []int
	for cpu := range outside.All() {
		if m.WhyNot(cpu) == reason {
			same = append(same, cpu)
		}
	}
	if reason == "" {
		reason = "not in --cpus"
	}
	if len(same) == 1 {
		return fmt.Sprintf("CPU %d is %s", same[0], reason), reason == outsideMask
	}
	return fmt.Sprintf("CPUs %s are %s", cpuset.Of(same...), reason), reason == outsideMask
}

func (m *Machine) selectNumbered(s Selector, term, argument string, within cpuset.Set) (cpuset.Set, error) {
	n, err := strconv.ParseUint(argument, 10, 31)
	if err != nil {
		return cpuset.Set{}, hint.With(fmt.Errorf("%q: %q is not a number", term, argument), selectorsHint())
	}
	there := m.Where(func(c CPU) bool { return c.Online && s.of(c) == int(n) })
	if there.Empty() {
		return there, hint.With(fmt.Errorf("this machine has no %s %d with an online CPU", s.Name, n), "it has "+s.Name+" "+runs(m.numbers(s)))
	}
	return m.inside(term, there, within)
}

// inside returns the CPUs that are within a set, and an error if there are none.
func (m *Machine) inside(term string, there, within cpuset.Set) (cpuset.Set, error) {
	cpus := there.Intersect(within)
	if cpus.Empty() {
		return cpus, m.outside(term+": ", there, within)
	}
	return cpus, nil
}

func (m *Machine) selectDevice(s Selector, term, name string, within cpuset.Set) (cpuset.Set, error) {
	d, err := m.LookupDevice(name)
	if err != nil {
		return cpuset.Set{}, err
	}
	there, err := s.device(m, term, d)
	if err != nil {
		return cpuset.Set{}, err
	}
	return m.inside(term, there, within)
}

// numbers returns every N for which the selector matches online CPUs.
func (m *Machine) numbers(s Selector) []int {
	var numbers []int
	for _, c := range m.CPUs {
		if c.Online && s.of(c) != Unknown {
			numbers = append(numbers, s.of(c))
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// runs formats ascending numbers, which may exceed the limit of a Set: "0-3", "0,36".
func runs(numbers []int) string {
	if n := len(numbers); n > 2 && numbers[n-1]-numbers[0] == n-1 {
		return fmt.Sprintf("%d-%d", numbers[0], numbers[n-1])
	}
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// arguments returns the possible arguments of a selector on this machine; for shares a half, a quarter and so on.
func (m *Machine) arguments(s Selector) []string {
	var words []string
	switch {
	case s.of != nil:
		for _, n := range m.numbers(s) {
			words = append(words, strconv.Itoa(n))
		}
	case s.share:
		for parts := 2; parts == 2 || parts <= m.Online().Len(); parts *= 2 {
			words = append(words, "1/"+strconv.Itoa(parts))
		}
	case s.device != nil:
		for _, name := range m.deviceNames() {
			if _, err := m.selectTerm(s.Name+":"+name, m.Online()); err == nil {
				words = append(words, name)
			}
		}
	}
	return words
}

// Complete returns the completions of the last part of a list, with the parts before it: selectors that match CPUs of
// this machine, and after a colon the selector's arguments.
func (m *Machine) Complete(list string) []string {
	before, last := splitLast(list)
	var words []string
	add := func(word string) {
		if strings.HasPrefix(word, last) {
			words = append(words, before+word)
		}
	}
	for _, s := range Selectors {
		switch {
		case s.Argument() == "":
			if !s.pick(m, m.Online()).Empty() {
				add(s.Name)
			}
		case s.device != nil && !strings.HasPrefix(s.Name+":", last) && !strings.HasPrefix(last, s.Name+":"):
		case s.device != nil && len(m.arguments(s)) == 0:
		case strings.HasPrefix(last, s.Name+":"):
			for _, argument := range m.arguments(s) {
				add(s.Name + ":" + argument)
			}
		default:
			add(s.Name + ":")
		}
	}
	return words
}

// splitLast splits a list before its last part.
func splitLast(list string) (before, last string) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i+1], list[i+1:]
	}
	return "", list
}

// selectorsHint lists the possible terms.
func selectorsHint() string {
	names := make([]string, len(Selectors))
	for i, s := range Selectors {
		names[i] = s.String()
	}
	return "write CPU numbers and ranges (0-3,8) or " + strings.Join(names, ", ") + ", joined by commas"
}

// quoted formats a set for a sentence.
func quoted(cpus cpuset.Set) string {
	if cpus.Empty() {
		return "(none)"
	}
	return cpus.String()
}
