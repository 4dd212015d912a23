package linux

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMappings(t *testing.T) {
	m := parseMappings("00400000-00a1b000 r-xp 00000000 fe:01 1234   /usr/bin/my program\n" +
		"c000000000-c000400000 rw-p 00000000 00:00 0   [anon: Go: heap]\nodd line\n" +
		"7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n7ffc0000-7ffd0000 rw-p 00000000 00:00 0   [stack]\n")
	for address, want := range map[uint64]string{
		0x400000: "my program", 0xa1afff: "my program", 0xa1b000: "not mapped any more", 0xc000001000: "[anon: Go: heap]",
		0x7f0000020fff: "anonymous", 0x7ffc1234: "[stack]",
	} {
		assert.Equal(t, want, m.Name(address), "%#x", address)
	}
}
