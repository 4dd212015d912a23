package contend

import (
	"fmt"
	"slices"
	"strings"

	"gorun/csrc"
)

// LookupVariant returns the variant of that name, or for "" the best that this machine's CPUs support; "" if the
// architecture has a single one.
func LookupVariant(name, arch string) (string, error) {
	variants := Variants(arch)
	switch {
	case name == "" && len(variants) == 0:
		return "", nil
	case name == "" && csrc.HasLSE():
		return LSE, nil
	case name == "":
		return LLSC, nil
	case !slices.Contains(variants, name):
		if len(variants) == 0 {
			return "", fmt.Errorf("%s has no variants of operations", arch)
		}
		return "", fmt.Errorf("unknown variant %q: there are %s", name, strings.Join(variants, ", "))
	}
	return name, nil
}
