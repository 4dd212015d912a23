package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/shell"
	"gorun/internal/dev/tests"
)

// bashCompletion has the functions that the script of gorun needs.
const bashCompletion = "/usr/share/bash-completion/bash_completion"

// completed has the completions of the last word of each line, as bash shows them: after a colon only the rest of a word.
var completed = []struct{ line, want string }{
	{"gorun contend --op x", "xadd xchg"},
	{"gorun contend --op xadd,xc", "xadd,xchg"},
	{"gorun contend --op xadd,x", "xadd,xchg"}, // not xadd again
	{"gorun contend --op=xadd,lf", "xadd,lfence"},
	{"gorun contend --load cpu-i", "cpu-increase"},
	{"gorun matrix primes --method brute,m", "brute,modulo"},
	{"gorun primes --method brute,m", ""}, // a plain run has one method
	{"gorun numa --access random,s", "random,sequential"},
	{"gorun exec --placements unbound,one-c", "unbound,one-cpu"},
	{"gorun matrix primes --fail-on slower,fa", "slower,faster"},
	{"gorun matrix primes --pin-cpus one-p", "one-per-core"},
	{"gorun ab --placement unbound,one-c", "unbound,one-cpu"},
	{"gorun live --vary pl", "placement="},
	{"gorun live --vary placement=as-is,one-c", "as-is,one-cpu"}, // what follows "="
	{"gorun bench --vary sched=", "other batch idle fifo:P rr:P"},
	{"gorun bench --base the-b", "the-branch"},
	{"gorun compare a.jsonl b.jsonl --across kernel,gom", "kernel,gomaxprocs"},
	{"gorun primes --cpus one-p", "one-per-core"},
	{"gorun primes --pin-cpus all,node", "all,node:"},
	{"gorun exec -- my-p", "my-program"},
	{"gorun exec --nice 3 my-p", "my-program"},
	{"gorun matrix exec --nice 1,2 -- my-p", "my-program"},
	{"gorun ab my-p", "my-program"},
	{"gorun pair ", ""},
	{"gorun help verd", "verdicts"},
	{"gorun help cont", "contend"},
	{"gorun help matrix pri", "primes"},
}

// bash completes command lines by the script that gorun writes for it.
func TestBashCompletion(t *testing.T) {
	tests.Tools(t, "bash", "git")
	if _, err := os.Stat(bashCompletion); err != nil {
		t.Skip("needs bash-completion (Debian: apt-get install bash-completion)")
	}
	programs := filepath.Dir(asGorun(t))
	require.NoError(t, os.Mkdir(filepath.Join(programs, "my-place"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(programs, "my-program"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(programs, "my-page"), nil, 0o644)) // nobody may execute it
	here := t.TempDir()
	for _, args := range [][]string{
		{"init", "--quiet"}, {"-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "--allow-empty", "-m", "x"}, {"branch", "the-branch"},
	} {
		git := exec.Command("git", args...)
		git.Dir = here
		require.NoError(t, git.Run())
	}
	script := `. ` + bashCompletion + `
. <(gorun completion bash)
try() {
  COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9 COMP_WORDS=() COMPREPLY=()
  local rest=${1//:/ : } # a colon is a word of its own
  rest=${rest//=/ = }
  COMP_WORDS=($rest)
  [[ $1 != *[\ ] ]] || COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  __start_gorun gorun "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
  echo "${COMPREPLY[*]}"
}
`
	for _, c := range completed {
		script += fmt.Sprintf("try '%s'\n", c.line)
	}
	cmd := exec.Command("bash", "--norc", "-c", script)
	cmd.Dir = here
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "COLUMNS=") // in a narrow terminal, descriptions are added
	out, err := cmd.Output()
	require.NoError(t, err)
	got := strings.Split(string(out), "\n")
	require.Len(t, got, len(completed)+1)
	for i, c := range completed {
		assert.Equal(t, c.want, strings.ReplaceAll(got[i], `\`, ""), "%s", c.line) // bash quotes a comma
	}
}

// Without the package of the functions that it calls, the script for bash names it.
func TestBashCompletionNeedsItsPackage(t *testing.T) {
	tests.Tools(t, "bash")
	file := filepath.Join(t.TempDir(), "gorun")
	require.NoError(t, os.WriteFile(file, []byte(dryRun(t, []string{"completion", "bash"}).stdout), 0o644))
	cmd := exec.Command("bash", "--norc", "-c", `. "$0"; COMP_WORDS=(gorun "") COMP_CWORD=1; __start_gorun`, file)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	assert.Error(t, err)
	assert.Equal(t, "\ngorun: completion needs the package bash-completion\n", string(out))
}

// Values of flags are completed, and the shell completes files: for a program with a slash, the arguments of a program, and a journal.
func TestCompletions(t *testing.T) {
	for line, want := range map[string]string{
		"primes --method ''":                "brute\t.*\ntrial\t.*:4",
		"primes --method brute --kernel ''": "auto\t.*\ngo\t.*:4",
		"primes --format ''":                "table\n.*benchfmt\n:4",
		"primes --sched f":                  ".*fifo:P\n.*:4",
		"primes --cpus no":                  "node:\n:6",
		"primes --cpus node:":               "node:0.*:6",
		"primes --cpus 0,co":                "0,core:\n:6",
		"primes --pin-cpus all":             "all\n:6",
		"matrix primes --cpus no":           "node:\n:6",
		"matrix primes --cpus '0 no'":       "0 node:\n:6",
		"ab --placement one-c":              "one-cpu\t.*:6",
		"live --vary x":                     "placement=\n.*:6",
		"live --vary nice=":                 ":6",
		"bench --vary sched=idle,f":         "sched=idle,fifo:P\n:6",
		"exec -- ./pro":                     ":0",
		"exec -- sort in":                   ":0",
		"report r":                          "jsonl\njson\n:8",
		"metrics --write mo":                ":16",
		"primes --out r":                    "jsonl\n:8",
	} {
		args, err := shell.Split("__complete " + line)
		require.NoError(t, err)
		assert.Regexp(t, "(?s)^"+want+"\n$", dryRun(t, args).stdout, line)
	}
}
