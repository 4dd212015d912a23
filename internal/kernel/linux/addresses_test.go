package linux

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

func TestFixedAddresses(t *testing.T) {
	for _, c := range []struct {
		system, personality string
		want                bool
	}{
		{"2\n", "00000000\n", false},
		{"2\n", "00040000\n", true},
		{"1\n", "00440008\n", true},
		{"2\n", "00400008\n", false},
		{"0\n", "00000000\n", true},
		{"0\n", "", true},
		{"2\n", "", false},
		{"2\n", "odd\n", false},
		{"", "", false},
	} {
		root := fstest.MapFS{}
		for name, text := range map[string]string{
			"proc/sys/kernel/randomize_va_space": c.system, "proc/self/personality": c.personality,
		} {
			if text != "" {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		assert.Equal(t, c.want, FixedAddresses(root), "%+v", c)
	}
}
