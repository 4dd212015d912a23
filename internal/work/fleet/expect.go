package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
)

// mostNodes is the number of names that --expect may have.
const mostNodes = 100_000

// ReadExpect returns the names of nodes, in order, that a value of --expect has: it is a list of names, if it has a comma or brackets, else
// a file with such a list in each line. After # is a comment.
func ReadExpect(ctx context.Context, files input.Opener, value string) (names []string, err error) {
	if strings.ContainsAny(value, ",[") && !strings.Contains(value, "/") {
		names, err = addNames(nil, value)
	} else {
		file, opened := files.Open(ctx, value, input.List)
		if opened != nil {
			return nil, opened
		}
		defer file.Close()
		names, err = readNames(file)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

func readNames(r io.Reader) (names []string, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, input.List)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if names, err = addNames(names, text); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return names, lines.Err()
}

// addNames adds the names of a list that is separated by commas: names and hostlists as Slurm writes them, such as rack[1-2]n[01,03-05].
// node/NAME, as kubectl writes it, is NAME.
func addNames(names []string, list string) ([]string, error) {
	inside := false
	split := func(c rune) bool {
		inside = c == '[' || inside && c != ']'
		return c == ',' && !inside
	}
	for _, one := range strings.FieldsFunc(list, split) {
		one = strings.TrimPrefix(strings.TrimSpace(one), "node/")
		if one == "" {
			continue
		}
		more, err := expand(one, mostNodes-len(names))
		if err != nil {
			return nil, hint.With(fmt.Errorf("%s: %w", hint.Word(one), err), "give names, or hostlists such as n[01-13] and rack[1-2]n[1,3-5]")
		}
		names = append(names, more...)
	}
	return names, nil
}

// expand returns the names of a hostlist, which are counted before they are made.
func expand(list string, most int) ([]string, error) {
	names := []string{""}
	for rest, more := list, true; more; {
		var text, inside string
		text, inside, more = strings.Cut(rest, "[")
		numbers := []string{""}
		if more {
			var closed bool
			if inside, rest, closed = strings.Cut(inside, "]"); !closed {
				return nil, errors.New("there is no ] after [")
			}
			var err error
			if numbers, err = expandNumbers(inside, most/len(names)); err != nil {
				return nil, err
			}
		}
		if len(names[0])+len(text) > longestName {
			return nil, errNoName
		}
		longer := make([]string, 0, len(names)*len(numbers))
		for _, name := range names {
			for _, number := range numbers {
				longer = append(longer, name+text+number)
			}
		}
		names = longer
	}
	switch {
	case len(names) > most:
		return nil, errMostNodes
	case !isName(names[0]):
		return nil, errNoName
	}
	return names, nil
}

var (
	errMostNodes = fmt.Errorf("there are more than %d names, which is the most that is read", mostNodes)
	errNoName    = fmt.Errorf("it is no name of a node, which %s", nameRule)
)

// expandNumbers returns the numbers of a list such as 1,03-05, each with as many digits as the first of its range has.
func expandNumbers(list string, most int) (numbers []string, err error) {
	for item := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(item, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 63)
		last, err2 := strconv.ParseUint(to, 10, 63)
		switch {
		case err != nil || err2 != nil || first > last || len(from) > longestName:
			return nil, fmt.Errorf("%s in brackets is no number, and no range of numbers", hint.Word(item))
		case last-first >= uint64(most-len(numbers)):
			return nil, errMostNodes
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(from), n))
		}
	}
	return numbers, nil
}

// otherForms returns the names that never reported which are a short or a full form of a name that is not expected: n01 and n01.c.org.
func otherForms(silent, unexpected []string) (forms []string) {
	names, short := map[string]string{}, map[string]string{} // of the unexpected
	for _, name := range unexpected {
		names[strings.ToLower(name)] = name
		for form := range shortForms(name) {
			short[form] = name
		}
	}
	for _, name := range silent {
		other := short[strings.ToLower(name)]
		for form := range shortForms(name) {
			if found, is := names[form]; is {
				other = found
			}
		}
		if other != "" {
			forms = append(forms, name+" for "+other)
		}
	}
	return forms
}

// shortForms returns a name in lower case, and what of it comes before each dot: hosts' names do not depend on the case.
func shortForms(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		name = strings.ToLower(name)
		for i, c := range name + "." {
			if c == '.' && !yield(name[:i]) {
				return
			}
		}
	}
}
