package matrix

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/stats"
)

// FailOn are the verdicts on a cell that make a command fail. It is the value of a flag.
type FailOn []failure

// failure is a word of --fail-on, with the size of the difference.
type failure struct {
	word  string
	above float64 // the interval's smallest difference must exceed this: 0.05 is 5%
}

// Failures lists the words of FailOn. A size may follow the first three: slower>5%.
var Failures = []string{string(stats.Slower), string(stats.Faster), "difference", "undecided"}

// Set adds the words of a comma-joined text.
func (f *FailOn) Set(text string) error {
	for _, part := range strings.Split(text, ",") {
		word, above, sized := strings.Cut(strings.TrimSpace(part), ">")
		if !slices.Contains(Failures, word) || sized && word == "undecided" {
			return hint.With(fmt.Errorf("%q is not a verdict of --fail-on", part), "there are "+strings.Join(Failures, ", ")+", and slower>5%")
		}
		condition := failure{word: word}
		if sized {
			var err error
			if condition.above, err = ParseFraction(above); err != nil {
				return err
			}
		}
		*f = append(*f, condition)
	}
	return nil
}

// String returns the words in the form of the flag.
func (f *FailOn) String() string {
	words := make([]string, len(*f))
	for i, condition := range *f {
		words[i] = condition.word
		if condition.above > 0 {
			words[i] += fmt.Sprintf(">%g%%", 100*condition.above)
		}
	}
	return strings.Join(words, ",")
}

// Type returns the value's name in help.
func (f *FailOn) Type() string { return "verdicts" }

// Fails reports whether a verdict is one of these.
func (f FailOn) Fails(v stats.Verdict) bool {
	return slices.ContainsFunc(f, func(condition failure) bool { return condition.meets(v) })
}

func (f failure) meets(v stats.Verdict) bool {
	switch v.Kind {
	case stats.CantTell, stats.Confounded, stats.Invalid:
		return f.word == "undecided"
	case stats.Same:
		return false
	}
	slower := v.Typical.Lo > 1+f.above
	faster := v.Typical.Hi < 1-f.above
	switch f.word {
	case string(stats.Slower):
		return v.Kind == stats.Slower && slower
	case string(stats.Faster):
		return v.Kind == stats.Faster && faster
	case "difference":
		return f.above == 0 || slower || faster
	}
	return false
}
