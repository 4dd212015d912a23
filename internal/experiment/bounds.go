package experiment

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"gorun/internal/bytesize"
	"gorun/internal/linux"
)

// Number is what a flag with bounds can be.
type Number interface {
	int | uint64 | float64 | time.Duration
}

// Bound makes a flag that was added refuse numbers below least or above most. The greatest number of a type is no bound.
func Bound[T Number](f *FlagSet, p *T, name string, least, most T) {
	flag := f.Lookup(name)
	flag.Value = bounded[T]{flag.Value, p, least, most}
}

// bounded is a flag value of a number between two.
type bounded[T Number] struct {
	pflag.Value
	to          *T
	least, most T
}

func (b bounded[T]) Set(text string) error {
	if err := b.Value.Set(text); err != nil {
		return err
	}
	return within(*b.to, b.least, b.most)
}

// within returns an error for a number that is not between two; NaN is not.
func within[T Number](x, least, most T) error {
	var zero T
	switch {
	case x >= least && x <= most:
		return nil
	case any(most) != any(math.MaxInt) && any(most) != any(uint64(math.MaxUint64)) && any(most) != any(time.Duration(math.MaxInt64)):
		return fmt.Errorf("give a number from %v to %v", least, most)
	case least == zero:
		return errors.New("it cannot be negative")
	}
	return fmt.Errorf("give at least %v", least)
}

// OptionalInt adds a flag whose absence leaves *p nil.
func (f *FlagSet) OptionalInt(p **int, name, usage string, least, most int) {
	f.Var(optional[int]{p, func(text string) (n int, err error) {
		if n, err = strconv.Atoi(text); err == nil {
			err = within(n, least, most)
		}
		return n, err
	}, "int"}, name, usage)
}

// Nice adds the flag --nice; whose is "", or " of …", for what gets the nice value. Without the flag nothing is set, which is not the same as 0.
func (f *FlagSet) Nice(p **int, whose string) {
	f.OptionalInt(p, "nice", "nice value"+whose+", -20 to 19", linux.MinNice, linux.MaxNice)
}

// Sched adds the flag --sched; whose is "", or " of …", for what gets the policy.
func (f *FlagSet) Sched(p **linux.Sched, whose string) {
	f.Var(optional[linux.Sched]{p, linux.ParseSched, "string"}, "sched", "scheduling `policy`"+whose+": "+strings.Join(linux.PolicyUsages(), ", "))
	f.Words("sched", linux.PolicyUsages())
}

// Choice adds a flag that takes one of these words, which also complete it; a description may follow each after a tab.
func (f *FlagSet) Choice(p *string, name, value, usage string, words []string) {
	f.StringVar(p, name, value, usage)
	f.Words(name, words)
	flag := f.Lookup(name)
	flag.Value = choice{flag.Value, words}
}

// choice is a flag value that is one of some words.
type choice struct {
	pflag.Value
	words []string
}

func (c choice) Set(text string) error {
	var names []string
	for _, word := range c.words {
		name, _, _ := strings.Cut(word, "\t")
		if name == text {
			return c.Value.Set(text)
		}
		names = append(names, name)
	}
	return fmt.Errorf("there are %s", strings.Join(names, ", "))
}

// Parsed adds a flag whose text parse turns into a value when the flag is set; p keeps the text.
func Parsed[T any](f *FlagSet, p *string, to *T, name, text, usage string, parse func(text string) (T, error)) {
	f.StringVar(p, name, text, usage)
	flag := f.Lookup(name)
	flag.Value = parsed[T]{flag.Value, to, parse}
	if text != "" {
		*to, _ = parse(text)
	}
}

// parsed is a flag value that has a second form.
type parsed[T any] struct {
	pflag.Value
	to    *T
	parse func(text string) (T, error)
}

func (p parsed[T]) Set(text string) (err error) {
	if *p.to, err = p.parse(text); err != nil {
		return err
	}
	return p.Value.Set(text)
}

// Size adds a flag for a size in bytes; 0: it is not given.
func (f *FlagSet) Size(p *uint64, name, usage string) {
	Parsed(f, new(string), p, name, "", usage, func(text string) (uint64, error) {
		sizes, err := bytesize.ParseList(text)
		switch {
		case err != nil:
			return 0, err
		case len(sizes) > 1:
			return 0, errors.New("give a single size")
		}
		return sizes[0], nil
	})
}
