package chart

import (
	"fmt"
	"io"

	"gorun/internal/record/result"
)

// Write writes the first of the figures that applies to the run as a file, and else the reason why there is none.
func Write(w io.Writer, run *result.Run, none error, figures ...func(run *result.Run) (Drawing, bool)) error {
	for _, figure := range figures {
		f, ok := figure(run)
		if !ok {
			continue
		}
		if _, err := io.WriteString(w, f.SVG); err != nil {
			return fmt.Errorf("cannot write the picture as SVG: %w", err)
		}
		return nil
	}
	return none
}
