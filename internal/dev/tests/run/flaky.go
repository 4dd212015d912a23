package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gorun/internal/kernel/linux"
)

// A condition is a state of the machine, or of the user, in which the tests must pass.
type condition struct {
	name string
	// begin prepares the condition, and returns the command that starts each test binary (go test -exec; nil: none), and a function
	// that ends the condition.
	begin func() (exec []string, end func() error, err error)
	env   []string // variables of the tests; one that begin sets may be named as $NAME
	user  bool     // an ordinary user builds and runs the tests, in a copy of the sources
}

var conditions = []condition{
	{name: "quiet", begin: nothing},
	{name: "busy", begin: func() ([]string, func() error, error) { return busy(2*runtime.NumCPU(), loop...) }},
	{name: "one-cpu", begin: func() ([]string, func() error, error) { _, end, err := nothing(); return oneCPU, end, err }},
	{name: "half-cpu", begin: halfCPU},
	{name: "user", begin: nothing, user: true},
	{name: "odd-surroundings", begin: odd, env: []string{
		"TMPDIR=$ODD/a b/tmp", "HOME=/proc", "GOFLAGS=-trimpath -tags=odd", "LC_ALL=tr_TR.UTF-8", "LANG=de_DE@euro", "LANGUAGE=de", "TZ=Asia/Kathmandu",
		"COLUMNS=20", "NO_COLOR=1", "TERM=dumb", "GOCACHE=$GOCACHE", "GOMODCACHE=$GOMODCACHE", "GOPROXY=off",
	}},
	{name: "pace-0.1", begin: nothing, env: []string{"GORUN_TEST_PACE=0.1"}},
	{name: "pace-10", begin: nothing, env: []string{"GORUN_TEST_PACE=10"}},
}

// layers are the make targets of the layers, with the tests that each runs.
var layers = []struct{ target, tests string }{{"test", "."}, {"test-live", "^TestLive"}}

func nothing() ([]string, func() error, error) { return nil, func() error { return nil }, nil }

