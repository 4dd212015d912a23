package column

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/packed"
	"gorun/internal/record/result"
)

type row struct {
	Node int `json:"node" figure:",csv=1,key=node" words:"-1=F" is:"The node."`
}

type phase struct {
	Pages *int `json:"pages" figure:"count" is:"The pages moved%s."`
	Lost  int  `json:"lost" figure:"-"`
	Node  int  `json:"node" is:"The node%s."`
}

type figures struct {
	row
	NS       float64            `json:"ns,omitempty" figure:"ns,lower,bench=ns/op" label:"an access" is:"The time."`
	Note     string             `json:"note" is:"A text."`
	Share    map[string]float64 `json:"share" figure:"share" is:"The share of each node."`
	Settling *phase             `json:"settling" figure:",hidden" is:" while it settled"`
	Settled  *phase             `json:"settled" prefix:""`
	Threads  []phase            `json:"threads"`
}

func (f *figures) Has(column string) bool { return column != "note" || f.Note != "hidden" }

func TestOf(t *testing.T) {
	columns := Of[figures]()
	names := map[string]string{}
	for _, c := range columns {
		names[c.Name] = c.Meaning
	}
	assert.Equal(t, map[string]string{
		"node": "The node.", "ns": "The time.", "note": "A text.", "share": "The share of each node.",
		"settling_pages": "The pages moved while it settled.", "settling_node": "The node while it settled.", "pages": "The pages moved.",
	}, names)
	node, settling := columns.Get("node"), columns.Get("settling_pages")
	assert.Equal(t, []any{1, "node", "F", Count, true}, []any{node.CSV, node.Key, node.ValueNames["-1"], settling.Unit, settling.Hidden})

	for text, want := range map[string]map[string]string{
		`{"node":-1,"ns":2.5,"note":"x","settling":{"pages":3},"settled":{"node":7}}`: {
			"node": "-1", "ns": "2.5", "note": "x", "settling_pages": "3", "settling_node": "0",
		},
		`{"note":"hidden","share":{"0":0.25},"settled":{"pages":0}}`: {"node": "0", "share_0": "0.25", "pages": "0"},
	} {
		s := result.Sample{}
		require.NoError(t, json.Unmarshal([]byte(text), &s.Values))
		known := map[string]string{}
		for _, c := range columns.Keyed(packed.Of(s)) {
			if v := c.Of(&s); v.Known() {
				known[c.Name] = v.Text
			}
		}
		assert.Equal(t, want, known)
	}
}

// The number of a column is that of its value, in the unit of the run.
func TestNumber(t *testing.T) {
	columns := Of[figures]()
	s := result.Sample{Values: result.FiguresOf(&figures{NS: 2.5, Note: "x"}), Factors: map[string]float64{"ns": 1e3}}
	for name, want := range map[string]float64{"ns": 2500, "node": 0} {
		x, is := columns.Get(name).Number(&s)
		assert.True(t, is, name)
		assert.InDelta(t, want, x, 1e-9, name)
		assert.InDelta(t, want, columns.Get(name).Of(&s).Number, 1e-9, name)
	}
	_, is := columns.Get("note").Number(&s)
	assert.False(t, is, "a word is no number")
}

func TestOfWrongTags(t *testing.T) {
	for _, tag := range []reflect.StructTag{
		`json:"ns" figure:"ns"`, `figure:"ns" is:"The time."`, `json:"ns" figure:"miles" is:"The time."`,
		`json:"ns" figure:"ns,fast" is:"The time."`, `json:"ns" figure:"ns,csv=first" is:"The time."`,
	} {
		wrong := reflect.StructOf([]reflect.StructField{{Name: "NS", Type: reflect.TypeFor[float64](), Tag: tag}})
		assert.Panics(t, func() { new(walk).fields(wrong, nil, Column{}, "") }, tag)
	}
	assert.Panics(t, func() {
		Of[struct {
			NS float32 `json:"ns" figure:"ns" is:"The time."`
		}]()
	})
	assert.Panics(t, func() { Of[figures]().Get("miles") })
	assert.Panics(t, func() { Of[figures]().After("miles") })
}
