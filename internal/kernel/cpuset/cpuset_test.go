package cpuset

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A list is read, and printed as the kernel prints it. TestSetAgainstModel has the CPUs of a set.
func TestParse(t *testing.T) {
	for list, want := range map[string]string{
		"":                  "",
		"\n":                "",
		"0":                 "0",
		"0\n":               "0",
		"0-3,8":             "0-3,8",
		" 1 , 3 ":           "1,3",
		"7-7":               "7",
		"5,1,3,1-2":         "1-3,5",
		"1,0":               "0-1",
		"007":               "7",
		"0-7:2/4":           "0-1,4-5",
		"1-8:1/3":           "1,4,7",
		"0-3:4/4":           "0-3",
		"16-31:2/4,2":       "2,16-17,20-21,24-25,28-29",
		"3-3:1/65535":       "3",
		"63-64,127-128":     "63-64,127-128",
		"62-65":             "62-65",
		"65535,4096":        "4096,65535",
		"0-65535":           "0-65535",
		"0-1\x00":           "0-1",
		"65530-65535\t ":    "65530-65535",
		"129,128,127,65,63": "63,65,127-129",
	} {
		s, err := Parse(list)
		require.NoError(t, err, "%q", list)
		assert.Equal(t, want, s.String(), "%q", list)
	}
	assert.True(t, Range(3, 2).Empty())
}

func TestParseErrors(t *testing.T) {
	for list, want := range map[string]string{
		",":                       `""`,
		"1,":                      `""`,
		",1":                      `""`,
		"-":                       `"-"`,
		"-1":                      `"-1"`,
		"1-":                      `"1-"`,
		"+1":                      `"+1"`,
		"1 2":                     `"1 2"`,
		"0x1":                     `"0x1"`,
		"a":                       `"a"`,
		"1-2-3":                   `"1-2-3"`,
		"1_0":                     `"1_0"`,
		"3-2":                     "ends before it starts",
		"65536":                   "CPU numbers end at 65535",
		"0-65536":                 "CPU numbers end at 65535",
		"0-4000000000":            "CPU numbers end at 65535",
		"99999999999999999999999": "CPU numbers end at 65535",
		"1:1/2":                   "a stride is written LO-HI:USED/GROUP",
		"0-3:2":                   "a stride is written LO-HI:USED/GROUP",
		"0-3:0/2":                 "1 <= USED <= GROUP",
		"0-3:3/2":                 "1 <= USED <= GROUP",
		"0-3:x/2":                 "not a CPU list",
		"0-3:1/x":                 "not a CPU list",
		"0-3:1/0":                 "1 <= USED <= GROUP",
		"٣":                       "not a CPU list",
	} {
		_, err := Parse(list)
		require.ErrorIs(t, err, ErrSyntax, "%q", list)
		assert.ErrorContains(t, err, want, "%q", list)
	}
}

func TestFormatList(t *testing.T) {
	for want, cpus := range map[string][]int{
		"":            nil,
		"3":           {3},
		"0-3,8":       {0, 1, 2, 3, 8},
		"3,1":         {3, 1},
		"3,1-2,1":     {3, 1, 2, 1},
		"0,65535,0-1": {0, Max, 0, 1},
	} {
		assert.Equal(t, want, FormatList(cpus))
	}
}

func TestOfPanicsOutsideItsRange(t *testing.T) {
	assert.PanicsWithValue(t, "cpuset: CPU -1 is outside 0-65535", func() { Of(-1) })
	assert.PanicsWithValue(t, "cpuset: CPU 65536 is outside 0-65535", func() { Of(3, Max+1) })
}

func TestFromWordsIgnoresWhatIsTooHigh(t *testing.T) {
	words := make([]uint64, 1025)
	words[1023], words[1024] = 1<<63, 1
	s := FromWords(words)
	assert.Equal(t, "65535", s.String())
	words[1023] = 0
	assert.Equal(t, 65535, s.Last(), "a Set is a value: it keeps no slice of its maker")
}

func TestJSON(t *testing.T) {
	type holder struct {
		CPUs Set `json:"cpus"`
	}
	data, err := json.Marshal(holder{Of(0, 1, 5)})
	require.NoError(t, err)
	assert.JSONEq(t, `{"cpus": "0-1,5"}`, string(data))

	var h holder
	require.NoError(t, json.Unmarshal(data, &h))
	assert.True(t, h.CPUs.Equal(Of(0, 1, 5)))
	require.ErrorIs(t, json.Unmarshal([]byte(`{"cpus": "x"}`), &h), ErrSyntax)
	assert.True(t, h.CPUs.Equal(Of(0, 1, 5)), "a list that cannot be read changes nothing")
}

