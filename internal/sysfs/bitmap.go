package sysfs

import (
	"fmt"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
)

// ParseMask reads the kernel's bitmap format (lib/vsprintf.c, bitmap_string): groups of up to eight hexadecimal digits,
// 32 CPUs each, joined by commas, the highest first: "ff,00000001" holds CPUs 0 and 32-39.
func ParseMask(text string) (cpuset.Set, error) {
	const most = (cpuset.Max + 1) / 32
	text = strings.TrimSpace(strings.TrimRight(text, "\x00"))
	groups := strings.Count(text, ",") + 1
	if groups > most {
		return cpuset.Set{}, fmt.Errorf("not a CPU bitmap: more than %d CPUs", cpuset.Max+1)
	}
	words := make([]uint64, (groups+1)/2)
	for field := range strings.SplitSeq(text, ",") {
		groups--
		bits, err := strconv.ParseUint(field, 16, 32)
		if err != nil || len(field) > 8 {
			return cpuset.Set{}, fmt.Errorf("not a CPU bitmap: %s", quote(field))
		}
		words[groups/2] |= bits << (groups % 2 * 32)
	}
	return cpuset.FromWords(words), nil
}
