package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux/linuxtest"
	"gorun/internal/place/subject/programtest"
)

var update = flag.Bool("update", false, "write the expected outputs in testdata/script, and tables of help topics, anew")

// atOnce makes processes with the race detector end immediately, without their usual sleep of a second.
const atOnce = "atexit_sleep_ms=0"

// The test binary is gorun itself when a script calls it.
func TestMain(m *testing.M) {
	programtest.Become()
	if raced {
		os.Setenv("GORACE", atOnce)
	}
	if name := filepath.Base(os.Args[0]); name != "gorun" && name != "without" {
		notIgnored()
	}
	testscript.Main(m, map[string]func(){"gorun": main, "without": linuxtest.Main})
}

// notIgnored makes SIGHUP and SIGINT end the programs that the tests start, even if nohup(1) or a shell in the background
// started the tests: a new program inherits signals that are ignored, but not those that are caught (execve(2)).
func notIgnored() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// goCache returns the cache of go build, so that scripts do not compile the standard library anew.
var goCache = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOCACHE").Output() // without it, the script's go command reports the error
	return strings.TrimSpace(string(out))
})

// TestScripts runs the command line as a user does; each script under testdata/script is one topic.
func TestScripts(t *testing.T) {
	testscript.Run(t, scriptParams(t, "../../testdata/script"))
	// A script leaves out lines whose condition is false without a word.
	t.Run("lines with cpus", func(t *testing.T) { tests.CPUs(t, 2) })
	t.Run("lines without root", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("needs an ordinary user")
		}
	})
}

// scriptParams returns what the scripts of a directory need.
func scriptParams(t *testing.T, dir string) testscript.Params {
	hosts, err := filepath.Abs("../../testdata/hosts")
	if err != nil {
		t.Fatal(err)
	}
	allowed := allowed(t)
	return testscript.Params{
		Dir:           dir,
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("HOSTS", hosts)
			env.Setenv("ESC", "\x1b")
			env.Setenv("CPU", strconv.Itoa(allowed.First())) // one that we have
			env.Setenv("PAIR", cpuset.Of(allowed.List()[:min(2, allowed.Len())]...).String())
			env.Setenv("XDG_CACHE_HOME", env.WorkDir)
			env.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(env.WorkDir)) // there may be a repository above the temporary folder
			env.Setenv("GOCACHE", goCache())
			return nil
		},
		Condition: func(what string) (bool, error) {
			switch what {
			case "root": // which may trace
				return os.Geteuid() == 0, nil
			case "cpus": // more than one
				return allowed.Len() > 1, nil
			case "pidns": // which hide the processes of this machine
				return exec.Command("unshare", "-Urpf", "--mount-proc", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", what)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"jq":    jq,
			"exits": exits,
		},
	}
}
