package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/show/view"
	"gorun/internal/start/launch"
	"gorun/internal/stats"
)

// exits is the value of --ignore-failure: the exit codes that are not failures.
type exits []int

// anyExit is the value that accepts all exit codes. A matrix file has it as true.
const anyExit = "any"

const lastExit = 255

func (e *exits) Set(text string) error {
	*e = nil
	switch text {
	case "false":
		return nil
	case anyExit, "true":
		for code := 1; code <= lastExit; code++ {
			*e = append(*e, code)
		}
		return nil
	}
	for field := range strings.SplitSeq(text, ",") {
		code, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || code < 1 || code > lastExit {
			return hint.With(fmt.Errorf("%q is not an exit code of a failure, 1 to %d", field, lastExit),
				"--ignore-failure=1,3 accepts these codes, 137 is signal 9, and without a value any is accepted")
		}
		*e = append(*e, code)
	}
	return nil
}

func (e *exits) String() string {
	if len(*e) == lastExit {
		return anyExit
	}
	var codes []string
	for _, code := range *e {
		codes = append(codes, strconv.Itoa(code))
	}
	return strings.Join(codes, ",")
}

func (e *exits) Type() string { return "codes" }

// ending is how a command ended.
type ending struct{ code, signal int }

func (e ending) String() string {
	if e.signal == 0 {
		return strconv.Itoa(e.code)
	}
	return fmt.Sprintf("%d (signal %d)", e.code, e.signal)
}

// endings counts how a command ended in the samples that are judged: other than with 0 only if that was accepted.
type endings map[ending]int

func (e endings) count() (failed, all int) {
	for how, count := range e {
		all += count
		if how.code != 0 {
			failed += count
		}
	}
	return failed, all
}

// warning says how often the failure of a command was accepted; false: it never failed.
func (e endings) warning(name string) (w result.Warning, ok bool) {
	failed, all := e.count()
	if failed == 0 {
		return w, false
	}
	kinds := slices.SortedFunc(maps.Keys(e), func(a, b ending) int { // 0 comes last
		return cmp.Or(cmp.Compare(b.code, a.code), cmp.Compare(b.signal, a.signal))
	})
	text := fmt.Sprintf("%s ended with exit code %v in %d of %s", name, kinds[0], e[kinds[0]], units.Things(all, "sample"))
	if len(kinds) == 1 {
		return result.Warning{Code: "accepted-failures", Message: text + ": its times are those of failures"}, true
	}
	for _, how := range kinds[1:] {
		text += fmt.Sprintf(", with %v in %d", how, e[how])
	}
	return result.Warning{
		Code: "mixed-failures", Message: text + ": its times are of different kinds, and its verdict mixes them",
		Hint: "make the command end alike each time, or leave --ignore-failure out: then samples that failed are not judged",
	}, true
}

// failures finds which commands failed more often than what they are compared with, and warns about each command whose
// failures were accepted.
func failures(run *result.Run) (findings []result.Finding, warnings []result.Warning) {
	if run.Matrix == nil {
		return nil, nil // gorun ends with the command's exit code
	}
	of := make([]endings, len(run.Cells))
	for i := range of {
		of[i] = endings{}
	}
	for _, s := range run.Samples.Each() {
		if v, ok := result.Typed[Figures](s); ok && s.Good() && view.CellOf(run, s) != nil {
			of[s.Cell][ending{v.ExitCode, v.Signal}]++
		}
	}
	names := view.CellNames(run)
	comparisons := 0
	for i := range of {
		if w, ok := of[i].warning(names[i]); ok {
			warnings = append(warnings, w)
		}
		if run.Against(i) != i {
			comparisons++
		}
	}
	for i := range of {
		against := run.Against(i)
		failed, all := of[i].count()
		failedThere, allThere := of[against].count()
		p := stats.Fisher(failed, all, failedThere, allThere)
		if i == against || p > alpha/float64(comparisons) {
			continue
		}
		share, shareThere := float64(failed)/float64(all), float64(failedThere)/float64(allThere)
		word := "more"
		if share < shareThere {
			word = "less"
		}
		findings = append(findings, result.Finding{
			Code: "failures-differ", Value: share - shareThere,
			Message: fmt.Sprintf("%s failed %s often than %s: in %d of %s against %d of %d (Fisher's exact test: p = %.2g)",
				names[i], word, names[against], failed, units.Things(all, "sample"), failedThere, allThere, p),
		})
	}
	return findings, warnings
}

// alpha is the chance that any finding of a run about the failures is false.
const alpha = 0.05

// howFailed describes how a command failed, with the end of its stderr if that was kept; "" if it did not fail. The accepted exit
// codes are not failures. copies: a process is called by its number.
func howFailed(o launch.Outcome, copies bool, accepted exits) string {
	how := ""
	failed := func(e launch.Ending) bool {
		return e.ExitCode != 0 && !e.Late && !slices.Contains(accepted, e.ExitCode)
	}
	who, of := "the command", o.Ending
	if i := slices.IndexFunc(o.Members, failed); i >= 0 && copies {
		who, of = fmt.Sprintf("copy %d", i), o.Members[i]
	}
	switch {
	case o.TimedOut:
		how = who + " took longer than the timeout"
	case failed(of) && of.Signal != 0:
		how = fmt.Sprintf("%s was ended by signal %d", who, of.Signal)
	case failed(of):
		how = fmt.Sprintf("%s ended with exit code %d", who, of.ExitCode)
	case len(o.Left) > 0:
		how = fmt.Sprintf("the command left processes that cannot be killed: %v", o.Left)
	default:
		return ""
	}
	if end := launch.EndOf(of.Stderr); end != "" {
		how += ": " + end
	}
	return how
}
