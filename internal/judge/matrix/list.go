package matrix

import (
	"strings"

	"gorun/internal/base/lazy"
)

// CommaUsage is the rule of lists for help.
const CommaUsage = `\, is a comma in a value`

// SplitList returns the values of a list that is joined by commas. A backslash makes a comma part of a value: `1\,2,3` has
// the values `1,2` and `3`. Two backslashes before a comma or at the end are one, so that a value may end in it; any
// other is as it was written.
func SplitList(text string) (values []string) {
	value := ""
	for {
		part, rest, more := strings.Cut(text, ",")
		before := strings.TrimRight(part, `\`)
		backslashes := len(part) - len(before)
		value += before + strings.Repeat(`\`, backslashes/2)
		switch odd := backslashes%2 == 1; {
		case !more && odd:
			return append(values, value+`\`)
		case !more:
			return append(values, value)
		case odd:
			value += ","
		default:
			values, value = append(values, value), ""
		}
		text = rest
	}
}

// backslashes are those that SplitList halves.
var backslashes = lazy.Regexp(`(\\+)(,|$)`)

// listed returns a value as SplitList reads it in a list.
func listed(value string) string {
	return strings.ReplaceAll(backslashes().ReplaceAllString(value, "$1$1$2"), ",", `\,`)
}

// JoinList returns the list that SplitList splits into these values.
func JoinList(values []string) string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = listed(value)
	}
	return strings.Join(list, ",")
}
