package experiment

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"gorun/internal/base/hint"
)

// FlagSet is a set of flags with the shell completion of their values.
type FlagSet struct {
	*pflag.FlagSet
	Completions []Completion
}

// NewFlagSet returns an empty set, whose flags stay in the order in which they were added.
func NewFlagSet(name string) *FlagSet {
	f := &FlagSet{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError)}
	f.SortFlags = false
	f.SetOutput(io.Discard)
	return f
}

// Set gives a flag a value, which may not be empty.
func (f *FlagSet) Set(name, value string) error {
	if flag := f.Lookup(name); flag != nil {
		RefuseEmpty(flag)
	}
	if err := f.FlagSet.Set(name, value); err != nil {
		return Refusal(err)
	}
	return nil
}

// RefuseEmpty makes a flag refuse an empty value, the result of an unset shell variable: it would count as if the flag
// were not given.
func RefuseEmpty(f *pflag.Flag) {
	if kind := f.Value.Type(); !strings.HasPrefix(kind, "string") && kind != SeveralType {
		return // it already refuses an empty value
	}
	if _, does := f.Value.(filled); does {
		return
	}
	if f.DefValue == "[]" {
		f.DefValue = "" // pflag would show it in the help, since it knows only its own types
	}
	f.Value = filled{f.Value}
}

// filled is a flag value that must not be empty.
type filled struct{ pflag.Value }

func (v filled) Set(text string) error {
	if text == "" {
		return hint.With(errors.New("the value is empty"), "give a value, or leave the flag out")
	}
	return v.Value.Set(text)
}

// Refusal rewords an error of the command line's parser: the flag, its value, and what is wrong with it.
func Refusal(err error) error {
	invalid := new(pflag.InvalidValueError)
	if !errors.As(err, &invalid) {
		return hint.Usage(err)
	}
	flag, cause := invalid.GetFlag(), errors.Unwrap(invalid)
	if number := new(strconv.NumError); errors.As(cause, &number) || strings.HasPrefix(cause.Error(), "time: ") {
		cause = errors.New(wanted(flag.Value.Type(), cause))
	}
	return hint.Flag(flag.Name, invalid.GetValue(), cause)
}

// wanted describes the values that a flag of this type accepts, for a value that Go's own parser refused.
func wanted(kind string, err error) string {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return "the number is out of range"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number of at least 0 is needed"
	case strings.HasPrefix(kind, "int"):
		return "a whole number is needed"
	case kind == "bool":
		return "true or false is needed"
	case kind == "duration":
		return "a time is needed, such as 300ms, 45s or 10m"
	}
	return "a number is needed"
}

// Several adds a flag that can be given several times; its text holds the values, a line each.
func (f *FlagSet) Several(p *string, name, usage string) { f.Var((*several)(p), name, usage) }

// SeveralType is the type of such a flag.
const SeveralType = "several"

type several string

func (s *several) Set(text string) error {
	if *s != "" {
		text = string(*s) + "\n" + text
	}
	*s = several(text)
	return nil
}

func (s *several) String() string { return string(*s) }
func (s *several) Type() string   { return SeveralType }

// optional is a flag value that is nil unless the flag is given.
type optional[T any] struct {
	to    **T
	parse func(string) (T, error)
	kind  string
}

func (o optional[T]) Set(text string) error {
	value, err := o.parse(text)
	if err == nil {
		*o.to = &value
	}
	return err
}
func (o optional[T]) Type() string { return o.kind }

func (o optional[T]) String() string {
	if o.to == nil || *o.to == nil {
		return ""
	}
	return fmt.Sprint(**o.to)
}
