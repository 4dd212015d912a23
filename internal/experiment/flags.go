package experiment

import (
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"gorun/internal/result"
)

// FlagSet is a set of flags, and how their values are completed in a shell.
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

// Completion is how one flag's values are completed: by words, by this machine's CPU selectors, or by files.
type Completion struct {
	Flag  string
	Words func() []string // a description may follow each word after a tab
	CPUs  bool
	Files []string // extensions
}

// Words completes a flag from a fixed list; a description may follow each word after a tab.
func (f *FlagSet) Words(flag string, words []string) {
	f.WordsOf(flag, func() []string { return words })
}

// WordsOf completes a flag from a list that depends on other flags.
func (f *FlagSet) WordsOf(flag string, words func() []string) {
	f.Completions = append(f.Completions, Completion{Flag: flag, Words: words})
}

// CPUList completes a flag with the selectors of this machine.
func (f *FlagSet) CPUList(flag string) {
	f.Completions = append(f.Completions, Completion{Flag: flag, CPUs: true})
}

// Files completes a flag with files of these extensions.
func (f *FlagSet) Files(flag string, extensions ...string) {
	f.Completions = append(f.Completions, Completion{Flag: flag, Files: extensions})
}

// OptionalInt adds a flag whose absence leaves *p nil.
func (f *FlagSet) OptionalInt(p **int, name, usage string) {
	f.Var(optional[int]{p, strconv.Atoi, "int"}, name, usage)
}

// OptionalUint64 adds a flag whose absence leaves *p nil.
func (f *FlagSet) OptionalUint64(p **uint64, name, usage string) {
	f.Var(optional[uint64]{p, func(text string) (uint64, error) { return strconv.ParseUint(text, 0, 64) }, "uint"}, name, usage)
}

// OptionalDuration adds a flag whose absence leaves *p nil.
func (f *FlagSet) OptionalDuration(p **time.Duration, name, usage string) {
	f.Var(optional[time.Duration]{p, time.ParseDuration, "duration"}, name, usage)
}

// optional is a flag that is nil while it is not given.
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
	if s, ok := any(**o.to).(interface{ String() string }); ok {
		return s.String()
	}
	return toText(**o.to)
}

func toText(value any) string {
	switch value := value.(type) {
	case int:
		return strconv.Itoa(value)
	case uint64:
		return strconv.FormatUint(value, 10)
	}
	return ""
}

// Picture is a drawing of a run.
type Picture struct {
	Usage string // of --svg
	Draw  func(w io.Writer, run *result.Run) error
}
