package packed

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"testing"

	"gorun/internal/dev/tests"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type grade string

type inner struct {
	A int
	B *float64
}

// value has a field of each kind that is packed.
type value struct {
	I      int
	U      uint64
	F      float64
	S      string
	G      grade
	Yes    bool
	In     inner
	At     *inner
	Zero   *float64
	Count  *uint64
	Is     *bool
	List   []inner
	Words  []string
	Map    map[string]inner
	Own    own
	hidden float64
}

// own has more than its fields: what it points to may be of any type.
type own struct{ of any }

func (o *own) Pack(e *Encoder) { e.Any(o.of) }

func (o *own) Unpack(d *Decoder) { o.of = d.Any() }

func everything() value {
	return value{
		I: -7, U: math.MaxUint64, F: 0.1, S: "some", G: "valid", Yes: true, In: inner{3, new(0.0)}, At: &inner{4, nil}, Zero: new(0.0),
		Count: new(uint64(0)), Is: new(false), List: []inner{{}, {5, new(1e300)}}, Words: []string{}, Map: map[string]inner{"x": {6, nil}},
		Own: own{&inner{7, new(0.5)}}, hidden: math.Inf(-1),
	}
}

func TestListGivesBackWhatWasAppended(t *testing.T) {
	t.Parallel()
	all := everything()
	for i := range reflect.ValueOf(all).NumField() {
		require.False(t, reflect.ValueOf(all).Field(i).IsZero(), reflect.TypeOf(all).Field(i).Name)
	}
	values := []value{all, {}, all, {Words: []string{"one"}}}
	l := Of(values...)
	assert.Equal(t, values, tests.Values(l.All()))
	l.At(0).Map["x"] = inner{} // the caller's own
	assert.Equal(t, all, *l.At(0))
}

func TestFloatsAreExact(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, 1e-9, 123.456789012, 1234567.123456789, 1.0 / 3, 1 << 53, 9.1e6, math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.Inf(1), math.Inf(-1), math.NaN(),
	} {
		got := Of(inner{B: &x}, inner{}).At(0).B
		assert.Equal(t, math.Float64bits(x), math.Float64bits(*got), x)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a", "b", 0.1)
	f.Fuzz(func(t *testing.T, a, b string, x float64) {
		want := []value{{S: a, F: x, Map: map[string]inner{b: {B: &x}}}, {S: b, Words: []string{a, b, a}}}
		got := tests.Values(Of(want...).All())
		assert.Equal(t, math.Float64bits(x), math.Float64bits(got[0].F))
		if x == x {
			assert.Equal(t, want, got)
		}
	})
}

// A copy keeps its values, whatever is appended to another one.
func TestCopiesAreApart(t *testing.T) {
	t.Parallel()
	var l List[inner]
	for i := range 3*chunkLen + 5 {
		before := l
		l.Append(&inner{A: i})
		other := before
		other.Append(&inner{A: -i})
		require.Equal(t, i, before.Len())
		require.Equal(t, i, l.At(i).A)
		require.Equal(t, -i, other.At(i).A)
		if i > 0 {
			require.Equal(t, i-1, before.At(i-1).A)
			require.Equal(t, i-1, other.At(i-1).A)
		}
	}
	for i, v := range l.All() {
		require.Equal(t, i, v.A)
	}
}

func TestSelections(t *testing.T) {
	t.Parallel()
	var l List[inner]
	for i := range 1000 {
		l.Append(&inner{A: i})
	}
	even := l.Where(func(v *inner) bool { return v.A%2 == 0 })
	assert.Equal(t, 500, even.Len())
	assert.Equal(t, 998, even.At(499).A)
	some := even.Pick([]int{3, 1})
	assert.Equal(t, []inner{{A: 6}, {A: 2}}, tests.Values(some.All()))
	some.Append(&inner{A: 1})
	assert.Equal(t, []inner{{A: 6}, {A: 2}, {A: 1}}, tests.Values(some.All()))
	assert.Equal(t, 1000, l.Len())
	assert.True(t, even.Has(func(v *inner) bool { return v.A == 4 }))
	assert.False(t, even.Has(func(v *inner) bool { return v.A == 5 }))
	assert.Zero(t, l.Pick(nil).Len())
}

func TestJSONIsAnArray(t *testing.T) {
	t.Parallel()
	type document struct{ Of List[inner] }
	for _, values := range [][]inner{{}, {{A: 1}, {A: 2, B: new(0.5)}}} {
		want, err := json.Marshal(map[string]any{"Of": values})
		require.NoError(t, err)
		got, err := json.Marshal(document{Of(values...)})
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
		var back document
		require.NoError(t, json.Unmarshal(got, &back))
		assert.Equal(t, values, tests.Values(back.Of.All()))
	}
	var back document
	require.Error(t, json.Unmarshal([]byte(`{"Of": 3}`), &back))
	require.Error(t, json.Unmarshal([]byte(`{"Of": [{"A": "x"}]}`), &back))
	require.NoError(t, json.Unmarshal([]byte(`{"Of": null}`), &back))
	assert.Zero(t, back.Of.Len())
}

// Texts that are never the same again do not make the list keep more and more of them apart.
func TestTextsWithoutEnd(t *testing.T) {
	t.Parallel()
	type text struct{ S string }
	var l List[text]
	for i := range 3 * maxWords {
		l.Append(&text{strconv.Itoa(i)})
	}
	assert.Len(t, l.words, maxWords)
	for i, v := range l.All() {
		require.Equal(t, strconv.Itoa(i), v.S)
	}
}

func BenchmarkAppend(b *testing.B) {
	v := everything()
	b.ReportAllocs()
	for b.Loop() {
		var l List[value]
		for range 1000 {
			l.Append(&v)
		}
	}
}

func BenchmarkAt(b *testing.B) {
	l := Of(everything())
	b.ReportAllocs()
	for b.Loop() {
		l.At(0)
	}
}

// Each gives what All gives, until the next value.
func TestEach(t *testing.T) {
	t.Parallel()
	values := []value{everything(), {}, {Zero: new(3.0)}, everything()}
	for i, v := range Of(values...).Each() {
		require.Equal(t, values[i], *v)
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	l := Of(inner{A: 1}, inner{A: 2})
	assert.Equal(t, []inner{{A: 1}, {A: 12}}, tests.Values(l.Map(func(i int, v *inner) { v.A += 10 * i }).All()))
	assert.Equal(t, []inner{{A: 1}, {A: 2}}, tests.Values(l.All()))
}

// A text is found wherever it is.
func TestHasText(t *testing.T) {
	t.Parallel()
	type text struct{ S string }
	var l List[text]
	for i := range maxWords + 1 {
		l.Append(&text{strconv.Itoa(i)})
	}
	for i := range maxWords + 2 {
		assert.Equal(t, i <= maxWords, l.HasText(func(text string) bool { return text == strconv.Itoa(i) }), i)
	}
	assert.False(t, Of(text{"a"}).HasText(func(text string) bool { return text == "b" }))
	raw := Of(raw{}, raw{[]byte("seen")})
	assert.True(t, raw.HasText(func(text string) bool { return text == "seen" }))
	assert.Equal(t, "seen", string(raw.At(1).text))
}

// raw has bytes.
type raw struct{ text []byte }

func (r *raw) Pack(e *Encoder) { e.Bytes(r.text) }

func (r *raw) Unpack(d *Decoder) { r.text = d.Bytes() }
