package report

import (
	"regexp"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
)

// anonymous copies inputs without what identifies their machines: the host's name, the boot and the kernel's command line,
// also where other texts of the runs mention them.
func anonymous(inputs []Input) []Input {
	var known []string
	for _, in := range inputs {
		host := in.Run.Host
		if host.Hostname != "" {
			known = append(known, `\b`+regexp.QuoteMeta(host.Hostname)+`\b`)
		}
		for _, text := range []string{host.BootID, host.CommandLine} {
			if text != "" {
				known = append(known, regexp.QuoteMeta(text))
			}
		}
	}
	hidden := func(text string) string { return text }
	if len(known) > 0 {
		pattern := regexp.MustCompile(strings.Join(known, "|"))
		hidden = func(text string) string { return pattern.ReplaceAllLiteralString(text, "(hidden)") }
	}
	out := make([]Input, len(inputs))
	for i, in := range inputs {
		out[i] = Input{File: hidden(in.File), Run: anonymousRun(in.Run, hidden), Ended: in.Ended}
	}
	return out
}

func anonymousRun(run *result.Run, hidden func(string) string) *result.Run {
	copied := *term.Map(run, hidden)
	// A host may have the name of an experiment.
	copied.Schema, copied.Experiment = run.Schema, run.Experiment
	copied.Host.Hostname, copied.Host.BootID, copied.Host.CommandLine = "", "", ""
	return &copied
}
