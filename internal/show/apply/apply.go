// Package apply has the ways to give a program a setting that was found to be better for it: in a shell, in a unit of systemd,
// in a container, in a pod, in the program itself.
package apply

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/place/named"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
)

// Way is a way to give a program a setting. To add one, add its row to Ways.
type Way struct {
	Name  string // as --apply takes it
	Usage string
	// Before: the line comes before the words of the program's command.
	Before bool
	head   string // a line before the others
	of     func(p named.Placement) text
	now    func(s placement.Setting, r *Running) []string // for a program that runs; nil: the way is for one that is started
	// Where a result keeps the only line of the way, or the several that it has.
	single  func(l *result.Lines) *string
	several func(l *result.Lines) *[]string
	brief   func(l *result.Lines) string // what a table has in place of the lines; nil: a table has the lines
}

// Entry implements catalog.Entry.
func (w Way) Entry() (name, usage string) { return w.Name, w.Usage }

// Find returns the way with this name, or an error that lists them.
func Find(name string) (Way, error) { return catalog.Find(Ways[:], "way", name) }

// text is how a way applies a setting: its lines, and what it cannot express. It has no lines if nothing needs to be set, or if it
// cannot give the program its CPUs and its memory.
type text struct {
	lines []string
	lacks string // a clause or several, each after a semicolon; "": nothing
}

// none is the text of a way that cannot apply a setting.
func none(why string) text { return text{lacks: why} }

// kept returns the lines that a result keeps of the way.
func (w Way) kept(l *result.Lines) []string {
	if w.several != nil {
		return *w.several(l)
	}
	if line := *w.single(l); line != "" {
		return []string{line}
	}
	return nil
}

// keep has a result keep the lines of the way.
func (w Way) keep(l *result.Lines, lines []string) {
	if w.several != nil {
		*w.several(l) = lines
	} else {
		*w.single(l) = strings.Join(lines, " ")
	}
}

// Lines returns how each way gives a placement to a program: to one that is started in it, or to one that runs, if r is not nil. Of
// copies with masks of their own, each group of copies has its lines.
func Lines(p named.Placement, r *Running) (l result.Lines) {
	for _, g := range named.Groups(p.Masks) {
		own := p
		own.CPUs, own.Masks = g.CPUs, nil
		l.Copies = append(l.Copies, result.CopyLines{Copies: g.Copies.String(), Lines: Lines(own, r)})
	}
	if l.Copies != nil {
		return l
	}
	for _, w := range Ways {
		t := w.of(p)
		w.keep(&l, t.lines)
		if t.lacks != "" {
			if l.Lacks == nil {
				l.Lacks = map[string]string{}
			}
			l.Lacks[w.Name] = t.lacks
		}
		if r == nil || w.now == nil {
			continue
		}
		if now := w.now(p.Setting, r); now != nil {
			if l.Now == nil {
				l.Now = map[string][]string{}
			}
			l.Now[w.Name] = now
		}
	}
	l.Kubernetes = p.Pod.String()
	return l
}

// Lines returns the lines of a way, ready to be pasted; none: the way cannot apply the setting, or nothing needs to be set. Those for a
// program that runs are l.Now.
func (w Way) Lines(l *result.Lines) []string {
	lines := w.kept(l)
	if w.head != "" && len(lines) > 0 {
		lines = append([]string{w.head}, lines...)
	}
	return lines
}

// Brief returns what a table shows of a way: of a program that runs, what gives it the setting now and when it is started again.
func (w Way) Brief(l *result.Lines) (lines []string) {
	switch {
	case w.brief == nil:
		lines = w.kept(l)
	case w.brief(l) != "":
		lines = []string{w.brief(l)}
	}
	if l.Now == nil {
		return lines
	}
	both := make([]string, 0, len(l.Now[w.Name])+len(lines))
	for _, line := range l.Now[w.Name] {
		both = append(both, "now: "+line)
	}
	for _, line := range lines {
		both = append(both, atStart+line)
	}
	return both
}

// atStart comes before a line that gives a program that runs its setting when it is started again.
const atStart = "at its start: "

// Print prints the lines of a way on stdout and nothing else, each that comes before a command with this one; "": without. words
// describes the setting on stderr, before what the way cannot express of it.
func Print(stdout, stderr io.Writer, name, words string, l *result.Lines, command string) error {
	way, err := Find(name)
	if err != nil {
		return err
	}
	if l.Copies != nil {
		return way.printCopies(stdout, stderr, words, l, command)
	}
	lines, lacks := way.Lines(l), l.Lacks[name]
	if now := l.Now[name]; now != nil {
		if len(lines) > 0 {
			words += "; " + atStart + strings.Join(way.kept(l), " ")
		}
		lines = now
	}
	switch {
	case len(lines) == 0 && lacks == "":
		words += "; there is nothing to set by " + name
	case len(lines) == 0:
		words += "; " + name + " cannot give it: " + lacks
	case lacks != "":
		words += "; " + name + ": " + lacks
	}
	fmt.Fprintf(stderr, "gorun: %s\n", hint.Printable(words))
	for _, line := range lines {
		if way.Before && command != "" {
			line += " " + command
		}
		if _, err = fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// CopyMark stands for the number of a copy, from 0, in its words, its environment and the names of its files.
const CopyMark = "{copy}"

// printCopies prints the lines of each copy: a line of a shell, which starts it in the background, or what the unit, the container or
// the program of the copy needs, after a comment with its number.
func (w Way) printCopies(stdout, stderr io.Writer, words string, l *result.Lines, command string) error {
	lines := make([]string, 0, len(l.Copies))
	for _, group := range l.Copies {
		lacks := group.Lines.Lacks[w.Name]
		if lacks != "" && !strings.Contains(words, lacks) {
			words += "; " + w.Name + ": " + lacks
		}
		copies, err := cpuset.Parse(group.Copies)
		if err != nil {
			return err
		}
		for copy := range copies.All() {
			number := strconv.Itoa(copy)
			of := w.Lines(&group.Lines)
			if w.Before && command != "" && len(of) == 1 {
				lines = append(lines, of[0]+" "+strings.ReplaceAll(command, CopyMark, number)+" &")
			} else if len(of) > 0 {
				lines = append(append(lines, "# copy "+number), of...)
			}
		}
	}
	fmt.Fprintf(stderr, "gorun: %s\n", hint.Printable(words))
	if w.Before && command != "" && len(lines) > 0 {
		lines = append(lines, "wait")
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// shownCopies is the number of groups of copies that a table shows of each way.
const shownCopies = 2

// Table has the ways to have a setting, and what they cannot express; it has no rows if nothing needs to be set.
func Table(l *result.Lines) (t table.Table) {
	t.Whole = true
	t.Add("", "")
	all := []result.CopyLines{{Lines: *l}}
	if l.Copies != nil {
		all = l.Copies
	}
	for _, w := range Ways {
		name := w.Name
		add := func(line string) {
			t.AddRow(table.Text(name), table.Text(line))
			name = ""
		}
		for i, group := range all {
			brief := w.Brief(&group.Lines)
			if i == shownCopies && brief != nil {
				add(fmt.Sprintf("and so on, as --apply %s prints", w.Name))
			}
			for _, line := range brief {
				if group.Copies != "" {
					line = "copy " + group.Copies + ": " + line
				}
				if i < shownCopies {
					add(line)
				}
			}
		}
		if lacks := all[0].Lines.Lacks[w.Name]; lacks != "" {
			if t.Notes == nil {
				t.Notes = []string{"What they cannot express:"}
			}
			t.Notes = append(t.Notes, w.Name+": "+lacks)
		}
	}
	return t
}
