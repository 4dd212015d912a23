package linux

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/sysfs"
)

const smaps = `00400000-00452000 r-xp 00000000 08:02 173521                             /usr/bin/a - b: c
Size:                328 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
Rss:                 324 kB
AnonHugePages:         0 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:       0 kB
THPeligible:           0
VmFlags: rd ex mr mw me dw
7f0000000000-7f0000800000 rw-p 00000000 00:00 0
Size:               8192 kB
KernelPageSize:        4 kB
Rss:                6148 kB
AnonHugePages:      4096 kB
Private_Hugetlb:       0 kB
VmFlags: rd wr mr mw me ac hg
7f0000800000-7f0000c00000 rw-p 00000000 00:0f 4097                       /anon_hugepage (deleted)
Size:               4096 kB
KernelPageSize:     2048 kB
Rss:                   0 kB
AnonHugePages:         0 kB
Shared_Hugetlb:     2048 kB
Private_Hugetlb:    2048 kB
VmFlags: rd wr mr mw me de ht
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`

func TestParseSmaps(t *testing.T) {
	mappings, err := parseSmaps(smaps)
	require.NoError(t, err)
	assert.Equal(t, []mapping{
		{first: 0x400000, last: 0x452000, pageSize: 4096, rss: 324 << 10},
		{first: 0x7f0000000000, last: 0x7f0000800000, pageSize: 4096, rss: 6148 << 10, anonHuge: 4 << 20},
		{first: 0x7f0000800000, last: 0x7f0000c00000, pageSize: 2 << 20, hugetlb: 4 << 20},
		{first: 0xffffffffff600000, last: 0xffffffffff601000},
	}, mappings)

	rollup, err := parseSmaps("00400000-7ffd00000000 ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nAnonymous: 800 kB\nAnonHugePages: 0 kB\n")
	require.NoError(t, err)
	assert.Equal(t, []mapping{{first: 0x400000, last: 0x7ffd00000000, rss: 900 << 10, anonymous: 800 << 10}}, rollup)

	const huge = 2 << 20
	assert.Equal(t, map[uint64]uint64{4096: 2052 << 10, huge: 4 << 20},
		pageSizes(mappings, 0x7f0000000000, 0x7f0000800000, huge))
	assert.Equal(t, map[uint64]uint64{huge: 4 << 20}, pageSizes(mappings, 0x7f0000800000, 0x7f0000c00000, huge))
	assert.Equal(t, map[uint64]uint64{4096: 2052 << 10, huge: 8 << 20},
		pageSizes(mappings, 0x7f0000000000, 0x7f0000c00000, huge), "several mappings")
	assert.Empty(t, pageSizes(mappings, 0x7f0000001000, 0x7f0000800000, huge), "includes memory outside the area")
	assert.Empty(t, pageSizes(mappings, 0x7f0000000000, 0x7f00007ff000, huge), "includes memory outside the area")
}

func TestParseSmapsRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"Rss: 4 kB\n":         "belongs to no mapping",
		"1000 rw-p\n":         "neither a mapping nor a field",
		"1000-x rw-p\n":       "neither a mapping nor a field",
		"2000-1000 rw-p\n":    "neither a mapping nor a field",
		"\n":                  "neither a mapping nor a field",
		"1-2 r\nRss: 4\n":     "not a number of kB",
		"1-2 r\nRss: -4 kB\n": "not a number of kB",
		"1-2 r\nRss: 4 MB\n":  "not a number of kB",
		"1-2 r\nRss: 9" + "99999999999999999 kB\n": "not a number of kB",
	} {
		_, err := parseSmaps(text)
		assert.ErrorContains(t, err, says, text)
	}
}

var anywhere [16]byte // a static variable, which does not move as a stack does

func TestPageSizesReadsItsFiles(t *testing.T) {
	a := Area{pages: anywhere[:]}
	root := fstest.MapFS{}
	_, err := a.PageSizes(root)
	assert.ErrorContains(t, err, "proc/self/smaps", "only smaps is required")
	for _, name := range []string{
		"proc/self/smaps", "proc/self/numa_maps", "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
	} {
		root[name] = &fstest.MapFile{Data: []byte("many\n")}
		_, err = a.PageSizes(root)
		require.ErrorIs(t, err, sysfs.ErrMalformed)
		assert.ErrorContains(t, err, name)
	}
}

