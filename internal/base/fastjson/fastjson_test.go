package fastjson

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

type value struct {
	A  int            `json:"a"`
	B  *float64       `json:"b"`
	C  []string       `json:"c"`
	D  map[string]int `json:"d"`
	In struct {
		E uint64 `json:"e"`
	} `json:"in"`
}

// Both decode the same, or fail by the same error.
func TestUnmarshal(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"b":2.5,"c":["x","y"],"d":{"z":3},"in":{"e":4},"other":[1,{"a":2}]}`, `{"b":null,"c":null,"d":null}`, ` {"c":[]} `, `null`,
		`{"a":1,"a":2}`, `{"c":["x"],"c":[null]}`, `{"in":{"e":1},"in":{}}`, "{\"c\":[\"\xff\"]}", // refused by the faster one only
		``, `{`, `{"a":1`, `{"a":1}}`, `{"a":1} x`, `[]`, `{"a":"1"}`, `{"a":1.5}`, `{"a":1e400}`, `{"b":1e400}`, `{"c":["x",1]}`, `{"in":{"e":-1}}`, `{"in":[]}`,
	} {
		var want, got value
		wrong := json.Unmarshal([]byte(text), &want)
		assert.Equal(t, wrong, Unmarshal([]byte(text), &got), text)
		assert.Equal(t, want, got, text)
	}
}
