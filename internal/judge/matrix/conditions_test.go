package matrix_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
	"gorun/internal/judge/matrix"
)

// In conditions, a flag that a cell does not give has its default value, or matches no value if it has no default.
func TestExclude(t *testing.T) {
	s := matrix.Spec{Experiment: "primes", Groups: []matrix.Group{
		{Name: "a", Axes: []matrix.Axis{axis("workers", "1", "2", "3")}},
		{Name: "b", Axes: []matrix.Axis{
			axis("workers", "1", "2", "3"), axis("lock-thread", "true"), axis("nice", "0"), axis("dispatch", "executor"),
		}},
	}}
	for text, want := range map[string]string{
		"group=a":                   "b1 b2 b3",
		"lock-thread=false":         "b1 b2 b3",
		"nice=0":                    "a1 a2 a3",
		"workers=2":                 "a1 a3 b1 b3",
		"lock-thread=1,workers=3":   "a1 a2 a3 b1 b2",
		"dispatch=goroutine":        "b1 b2 b3", // not those with another value
		"workers=1|group=a|group=b": "",
		"group=b,workers=1|group=a": "b2 b3",
		"group=b,workers=1|group=b": "a1 a2 a3", // a cell that another condition excluded counts as found
	} {
		s.Exclude = nil
		for list := range strings.SplitSeq(text, "|") {
			conditions, err := matrix.ParseConditions(list)
			require.NoError(t, err, text)
			s.Exclude = append(s.Exclude, conditions)
		}
		cells, _, err := s.Cells(primes)
		if want == "" {
			require.ErrorContains(t, err, "at least 2 cells, and this one has 0", text)
			continue
		}
		require.NoError(t, err, text)
		var got []string
		for _, c := range cells {
			got = append(got, c.Group+c.Flags["workers"])
		}
		assert.Equal(t, want, strings.Join(got, " "), text)
	}
}

func TestParseConditions(t *testing.T) {
	for text, want := range map[string]matrix.Conditions{
		"workers=50, lock-thread = true":       {"workers": "50", "lock-thread": "true"},
		"pin-cpus=0,2,workers=50":              {"pin-cpus": "0,2", "workers": "50"},
		"group=F1,2,3,4 all,workers=5":         {"group": "F1,2,3,4 all", "workers": "5"},
		`group=a\,x=b,workers=5`:               {"group": "a,x=b", "workers": "5"},
		"pin-cpus=0-7:1/2, 9,pin-thread=false": {"pin-cpus": "0-7:1/2, 9", "pin-thread": "false"},
	} {
		conditions, err := matrix.ParseConditions(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, conditions, text)
	}
	for text, want := range map[string]string{
		"": "names no flag", "workers": "names no flag", ",workers=5": "names no flag", "=5": "names no flag",
		"workers=5,workers=6": "gives workers twice", "workers=5, =6": "names no flag",
	} {
		_, err := matrix.ParseConditions(text)
		require.ErrorContains(t, err, want, text)
		assert.Contains(t, hint.Of(err), "FLAG=VALUE", text)
	}
}

func TestParseConditionsReadsStringProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conditions := matrix.Conditions(rapid.MapOfN(
			rapid.StringMatching(`[a-z]+(-[a-z]+)?`),
			rapid.StringMatching(`([a-z0-9:/,\\=-]([a-z0-9 :/,\\=-]*[a-z0-9:/,\\=-])?)?`), 1, 4,
		).Draw(t, "conditions"))
		parsed, err := matrix.ParseConditions(conditions.String())
		require.NoError(t, err)
		require.Equal(t, conditions, parsed)
	})
}
