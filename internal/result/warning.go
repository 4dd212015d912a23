package result

import (
	"fmt"

	"gorun/internal/hint"
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
