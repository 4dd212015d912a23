package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"gorun/internal/base/bytesize"
	"gorun/internal/base/hint"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/linux"
)

// Number is what a flag with bounds can be.
type Number interface {
	int | uint64 | float64 | time.Duration
}

// Bound makes a flag that was added refuse numbers below least or above most. The greatest number of a type is no bound.
func Bound[T Number](f *FlagSet, p *T, name string, least, most T) {
	f.onSet(name, func(set func(string) error, text string) error {
		if err := set(text); err != nil {
			return err
		}
		return within(*p, least, most)
	})
}

// onSet makes a flag check a text before or after it is set.
func (f *FlagSet) onSet(name string, check func(set func(string) error, text string) error) {
	flag := f.Lookup(name)
	flag.Value = checked{flag.Value, check}
}

// checked is a flag value that is not set to each text.
type checked struct {
	pflag.Value
	check func(set func(string) error, text string) error
}

func (c checked) Set(text string) error { return c.check(c.Value.Set, text) }

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
	f.Complete("sched", linux.PolicyUsages())
}

// Choice adds a flag that takes one of these words, which also complete it; a description may follow each after a tab.
func (f *FlagSet) Choice(p *string, name, value, usage string, words []string) {
	f.StringVar(p, name, value, usage)
	f.Complete(name, words)
	var names []string
	for _, word := range words {
		word, _, _ := strings.Cut(word, "\t")
		names = append(names, word)
	}
	f.onSet(name, func(set func(string) error, text string) error {
		if !slices.Contains(names, text) {
			return hint.With(fmt.Errorf("there are %s", strings.Join(names, ", ")), hint.Near(text, names))
		}
		return set(text)
	})
}

// Parsed adds a flag whose text parse turns into a value when the flag is set; p keeps the text.
func Parsed[T any](f *FlagSet, p *string, to *T, name, text, usage string, parse func(text string) (T, error)) {
	f.StringVar(p, name, text, usage)
	if text != "" {
		*to, _ = parse(text)
	}
	f.onSet(name, func(set func(string) error, text string) (err error) {
		if *to, err = parse(text); err != nil {
			return err
		}
		return set(text)
	})
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

// Share is the value of a flag that is a part of 1, written as 2% or 0.02.
type Share float64

// Set implements pflag.Value.
func (s *Share) Set(text string) error {
	v, err := matrix.ParseFraction(text)
	*s = Share(v)
	return err
}

func (s *Share) String() string { return strconv.FormatFloat(100*float64(*s), 'g', 6, 64) + "%" }

// Type implements pflag.Value.
func (s *Share) Type() string { return "share" }
