package result

import (
	"fmt"

	"gorun/internal/hint"
)

// WarningOf makes a warning of an error, with the hint that the error carries.
func WarningOf(code, what string, err error) Warning {
	return Warning{Code: code, Message: fmt.Sprintf("%s: %v", what, err), Hint: hint.Of(err)}
}
