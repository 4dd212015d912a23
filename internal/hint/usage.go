package hint

import (
	"errors"
	"fmt"
)

// usage is wrong use.
type usage struct{ error }

func (e usage) Unwrap() error { return e.error }

// Usage marks an error as wrong use of the command line: exit code 2. nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usage{err}
}

// Usagef makes an error of wrong use.
func Usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// IsUsage reports whether an error is one of wrong use.
func IsUsage(err error) bool { return errors.As(err, new(usage)) }