// odd makes surroundings that no test may trust, below a temporary folder: a temporary folder whose path has a space, with a module, a
// workspace and a repository above it; files that nobody else may read. The variables of the condition name it, a home directory in which
// nobody may write, and a language, a time zone and a terminal that are not those of most.
func odd() ([]string, func() error, error) {
	dir, err := os.MkdirTemp("", "gorun-odd-")
	if err != nil {
		return nil, nil, err
	}
	end := func() error { return os.RemoveAll(dir) }
	err = os.MkdirAll(filepath.Join(dir, "a b", "tmp"), 0o700)
	for name, text := range map[string]string{
		"go.mod": "module odd\n\ngo 1.24\n", "go.work": "go 1.24\n\nuse .\n", ".git/HEAD": "ref: refs/heads/odd\n", ".git/config": "",
		".git/objects/x": "", ".git/refs/x": "",
	} {
		path := filepath.Join(dir, "a b", name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	err = errors.Join(err, os.Setenv("ODD", dir))
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // they are in the home directory
		value, failed := exec.Command("go", "env", name).Output()
		err = errors.Join(err, failed, os.Setenv(name, strings.TrimSpace(string(value))))
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return []string{"sh", "-c", `'umask 077 && exec "$@"'`, "sh"}, end, nil
}

// oneCPU is the command that starts a program on CPU 0.
var oneCPU = []string{"taskset", "-c", "0"}

// loop is a command that is busy until it is killed.
var loop = []string{"sh", "-c", "while :; do :; done"}

// busy starts n commands, which end with the condition, or with this process.
func busy(n int, command ...string) ([]string, func() error, error) {
	var all []*exec.Cmd
	end := func() error {
		for _, cmd := range all {
			_ = cmd.Process.Kill() // it has not ended before
			_ = cmd.Wait()
		}
		return nil
	}
	for range n {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.SysProcAttr = linux.ChildAttr()
		if err := cmd.Start(); err != nil {
			return nil, nil, errors.Join(err, end())
		}
		all = append(all, cmd)
	}
	return nil, end, nil
}

// quotas are the files of a control group's quota, of version 1 and 2, below the root of all groups, and 50 ms in 100 ms for each.
var quotas = []struct{ root, file, half string }{
	{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"},
	{"/sys/fs/cgroup", "cpu.max", "50000 100000"},
}

// halfCPU gives the tests half of a CPU, by a control group. Where no group can be made, they share CPU 0 with a program that is
// always busy.
func halfCPU() ([]string, func() error, error) {
	for _, q := range quotas {
		dir := fmt.Sprintf("%s/gorun-flaky-%d", q.root, os.Getpid())
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		// Not O_CREATE: where version 1 is mounted, /sys/fs/cgroup is a tmpfs, in which any file could be written.
		file, err := os.OpenFile(filepath.Join(dir, q.file), os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteString(q.half)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			_ = os.Remove(dir)
			continue
		}
		enter := fmt.Sprintf(`echo $$ >%s/cgroup.procs && exec "$@"`, dir)
		return []string{"sh", "-c", "'" + enter + "'", "sh"}, func() error { return os.Remove(dir) }, nil
	}
	_, end, err := busy(1, slices.Concat(oneCPU, loop)...)
	return oneCPU, end, err
}

// outcome is the result of one round of a layer under a condition: a line of the file of results.
type outcome struct {
	Commit, Tests, Condition, Layer string
	Round                           int
	Passed, Skipped                 int
	Failed                          []string
	Seconds                         float64
}

// key is what is done once.
func (o outcome) key() string { return fmt.Sprint(o.Commit, o.Tests, o.Condition, o.Layer, o.Round) }

// flaky runs the layers again and again under each condition, appends the outcomes to a file, and prints a table of all that the file
// has. It begins with the first round that the file does not have.
func flaky(args []string) error {
	set := flag.NewFlagSet("flaky", flag.ContinueOnError)
	file := set.String("results", "flaky.jsonl", "")
	rounds := set.Int("rounds", 1, "")
	tests := set.String("tests", "", "a regular expression: these tests only")
	names := set.String("conditions", "quiet busy one-cpu half-cpu user odd-surroundings", "")
	if err := set.Parse(args); err != nil {
		return err
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return fmt.Errorf("git describe: %w", err)
	}
	all, err := outcomes(*file)
	if err != nil {
		return err
	}
	for round := range *rounds {
		for _, c := range conditions {
			for _, layer := range layers {
				o := outcome{
					Commit: strings.TrimSpace(string(commit)), Tests: cmp.Or(*tests, layer.tests), Condition: c.name, Layer: layer.target, Round: round,
				}
				had := slices.ContainsFunc(all, func(other outcome) bool { return other.key() == o.key() })
				if had || !slices.Contains(strings.Fields(*names), c.name) {
					continue
				}
				fmt.Printf("\n== round %d: %s, %s\n", round+1, c.name, layer.target)
				if err := c.run(&o); err != nil {
					return err
				}
				if err := appendOutcome(*file, o); err != nil {
					return err
				}
				all = append(all, o)
			}
		}
	}
	return table(os.Stdout, all)
}

// run runs a layer under the condition.
func (c condition) run(o *outcome) (err error) {
	wrapper, end, err := c.begin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	args := []string{"-count=1", "-timeout=5h", "-run", o.Tests, "./..."}
	if wrapper != nil {
		args = append([]string{"-exec", strings.Join(wrapper, " ")}, args...)
	}
	cmd := goTest(args...)
	cmd.Env = append(os.Environ(), "GORUN_TEST="+o.Layer)
	for _, variable := range c.env {
		cmd.Env = append(cmd.Env, os.ExpandEnv(variable))
	}
	if c.user {
		if err := asUser(cmd); err != nil {
			return err
		}
	}
	begun := time.Now()
	r := newReport(os.Stdout)
	ended := r.run(cmd)
	o.Passed, o.Skipped, o.Failed, o.Seconds = r.passed, r.skipped, r.failed, time.Since(begun).Seconds()
	if ended != nil && len(o.Failed) == 0 {
		o.Failed = []string{"go test: " + ended.Error()}
	}
	return nil
}

// asUser makes the command run as the user nobody, in a copy of the committed sources with all modules, which nobody may write. The
// copy of a commit is kept, with its build cache.
func asUser(cmd *exec.Cmd) error {
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("git rev-parse: %w", err)
	}
	dir := filepath.Join(os.TempDir(), "gorun-flaky-"+strings.TrimSpace(string(head)))
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		script := `set -e; mkdir "$0"; git archive HEAD | tar -x -C "$0"; cd "$0"; go mod vendor; chown -R nobody "$0"`
		if out, err := exec.Command("sh", "-c", script, dir).CombinedOutput(); err != nil {
			return fmt.Errorf("copy the sources to %s: %w: %s", dir, err, out)
		}
	}
	cmd.Dir = dir
	cmd.Args = append([]string{
		"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=" + dir, "GOTOOLCHAIN=local",
	}, cmd.Args...)
	cmd.Path, err = exec.LookPath("setpriv")
	return err
}

// outcomes reads a file of results; there may be none yet.
func outcomes(file string) (all []outcome, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(text) {
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, o)
	}
	return all, err
}

func appendOutcome(file string, o outcome) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return errors.Join(err, out.Close())
}

// table prints a row for each layer under each condition, and each test that failed. It returns an error if one did.
func table(w io.Writer, all []outcome) error {
	type group struct{ tests, condition, layer string }
	groups := map[group][]outcome{}
	for _, o := range all {
		g := group{o.Tests, o.Condition, o.Layer}
		groups[g] = append(groups[g], o)
	}
	byName := func(a, b group) int {
		return cmp.Or(cmp.Compare(a.tests, b.tests), cmp.Compare(a.condition, b.condition), cmp.Compare(a.layer, b.layer))
	}
	rows := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "\ncondition\tlayer\trounds\tpassed\tfailed\tskipped\tseconds a round\ttests")
	failed := map[string]int{}
	for _, g := range slices.SortedFunc(maps.Keys(groups), byName) {
		var sum outcome
		for _, o := range groups[g] {
			sum.Passed, sum.Skipped, sum.Seconds = sum.Passed+o.Passed, sum.Skipped+o.Skipped, sum.Seconds+o.Seconds
			sum.Failed = append(sum.Failed, o.Failed...)
		}
		for _, test := range sum.Failed {
			failed[g.condition+": "+test]++
		}
		n := len(groups[g])
		fmt.Fprintf(rows, "%s\t%s\t%d\t%d\t%d\t%d\t%.0f\t%s\n", g.condition, g.layer, n, sum.Passed, len(sum.Failed), sum.Skipped,
			sum.Seconds/float64(n), g.tests)
	}
	if err := rows.Flush(); err != nil {
		return err
	}
	for _, test := range slices.Sorted(maps.Keys(failed)) {
		fmt.Fprintf(w, "failed %d times: %s\n", failed[test], test)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d tests failed", len(failed))
	}
	return nil
}
