package result

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"gorun/internal/base/packed"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asRead returns figures as read from a journal.
func asRead(text string) (f Figures) {
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		panic(err)
	}
	return f
}

// pairing are figures of an experiment.
type pairing struct {
	CPUA     int     `json:"cpu_a"`
	Relation string  `json:"relation"`
	NS       float64 `json:"ns"`
}

// exiting are figures of another experiment.
type exiting struct {
	ExitCode int `json:"exit_code"`
}

func TestTyped(t *testing.T) {
	given := &pairing{CPUA: 1, NS: 2.5}
	s := Sample{Values: FiguresOf(given)}
	got, ok := Typed[pairing](&s)
	assert.True(t, ok)
	assert.Same(t, given, got)
	_, ok = Typed[exiting](&s)
	assert.False(t, ok, "another experiment's")

	text, err := json.Marshal(s)
	require.NoError(t, err)
	var read Sample
	require.NoError(t, json.Unmarshal(text, &read))
	copied := read
	got, ok = Typed[pairing](&read)
	assert.True(t, ok)
	assert.Equal(t, given, got)
	again, _ := Typed[pairing](&copied)
	assert.Same(t, got, again, "decoded once")

	// A modified journal.
	for _, text := range []string{`{"cpu_a": "x"}`, `{"cpu_a": 1e99}`, `{"cpu_a": {}}`, `{}`, `null`} {
		for range 2 {
			s := Sample{Values: asRead(text)}
			got, ok := Typed[pairing](&s)
			assert.False(t, ok, text)
			assert.Nil(t, got)
		}
	}
	for _, text := range []string{`5`, `"x"`, `[]`} {
		assert.Error(t, json.Unmarshal([]byte(text), new(Figures)), text)
	}
}

func TestFiguresMarshal(t *testing.T) {
	for text, want := range map[string]string{
		`null`: `{}`, `{}`: `{}`,
		"{\n \"b\": 12345678901234567891, \"a\": \"\\u003c\"\n}": `{"b":12345678901234567891,"a":"\u003c"}`,
	} {
		got, err := json.Marshal(asRead(text))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	_, err := json.Marshal(FiguresOf(&pairing{NS: math.NaN()}))
	assert.Error(t, err)
}

func TestFiguresMap(t *testing.T) {
	plain := func(text string) bool { return !strings.Contains(text, "é") }
	change := func(decoded any) any {
		decoded.(map[string]any)["é"] = "<"
		return decoded
	}
	for text, want := range map[string]string{
		`{"é": "", "n": 1.50}`: `{"n":1.50,"é":"<"}`, `{"n": "\u00e9"}`: `{"n":"é","é":"<"}`, `{"n": "e"}`: `{"n":"e"}`, `{}`: `{}`,
	} {
		got, err := asRead(text).Map(plain, change).MarshalJSON()
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	f := FiguresOf(&pairing{Relation: "same-llc"})
	assert.Equal(t, f, f.Map(plain, change), "it is still typed")
}

// Packed figures are those that were packed: they have the JSON that was read, also what no type has of it, and may be read as another type.
func TestPackedFigures(t *testing.T) {
	for _, text := range []string{`{"cpu_a":1,"relation":"x","ns":2.5}`, `{"cpu_a":1,"more":[1e300,{}]}`, `{"cpu_a":"x"}`} {
		for _, typed := range []bool{false, true} {
			s := Sample{Values: asRead(text)}
			if typed {
				_, _ = Typed[pairing](&s)
			}
			back := packed.Of(s).At(0)
			got, err := json.Marshal(back.Values)
			require.NoError(t, err)
			assert.Equal(t, text, string(got))
			want, is := Typed[pairing](&s)
			figures, ok := Typed[pairing](back)
			assert.Equal(t, is, ok, text)
			assert.Equal(t, want, figures, text)
			_, ok = Typed[exiting](back)
			assert.True(t, ok, "JSON may be read as any type")
			assert.Nil(t, back.Values.Own())
		}
	}
	given := packed.Of(Sample{Values: FiguresOf(&pairing{CPUA: 1})}, Sample{})
	figures, ok := Typed[pairing](given.At(0))
	assert.True(t, ok)
	assert.Equal(t, &pairing{CPUA: 1}, figures)
	_, ok = Typed[exiting](given.At(0))
	assert.False(t, ok, "what was given is of one type")
	_, ok = Typed[pairing](given.At(1))
	assert.False(t, ok)
}
