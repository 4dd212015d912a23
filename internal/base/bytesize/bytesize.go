// Package bytesize parses and formats sizes in bytes as flags have them: "512KiB", "256MiB", "1GiB", "32768".
package bytesize

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
)

// Page is the smallest page size in bytes. Every size is a multiple of it.
const Page = 4 << 10

var units = []struct {
	suffix string
	shift  int
}{{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}}

// ParseList parses sizes such as "512KiB,256MiB,1GiB" and returns them in the order written, without duplicates. Each
// is a positive multiple of 4 KiB.
func ParseList(text string) ([]uint64, error) {
	return catalog.ParseList(text, parse)
}

func parse(text string) (uint64, error) {
	for _, unit := range slices.Backward(units) {
		digits, found := strings.CutSuffix(text, unit.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 62-unit.shift)
		if err != nil {
			break
		}
		n <<= unit.shift
		if n == 0 {
			return 0, fmt.Errorf("%q is not a positive size", text)
		}
		if n%Page != 0 {
			return 0, fmt.Errorf("%q is not a multiple of %d KiB", text, Page>>10)
		}
		return n, nil
	}
	return 0, hint.With(fmt.Errorf("%q is not a size", text), "write a number of bytes, or of KiB, MiB or GiB, as in 256MiB")
}

// Format formats a size for ParseList: in the largest unit that divides it, or as a plain number.
func Format(bytes uint64) string {
	for _, unit := range slices.Backward(units) {
		if bytes != 0 && bytes%(1<<unit.shift) == 0 {
			return strconv.FormatUint(bytes>>unit.shift, 10) + unit.suffix
		}
	}
	return strconv.FormatUint(bytes, 10)
}
