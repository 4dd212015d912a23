package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/place/named"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/show/apply"
	"gorun/internal/start/launch"
)

const (
	autoCopies = "auto"
	mostCopies = 1024
)

// counts returns the numbers of processes that --copies asks for; without it, there is one.
func (f *flags) counts(m experiment.Machine) (counts []int, err error) {
	refuse := func(err error) ([]int, error) { return nil, hint.Flag("copies", f.copies, err) }
	switch f.copies {
	case "":
		return []int{1}, nil
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
	case f.bind != "" && f.Placement != "", f.bind != "" && f.placements != "":
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

// placedFor returns what the flags request for n processes.
func (f *flags) placedFor(m experiment.Machine, n int) (p named.Placement, err error) {
	if f.bind == "" {
		return f.PlacedBy(m, func(name string) (named.Placement, error) { return f.lookup(m.Placements(), name, n) })
	}
	masks, err := m.Masks(f.bind)
	if err != nil {
		return p, hint.Flag("bind", f.bind, err)
	}
	return f.PlacedIn(m, named.Bound(masks, n))
}

// lookup finds a placement of n processes by its name.
func (f *flags) lookup(of named.Scope, name string, n int) (named.Placement, error) {
	if f.copies == "" {
		return of.Lookup(name)
	}
	return of.LookupFor(name, n)
}

// requested describes the setting of a cell.
func (c Cell) requested() string {
	rest := c.Settings[0]
	if !c.Copies || rest.CPUs.Empty() {
		return rest.String()
	}
	var masks []cpuset.Set
	for _, s := range c.Settings {
		masks = append(masks, s.CPUs)
	}
	rest.CPUs = cpuset.Set{}
	text := named.CopiesOn(masks)
	if others := rest.String(); others != "none" {
		text += ", " + others
	}
	return text
}

// scale resolves several numbers of copies: a cell for each.
func (f *flags) scale(m experiment.Machine, counts []int) (r experiment.Resolution[Cell], err error) {
	used, err := f.serving.Find(m)
	if err != nil {
		return r, err
	}
	for _, n := range counts {
		p, err := f.placedFor(m, n)
		if err != nil {
			return r, err
		}
		cell := f.cell(m, p, n, nil, used)
		cell.Name, cell.Flags = fmt.Sprintf("--copies %d", n), map[string]string{"copies": strconv.Itoa(n)}
		r.Cells = append(r.Cells, cell)
	}
	r.Compared, r.Warnings = f.compared(), f.withoutEffect(m)
	return r, nil
}

// compared returns the figures that are judged: of copies, the CPU time of each in place of that of all.
func (f *flags) compared() experiment.ComparedBy {
	if f.copies == "" || f.Metric != "" {
		return f.judged
	}
	return experiment.ComparedBy{
		Column: column.Wall.Name, Better: result.Lower,
		Figures: []result.JudgedFigure{{Column: cpuPerCopy.Name, Label: cpuPerCopy.Label, Better: result.Lower}},
	}
}

// numbered returns a text for a copy.
func numbered(text string, copy int) string {
	return strings.ReplaceAll(text, apply.CopyMark, strconv.Itoa(copy))
}

// member returns a process of a cell, with the files that it reads and writes. Each copy has its number in place of apply.CopyMark.
func (o *opened) member(ctx context.Context, s *sampler, c Cell, number int, compare bool) (m launch.Member, err error) {
	m.Setting, m.Argv = c.Settings[number], c.Argv
	if s.PassThrough {
		m.Stdin, m.Stdout, m.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	if c.Copies {
		m.Argv = nil
		for _, word := range c.Argv {
			m.Argv = append(m.Argv, numbered(word, number))
		}
		for _, variable := range s.Environ {
			if own := numbered(variable, number); own != variable {
				m.Environ = append(m.Environ, own)
			}
		}
		c.Input, c.Output = numbered(c.Input, number), numbered(c.Output, number)
	}
	return m, o.open(ctx, s, c, compare, &m.Stdin, &m.Stdout)
}

// several returns the figures of copies; nil: the command is no copy.
func (c Cell) several(o launch.Outcome) *Several {
	if !c.Copies {
		return nil
	}
	n := float64(len(o.Members))
	v := &Several{Copies: len(o.Members), CPUPerCopy: (o.UserSeconds + o.SystemSeconds) / n}
	if o.WallSeconds > 0 {
		v.Throughput = n / o.WallSeconds
	}
	if o.Turns.Count > 0 {
		v.QueuedPerCopy = new(o.Turns.Waited / n)
	}
	for i, e := range o.Members {
		of := CopyFigures{
			Copy: i, PID: e.PID, CPUs: c.Settings[i].CPUs.String(), ExitCode: e.ExitCode, Seconds: e.WallSeconds,
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
