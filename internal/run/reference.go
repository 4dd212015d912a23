package run

import (
	"fmt"
	"io"

	"gorun/internal/experiment"
	"gorun/internal/result"
)

// ReferenceFlag is the flag that shows the figures of a published text next to the run's.
const ReferenceFlag = "with-reference"

// registerReference adds the flag if the experiment has such a text.
func (o *Options) registerReference(flags *experiment.FlagSet, x experiment.Experiment) {
	if x.Reference != nil {
		flags.BoolVar(&o.withReference, ReferenceFlag, false, x.Reference.Usage)
		flags.Group(experiment.GroupShown, ReferenceFlag)
	}
}

// AddReference adds the published figures of an experiment's text to the rows of a run. It warns if there are none.
func AddReference(stderr io.Writer, x experiment.Experiment, run *result.Run) error {
	r, err := x.Reference.Of(run)
	if err != nil {
		return fmt.Errorf("--%s: %w", ReferenceFlag, err)
	}
	if len(r.Rows) == 0 {
		fmt.Fprintf(stderr, "gorun: warning: --%s: no row of this run is in the reference (%s)\n", ReferenceFlag, r.Source)
		return nil
	}
	run.Reference = r
	return nil
}
