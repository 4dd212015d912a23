package result

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/hint"
)

// WarningOf makes a warning of an error, with the hint that the error carries.
func WarningOf(code, what string, err error) Warning {
	return Warning{Code: code, Message: fmt.Sprintf("%s: %v", what, err), Hint: hint.Of(err)}
}

// OddMachine makes warnings of the messages about odd or missing kernel files (topology.Machine.Warnings).
func OddMachine(messages []string) []Warning {
	warnings := make([]Warning, len(messages))
	for i, message := range messages {
		warnings[i] = Warning{Code: "odd-machine", Message: message}
	}
	return warnings
}

// OneEach joins the warnings of one kind: they have the same code and hint, and the same words up to a colon.
func OneEach(warnings []Warning) (kinds []Warning) {
	for _, w := range warnings {
		what, which, found := strings.Cut(w.Message, ": ")
		i := slices.IndexFunc(kinds, func(k Warning) bool {
			return found && k.Code == w.Code && k.Hint == w.Hint && strings.HasPrefix(k.Message, what+": ")
		})
		if i < 0 {
			kinds = append(kinds, w)
		} else {
			kinds[i].Message += "; " + which
		}
	}
	return kinds
}
