package term

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		"Intel® 2.1 GHz": "Intel® 2.1 GHz",
		"界 ✓ é −":        "界 ✓ é −",
		"a\r\nb\tc":      "a  b c",
		"\x1b[31m\x7f":   "�[31m�",
		"\u009b2J":       "�2J",
		"a\u202eb\u200b": "a�b�",
		"\xff\u2028":     "� ",
	} {
		assert.Equal(t, want, Clean(text))
	}
	type inner struct {
		Name   string
		hidden string
	}
	type named string
	before := map[string]any{
		"a\n": []any{"b\n", 3, nil, &inner{"c\n", "d\n"}, []int{1}, map[named]bool{"e\n": true}}, "nil": (*inner)(nil),
	}
	after := Clean(before)
	assert.Equal(t, map[string]any{
		"a ": []any{"b ", 3, nil, &inner{"c ", "d\n"}, []int{1}, map[named]bool{"e ": true}}, "nil": (*inner)(nil),
	}, after)
	assert.Contains(t, before, "a\n", "the value itself is not changed")
	assert.Equal(t, "b\n", before["a\n"].([]any)[0])
	assert.Nil(t, Clean[any](nil))
	var sample result.Sample
	require.NoError(t, json.Unmarshal([]byte(`{"values": {"\u001b": ["\u009b", {"b": "\n"}], "n": 1.50, "z": null}}`), &sample))
	values, err := Clean(sample).Values.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `{"n":1.50,"z":null,"�":["�",{"b":" "}]}`, string(values))
	assert.Equal(t, result.Argv{"a\n"}, Clean(result.Argv{"a\n"}), "shell.Join shows it")
}