func TestPageSizesFindsHiddenHugePages(t *testing.T) {
	a := Area{pages: anywhere[:]}
	first, last := a.span()
	sizes := func(numaMaps string) map[uint64]uint64 {
		root := fstest.MapFS{
			"sys/kernel/mm/transparent_hugepage/hpage_pmd_size": {Data: []byte("4194304\n")},
			"proc/self/smaps": {Data: []byte(fmt.Sprintf("%x-%x rw-p\n", first, last) +
				"KernelPageSize: 4 kB\nRss: 4104 kB\nAnonHugePages: 4096 kB\n")},
			"proc/self/numa_maps": {Data: []byte(fmt.Sprintf("%x default %s\n", first, numaMaps))},
		}
		got, err := a.PageSizes(root)
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, map[uint64]uint64{4096: 8 << 10, 4 << 20: 12 << 20}, sizes("N0=2 N1=3072 kernelpagesize_kB=4"))
	assert.Equal(t, map[uint64]uint64{4096: 8 << 10, 4 << 20: 4 << 20}, sizes("N0=2 N1=1024 kernelpagesize_kB=4"))
	assert.Equal(t, map[uint64]uint64{4096: 8 << 10, 4 << 20: 4 << 20}, sizes(""), "pages allocated between the two reads")
}

const numaMaps = `00400000 default file=/usr/bin/N1=7 mapped=82 N0=80 N1=2 kernelpagesize_kB=4
7f0000000000 bind:0-1 anon=3 dirty=3 active=0 N0=1 N1=2 kernelpagesize_kB=4
7f0000003000 default
7f0000200000 prefer (many):0-1 huge anon=2 dirty=2 N1=2 kernelpagesize_kB=2048
7f0000600000 default anon=1 N3=1 kernelpagesize_kB=4
`

func TestParseNUMAMaps(t *testing.T) {
	for _, test := range []struct {
		first, last uint64
		want        map[int]uint64
	}{
		{0x7f0000000000, 0x7f0000003000, map[int]uint64{0: 4096, 1: 8192}},
		{0x7f0000003000, 0x7f0000200000, map[int]uint64{}},
		{0x7f0000200000, 0x7f0000600000, map[int]uint64{1: 4 << 20}},
		{0x7f0000000000, 0x7f0000600000, map[int]uint64{0: 4096, 1: 8192 + 4<<20}},
		{0x7f0000600000, 0x7f0000600001, map[int]uint64{3: 4096}},
	} {
		got, err := parseNUMAMaps(numaMaps, test.first, test.last)
		require.NoError(t, err)
		assert.Equal(t, test.want, got, "%x", test.first)
	}
	for text, says := range map[string]string{
		"x default":                         "no address",
		"\n":                                "no address",
		"1 default N0=x":                    "not a number",
		"1 default N0":                      "not a number",
		"1 default N0=-1":                   "not a number",
		"1 default N0=1":                    "size of its pages",
		"1 default Nx=1":                    "not of a node",
		"1 default N0=1 kernelpagesize_kB=": "not a number",
	} {
		_, err := parseNUMAMaps(text, 0, 9)
		assert.ErrorContains(t, err, says, text)
	}
}

func FuzzParseNUMAMaps(f *testing.F) {
	f.Add(numaMaps, uint64(0x7f0000000000), uint64(0x7f0000600000))
	f.Fuzz(func(t *testing.T, text string, first, last uint64) {
		nodes, err := parseNUMAMaps(text, first, last)
		require.Equal(t, err != nil, nodes == nil)
		for node := range nodes {
			require.GreaterOrEqual(t, node, 0)
		}
	})
}

func FuzzParseSmaps(f *testing.F) {
	f.Add(smaps)
	f.Add("1-2 r\nRss: 281474976710655 kB\nRss: 1 kB\n")
	f.Fuzz(func(t *testing.T, text string) {
		mappings, err := parseSmaps(text)
		if err != nil {
			require.Nil(t, mappings)
			return
		}
		for _, m := range mappings {
			require.LessOrEqual(t, m.first, m.last)
		}
	})
}
