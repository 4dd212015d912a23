package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/show/apply"
	"gorun/internal/start/launch"
)

const (
	autoCopies = "auto"
	mostCopies = 1024
)

// copyKind is a placement of several copies, without a machine.
type copyKind struct {
	name, words string
	ofTwo       bool // it is a relation of two copies
	// masks returns the CPUs of each of n copies; nil if the placement does not exist on the machine.
	masks      func(g scope, n int) []cpuset.Set
	kubernetes string // what a pod of each copy needs in addition to exclusive CPUs; "-": a pod cannot have it
}

// Entry implements catalog.Entry.
func (k copyKind) Entry() (name, usage string) { return k.name, k.words }

// copyKinds is the table of placements of copies; a placement that is not here holds for all copies alike. Of those that are the same
// on a machine, the first is kept.
var copyKinds = [...]copyKind{
	{"same-cpu", "two copies on one CPU", true, related(topology.SameCPU), "-"},
	{"same-core", "two copies on the threads of a core", true, related(topology.SameCore), "-"},
	{"same-llc", "two copies on cores with a common last-level cache", true, related(topology.SameLLC), "-"},
	{"same-node", "two copies on caches of a node", true, related(topology.SameNode), "-"},
	{"cross-node", "two copies on two nodes", true, related(topology.CrossNode), "-"},
	{"packed", "each copy on a CPU, all CPUs of a core and all cores of a cache before the next", false, packed, ""},
	{"one-per-core", "each copy on a core", false, perCore, "the option full-pcpus-only"},
	{"spread-caches", "each copy on a last-level cache, in turn", false, perLLC, "-"},
	{"spread-nodes", "each copy on a node, in turn", false, perNode, "-"},
}

// related returns the masks of two copies whose CPUs have a relation.
func related(r topology.Relation) func(g scope, n int) []cpuset.Set {
	return func(g scope, n int) []cpuset.Set {
		if n != 2 {
			return nil
		}
		for _, p := range g.m.PerRelation(g.cpus) {
			if p.Relation == r && p.Unavailable() == "" {
				return []cpuset.Set{cpuset.Of(p.A), cpuset.Of(p.B)}
			}
		}
		return nil
	}
}

// inTurn gives copy i mask i mod n of the masks.
func inTurn(masks []cpuset.Set, n int) []cpuset.Set {
	if len(masks) == 0 {
		return nil
	}
	each := make([]cpuset.Set, n)
	for i := range each {
		each[i] = masks[i%len(masks)]
	}
	return each
}

// parts divides the CPUs of the run by what they share, in the order of nodes, caches and cores, those of the fastest kind first.
func (g scope) parts(of func(c topology.CPU) int) (parts []cpuset.Set) {
	var cpus []topology.CPU
	for id := range g.cpus.All() {
		c, _ := g.m.CPU(id)
		cpus = append(cpus, c)
	}
	slices.SortStableFunc(cpus, func(a, b topology.CPU) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Node, b.Node), cmp.Compare(a.LLC, b.LLC), cmp.Compare(a.Core, b.Core))
	})
	at := map[int]int{}
	for _, c := range cpus {
		i, found := at[of(c)]
		if !found {
			i = len(parts)
			at[of(c)], parts = i, append(parts, cpuset.Set{})
		}
		parts[i] = parts[i].With(c.CPU)
	}
	return parts
}

func packed(g scope, n int) []cpuset.Set {
	return inTurn(g.parts(func(c topology.CPU) int { return c.CPU }), n)
}

func perCore(g scope, n int) []cpuset.Set {
	cores := g.parts(func(c topology.CPU) int { return c.Core })
	if len(cores) < n || len(cores) == g.cpus.Len() {
		return nil // two copies would share a core, or this is packed
	}
	return inTurn(cores, n)
}

func perLLC(g scope, n int) []cpuset.Set {
	return severalInTurn(g.parts(func(c topology.CPU) int { return c.LLC }), n)
}

func perNode(g scope, n int) []cpuset.Set {
	return severalInTurn(g.parts(func(c topology.CPU) int { return c.Node }), n)
}

func severalInTurn(masks []cpuset.Set, n int) []cpuset.Set {
	if len(masks) < 2 {
		return nil
	}
	return inTurn(masks, n)
}