func TestAllStopsWhenAsked(t *testing.T) {
	var seen []int
	for cpu := range Range(60, 70).All() {
		if seen = append(seen, cpu); cpu == 65 {
			break
		}
	}
	assert.Equal(t, []int{60, 61, 62, 63, 64, 65}, seen)
}

// model is a set as a map: slow, but evidently correct.
type model map[int]bool

func (m model) set() Set { return Of(m.list()...) }

func (m model) list() []int {
	list := slices.Sorted(maps.Keys(m))
	if list == nil {
		list = []int{}
	}
	return list
}

// drawModel draws a few runs of CPUs, which include ranges, single CPUs and word boundaries.
func drawModel(t *rapid.T, name string) model {
	m := model{}
	for range rapid.IntRange(0, 6).Draw(t, name+" runs") {
		first := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(0, Max)).Draw(t, name+" first")
		length := rapid.OneOf(rapid.Just(1), rapid.IntRange(1, 130)).Draw(t, name+" length")
		for cpu := first; cpu < first+length && cpu <= Max; cpu++ {
			m[cpu] = true
		}
	}
	return m
}

func TestSetAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawModel(t, "a"), drawModel(t, "b")
		x, y := a.set(), b.set()

		require.Equal(t, a.list(), x.List())
		require.Equal(t, len(a), x.Len())
		require.Equal(t, len(a) == 0, x.Empty())
		require.Equal(t, maps.Equal(a, b), x.Equal(y))
		first, last := -1, -1
		if list := a.list(); len(list) > 0 {
			first, last = list[0], list[len(list)-1]
		}
		require.Equal(t, first, x.First())
		require.Equal(t, last, x.Last())

		union, both, left := model{}, model{}, model{}
		for cpu := range a {
			union[cpu] = true
			if b[cpu] {
				both[cpu] = true
			} else {
				left[cpu] = true
			}
		}
		for cpu := range b {
			union[cpu] = true
		}
		for name, c := range map[string]struct {
			want model
			got  Set
		}{"union": {union, x.Union(y)}, "intersect": {both, x.Intersect(y)}, "minus": {left, x.Minus(y)}} {
			require.Equal(t, c.want.list(), c.got.List(), name)
			require.True(t, c.want.set().Equal(c.got), "%s: equal sets look alike", name)
		}
		require.Equal(t, a.list(), x.List(), "no operation changes its operands")

		cpu := rapid.IntRange(-1, Max+1).Draw(t, "cpu")
		require.Equal(t, a[cpu], x.Contains(cpu))
		if cpu >= 0 && cpu <= Max {
			require.Equal(t, union.set().With(cpu).List(), y.With(cpu).Union(x).List())
		}
	})
}

func TestPrintedAndParsedIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawModel(t, "set").set()
		parsed, err := Parse(s.String())
		require.NoError(t, err)
		require.True(t, s.Equal(parsed))
		require.True(t, s.Equal(FromWords(s.Words(rapid.IntRange(0, 2000).Draw(t, "words")))))
	})
}

// A stride picks the first CPUs of every group.
func TestStrideProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.IntRange(0, Max).Draw(t, "lo")
		hi := rapid.IntRange(lo, min(Max, lo+500)).Draw(t, "hi")
		group := rapid.IntRange(1, 600).Draw(t, "group")
		used := rapid.IntRange(1, group).Draw(t, "used")
		want := model{}
		for start := lo; start <= hi; start += group {
			for cpu := start; cpu < start+used && cpu <= hi; cpu++ {
				want[cpu] = true
			}
		}
		s, err := Parse(strings.Join([]string{
			Of(lo).String(), "-", Of(hi).String(), ":", Of(used).String(), "/",
			Of(group).String(),
		}, ""))
		require.NoError(t, err)
		require.Equal(t, want.list(), s.List())
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "0-3,8", "16-31:2/4", "0-65535", "0-4000000000", "3-2", "1,,2", " 7\n", "0-3:0/0", "\x00", "-", ":/,",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		s, err := Parse(list)
		if err != nil {
			require.ErrorIs(t, err, ErrSyntax)
			require.True(t, s.Empty())
			return
		}
		require.LessOrEqual(t, s.Last(), Max)
		again, err := Parse(s.String())
		require.NoError(t, err)
		require.True(t, s.Equal(again))
	})
}
