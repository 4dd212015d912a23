package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/place/named"
)

// varied are the settings of --vary.
var varied = []string{"placement", "cpus", "nice", "sched", "mems"}

const compareAuto = "--vary placement=auto compares what the program has with all that can matter here"

// settings gives the flags of a cell the values of --vary. few is the error if there is nothing to compare.
func (s *Source) settings(o experiment.Opening) (few, err error) {
	m := experiment.Machine{Machine: o.Machine, CPUs: s.allowed(o.Machine), Seed: o.Seed, Live: !o.Captured}
	if o.Recorded != nil {
		m.Recorded = o.Recorded.Cells
	}
	if cpus := o.Values("cpus"); len(cpus) == 1 {
		ids, err := m.Select(cpus[0], m.Allowed())
		if err != nil {
			return nil, hint.Flag("cpus", cpus[0], err)
		}
		if of := cpuset.Of(ids...); !of.Equal(m.Allowed()) {
			m.CPUs = of
		}
	}
	for _, text := range s.vary {
		if err := s.set(o, m, text); err != nil {
			return nil, hint.Flag("vary", text, err)
		}
	}
	several := func(flag string) bool { return len(o.Values(flag)) > 1 }
	if o.One || slices.ContainsFunc(varied, several) || several("ignore-affinity") {
		return nil, nil
	}
	way := "list several, the first is the baseline, as in --vary placement=as-is,one-cpu; " + compareAuto
	if s.auto {
		way = fmt.Sprintf("CPUs %v allow no other placement; --vary nice=0,5 compares nice values", m.CPUs)
	}
	return hint.With(errors.New("there is only one setting to compare"), way), nil
}

// set gives a flag the values of one --vary.
func (s *Source) set(o experiment.Opening, m experiment.Machine, text string) error {
	name, values, _ := strings.Cut(text, "=")
	if name == "cpus" { // each is a placement; lists of several CPUs are separated by spaces, as those of --cpus
		if fields := strings.Fields(values); len(fields) > 1 {
			values = strings.ReplaceAll(strings.Join(fields, " "), ",", `\,`)
			values = strings.ReplaceAll(values, " ", ",")
		}
		name = "placement"
	}
	if name != "placement" {
		return o.Vary(text)
	}
	var names []string
	for value := range strings.SplitSeq(values, ",") {
		if strings.TrimSpace(value) == named.Auto {
			s.auto = true
			names = append(names, s.automatic(m, append(o.Values(name), strings.Split(values, ",")...))...)
		} else {
			names = append(names, value)
		}
	}
	if err := o.Vary(name + "=" + strings.Join(names, ",")); err != nil {
		return err
	}
	for _, value := range o.Values(name) {
		if value == named.AsIs {
			continue
		}
		if _, err := running(m).Lookup(value); err != nil {
			return err
		}
	}
	return nil
}

// running returns the placements of a program that runs on these CPUs.
func running(m experiment.Machine) named.Scope {
	g := m.Placements()
	g.Running = true
	return g
}

// automatic returns the placements of auto, first what the program has, without those that are listed, and without those that all of
// its threads have already.
func (s *Source) automatic(m experiment.Machine, listed []string) (names []string) {
	if !slices.Contains(listed, named.AsIs) {
		names = append(names, named.AsIs)
	}
	var known []cpuset.Set
	for _, name := range listed {
		if p, err := running(m).Lookup(name); err == nil {
			known = append(known, p.CPUs)
		}
	}
	all, _ := running(m).All("") // only a device can give an error
	for _, p := range all {
		if !slices.ContainsFunc(known, p.CPUs.Equal) && !s.has(p.CPUs) {
			names = append(names, p.Name)
		}
	}
	return names
}

// has reports whether all threads of the program have these CPUs.
func (s *Source) has(cpus cpuset.Set) bool {
	if s.found == nil {
		return false
	}
	for _, t := range s.found.Threads {
		if !t.CPUs.Equal(cpus) {
			return false
		}
	}
	return true
}