// counts returns the numbers of copies that --copies asks for; none: the command runs alone.
func (f *flags) counts(m experiment.Machine) (counts []int, err error) {
	refuse := func(err error) ([]int, error) { return nil, hint.Flag("copies", f.copies, err) }
	switch f.copies {
	case "":
		return nil, nil
	case autoCopies:
		if m.CPUs.Len() < 2 {
			return refuse(hint.With(errors.New("the run has one CPU"), "give the numbers, such as 1,2"))
		}
		for n := 1; n < m.CPUs.Len(); n *= 2 {
			counts = append(counts, n)
		}
		return append(counts, m.CPUs.Len()), nil
	}
	for field := range strings.SplitSeq(f.copies, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		switch {
		case err != nil || n < 1 || n > mostCopies:
			return refuse(hint.With(fmt.Errorf("%q is not a number from 1 to %d", field, mostCopies), "give one, several by commas, or "+autoCopies))
		case slices.Contains(counts, n):
			return refuse(fmt.Errorf("%d is there twice", n))
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// severalCounts reports whether --copies has several numbers.
func severalCounts(text string) bool { return text == autoCopies || strings.Contains(text, ",") }

// validateCopies returns an error for flags that do not go with --copies.
func (f *flags) validateCopies() error {
	switch {
	case f.copies == "" && f.bind != "":
		return hint.Usage(hint.With(errors.New("--bind is for copies"), "add --copies 2, or give --cpus for one command"))
	case f.copies == "":
		return nil
	case f.bind != "" && f.placement != "", f.bind != "" && f.placements != "":
		return hint.Usagef("--bind and placements exclude each other: each says where the copies run")
	case severalCounts(f.copies) && f.placements != "":
		return hint.Usage(hint.With(errors.New("either the numbers of copies are compared, or their placements"),
			"gorun matrix exec --copies 2,4 --placement packed,unbound compares both"))
	case f.dedicates():
		return hint.Usagef("--copies and --dedicate exclude each other: one command runs on the CPU that is dedicated to it")
	case f.output != "" && !slices.Contains([]string{outputNull, outputPipe, outputInherit}, f.output) && !strings.Contains(f.output, apply.CopyMark):
		return hint.Usage(hint.With(errors.New("all copies would write the file of --output"), "write "+apply.CopyMark+" where the number of the copy belongs"))
	}
	return nil
}

// copyKindOf returns the kind with this name, or nil.
func copyKindOf(name string) *copyKind {
	if i := slices.IndexFunc(copyKinds[:], func(k copyKind) bool { return k.name == name }); i >= 0 {
		return &copyKinds[i]
	}
	return nil
}

// lookupFor finds a placement of n copies by its name. With n = 0 it is for a command that runs alone.
func (g scope) lookupFor(name string, n int) (Placement, error) {
	k := copyKindOf(name)
	if n == 0 || k == nil {
		return g.lookup(name)
	}
	masks := k.masks(g, n)
	if masks == nil {
		return Placement{}, hint.With(fmt.Errorf("%d copies cannot be placed %s here (%s)", n, name, k.words), "gorun topo shows what the CPUs share")
	}
	return k.placement(masks), nil
}

// placement returns the placement of copies with these masks.
func (k copyKind) placement(masks []cpuset.Set) Placement {
	p := Placement{Name: k.name, Words: k.words, Masks: masks, Chosen: k.name + ": " + copiesOn(masks), place: fmt.Sprint(masks)}
	if k.kubernetes != "-" {
		p.Pod = &apply.Pod{CPUs: masks[0].Len(), Needs: k.kubernetes}
	}
	return p
}

// placementsOf returns the placements that can matter to n copies, the first one unbound.
func (g scope) placementsOf(n int) []Placement {
	unbound, _ := g.place(kinds[0])
	placements := []Placement{unbound}
	for _, k := range copyKinds {
		if k.ofTwo != (n == 2) {
			continue
		}
		masks := k.masks(g, n)
		if masks == nil {
			continue
		}
		p := k.placement(masks)
		if !slices.ContainsFunc(placements, func(other Placement) bool { return other.place == p.place }) {
			placements = append(placements, p)
		}
	}
	return placements
}

// alike is the copies that have the same CPUs.
type alike struct {
	copies cpuset.Set // their numbers
	cpus   cpuset.Set
}

// groups returns the copies by their masks, in the order of the first of each.
func groups(masks []cpuset.Set) (groups []alike) {
	for i, mask := range masks {
		at := slices.IndexFunc(groups, func(g alike) bool { return g.cpus.Equal(mask) })
		if at < 0 {
			at, groups = len(groups), append(groups, alike{cpus: mask})
		}
		groups[at].copies = groups[at].copies.With(i)
	}
	return groups
}

// copiesOn describes where copies run: "copy 0 on CPU 0, copies 1-2 on CPUs 4-7".
func copiesOn(masks []cpuset.Set) string {
	const most = 8
	var words []string
	left := len(masks)
	for i, g := range groups(masks) {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", left))
			break
		}
		left -= g.copies.Len()
		copies, cpus := "copy", "CPU"
		if g.copies.Len() > 1 {
			copies = "copies"
		}
		if g.cpus.Len() > 1 {
			cpus = "CPUs"
		}
		words = append(words, fmt.Sprintf("%s %v on %s %v", copies, g.copies, cpus, g.cpus))
	}
	return strings.Join(words, ", ")
}

// placedFor returns the setting that the flags request for n copies. With n = 0 it is for a command that runs alone.
func (f *flags) placedFor(m experiment.Machine, n int) (s Placed, err error) {
	if n == 0 || f.bind == "" && copyKindOf(f.placement) == nil {
		s, err = f.Placed(m)
		return s.copied(n), err
	}
	var of Placement
	if f.bind != "" {
		masks, err := m.Masks(f.bind)
		if err != nil {
			return s, hint.Flag("bind", f.bind, err)
		}
		of = copyKind{name: "bind", kubernetes: "-"}.placement(inTurn(masks, n))
	} else if of, err = newScope(m, memoryNodes(m)).lookupFor(f.placement, n); err != nil {
		return s, hint.Flag("placement", f.placement, err)
	}
	s, err = f.placedIn(m, of)
	return s.copied(n), err
}

// copied returns the setting for n copies. With n = 0 it is unchanged.
func (p Placed) copied(n int) Placed {
	if n == 0 {
		return p
	}
	p.Copies = make([]placement.Setting, n)
	for i := range p.Copies {
		p.Copies[i] = p.Setting
		if p.masks != nil {
			p.Copies[i].CPUs = p.masks[i]
		}
	}
	if p.masks == nil {
		return p
	}
	p.CPUs = cpuset.Set{}
	p.Lines = result.Lines{}
	for _, g := range groups(p.masks) {
		p.CPUs = p.CPUs.Union(g.cpus)
		one := apply.Setting{Setting: p.Setting, Pod: p.pod}
		one.CPUs = g.cpus
		p.Lines.Copies = append(p.Lines.Copies, result.CopyLines{Copies: g.copies.String(), Lines: apply.Lines(one)})
	}
	return p
}

// requested describes the setting of a cell.
func (c Cell) requested() string {
	if c.Copies == nil {
		return c.Setting.String()
	}
	var masks []cpuset.Set
	for _, s := range c.Copies {
		masks = append(masks, s.CPUs)
	}
	if masks[0].Empty() {
		return c.Copies[0].String()
	}
	rest := c.Copies[0]
	rest.CPUs = cpuset.Set{}
	text := copiesOn(masks)
	if others := rest.String(); others != "none" {
		text += ", " + others
	}
	return text
}

// scale resolves several numbers of copies: a cell for each.
func (f *flags) scale(m experiment.Machine, counts []int) (r experiment.Resolution[Cell], err error) {
	server, err := f.Serving.Find(m)
	if err != nil {
		return r, err
	}
	for _, n := range counts {
		s, err := f.placedFor(m, n)
		if err != nil {
			return r, err
		}
		cell := f.cell(m, s, nil, server)
		cell.Name, cell.Flags = fmt.Sprintf("--copies %d", n), map[string]string{"copies": strconv.Itoa(n)}
		r.Cells = append(r.Cells, cell)
	}
	r.Compared, r.Warnings = f.compared(), f.withoutEffect(m)
	return r, nil
}

// compared returns the figures that are judged: of copies, the CPU time of each in place of that of all.
func (f *flags) compared() experiment.ComparedBy {
	if f.copies == "" || f.metric != "" {
		return f.judged
	}
	return experiment.ComparedBy{
		Column: column.Wall.Name, Better: result.Lower,
		Figures: []result.JudgedColumn{{Column: cpuPerCopy.Name, Label: cpuPerCopy.Label, Better: result.Lower}},
	}
}

// numbered returns a text for a copy.
func numbered(text string, copy int) string {
	return strings.ReplaceAll(text, apply.CopyMark, strconv.Itoa(copy))
}

// copies returns the commands of a cell with copies; what else they have is that of the execution.
func (o *opened) copies(ctx context.Context, s *sampler, c Cell, compare bool, of launch.Command) (copies []launch.Copy, err error) {
	for i, setting := range c.Copies {
		copy := launch.Copy{Setting: setting, Stdin: of.Stdin, Stdout: of.Stdout, Stderr: of.Stderr}
		for _, word := range c.Argv {
			copy.Argv = append(copy.Argv, numbered(word, i))
		}
		for _, variable := range s.Environ {
			if own := numbered(variable, i); own != variable {
				copy.Environ = append(copy.Environ, own)
			}
		}
		own := c
		own.Input, own.Output = numbered(c.Input, i), numbered(c.Output, i)
		if err := o.open(ctx, s, own, compare, &copy.Stdin, &copy.Stdout); err != nil {
			return nil, err
		}
		copies = append(copies, copy)
	}
	return copies, nil
}

// several returns the figures of copies; nil: the command is no copy.
func (c Cell) several(o launch.Outcome) *Several {
	if o.Copies == nil {
		return nil
	}
	n := float64(len(o.Copies))
	v := &Several{Copies: len(o.Copies), CPUPerCopy: (o.UserSeconds + o.SystemSeconds) / n}
	if o.WallSeconds > 0 {
		v.Throughput = n / o.WallSeconds
	}
	if o.Turns.Count > 0 {
		v.QueuedPerCopy = new(o.Turns.Waited / n)
	}
	for i, e := range o.Copies {
		of := CopyFigures{
			Copy: i, PID: e.PID, CPUs: c.Copies[i].CPUs.String(), ExitCode: e.ExitCode, Seconds: e.WallSeconds,
			UserSeconds: e.UserSeconds, SystemSeconds: e.SystemSeconds, MaxRSSBytes: e.MaxRSSBytes,
		}
		if e.Turns.Count > 0 {
			of.QueuedSeconds = new(e.Turns.Waited)
		}
		v.MeanSeconds += e.WallSeconds / n
		v.Processes = append(v.Processes, of)
	}
	return v
}
