package topology

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadCaches(t *testing.T) {
	dir := "sys/devices/system/cpu/cpu3/cache/"
	root := fstest.MapFS{}
	cache := func(index, level, kind, size string) {
		for name, text := range map[string]string{"level": level, "type": kind, "size": size} {
			if text != "" {
				root[dir+index+"/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
			}
		}
	}
	none, odd := ReadCaches(root, 3)
	require.Empty(t, odd)
	assert.Empty(t, none)

	cache("index3", "3", "Unified", "266240K")
	cache("index0", "1", "Data", "48K")
	cache("index1", "1", "Instruction", "32K")
	cache("index2", "2", "Unified", "2048K")
	cache("index4", "4", "Unified", "")
	root[dir+"uevent"] = &fstest.MapFile{}
	caches, odd := ReadCaches(root, 3)
	require.Empty(t, odd)
	assert.Equal(t, []Cache{{Level: 1, Bytes: 48 << 10}, {Level: 2, Bytes: 2 << 20}, {Level: 3, Bytes: 260 << 20}}, caches)

	cache("index2", "two", "Unified", "2048K")
	caches, odd = ReadCaches(root, 3)
	assert.Equal(t, []Cache{{Level: 1, Bytes: 48 << 10}, {Level: 3, Bytes: 260 << 20}}, caches)
	assert.Equal(t, []string{dir + `index2/level: malformed: "two" is not a whole number; it is left out`}, odd)
}
