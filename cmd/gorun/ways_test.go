package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/catalog"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cgroup/cgrouptest"
	"gorun/internal/show/apply"
)

// answers is a program that prints what the kernel says of its own setting: its CPUs and nodes, the nice value, the policy, its
// memory policy if that is bind, and GOMAXPROCS.
const answers = `sed -n "s/^\(Cpus\|Mems\)_allowed_list:./\1 /p" /proc/self/status; echo nice $(nice); ` +
	`echo policy $(cut -d " " -f 41 /proc/self/stat); grep -om1 bind:0 /proc/self/numa_maps; echo procs $GOMAXPROCS`

// TestLiveWays applies a setting in each way, by the lines that --apply prints, and reads it back.
func TestLiveWays(t *testing.T) {
	tests.Live(t)
	cpu := strconv.Itoa(tests.CPUs(t, 2)[1]) // to have all CPUs is no setting
	shell := func(t *testing.T, lines string) string {
		out, err := exec.Command("sh", "-c", lines).Output()
		require.NoError(t, err, lines)
		return string(out)
	}
	for _, way := range catalog.Names(apply.Ways[:]) {
		t.Run(way, func(t *testing.T) {
			lines := func(flags ...string) string {
				args := append(append([]string{"exec", "--dry-run", "--apply", way, "--cpus", cpu}, flags...), "--", "sh", "-c", answers)
				out, err := gorunCommand(args...).Output()
				require.NoError(t, err)
				require.NotEmpty(t, out)
				return string(out)
			}
			var got string
			want := []string{"Cpus " + cpu}
			memory := func() string {
				if _, err := os.Stat("/proc/self/numa_maps"); err != nil {
					t.Skip("needs a kernel with NUMA")
				}
				want = append(want, "bind:0")
				return "--mempolicy=bind:0"
			}
			switch way {
			case "gorun":
				got = shell(t, lines(memory(), "--nice=19", "--sched=batch", "--gomaxprocs=3"))
				want = append(want, "nice 19", "policy 3", "procs 3")
			case "taskset":
				tests.Tools(t, "taskset", "chrt")
				got = shell(t, lines("--nice=19", "--sched=batch", "--gomaxprocs=3"))
				want = append(want, "nice 19", "policy 3", "procs 3")
			case "numactl":
				tests.Tools(t, "numactl", "chrt")
				got = shell(t, lines(memory(), "--nice=19", "--sched=batch", "--gomaxprocs=3"))
				want = append(want, "nice 19", "policy 3", "procs 3")
			case "systemd":
				tests.Tools(t, "systemd-analyze")
				unit := filepath.Join(t.TempDir(), "gorun-test.service")
				text := lines("--mempolicy=bind:0", "--nice=19", "--sched=batch", "--gomaxprocs=3")
				require.NoError(t, os.WriteFile(unit, []byte(text+"ExecStart=/bin/true\n"), 0o644))
				out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
				require.NoError(t, err, "%s", out)
				assert.Empty(t, string(out))
				return
			case "docker": // a control group is what Docker makes of the options
				option := regexp.MustCompile(`--cpuset-(cpus|mems)=(\S+)`)
				cpuset := map[string]string{}
				for _, found := range option.FindAllStringSubmatch(lines("--mempolicy=bind:0"), -1) {
					cpuset[found[1]] = found[2]
				}
				group := cgrouptest.Cpuset(t, cpuset["cpus"], cpuset["mems"])
				got = shell(t, fmt.Sprintf("echo $$ > %s/cgroup.procs && %s", group, answers))
				want = append(want, "Mems 0")
			case "kubernetes":
				t.Skip("needs a cluster of Kubernetes")
			case "go":
				got = shell(t, goProgram(t, lines(memory(), "--nice=19", "--sched=batch", "--gomaxprocs=3")))
				want = append(want, "nice 19", "policy 3", "procs 3")
			default:
				t.Fatal("a way has a row here")
			}
			assert.Subset(t, strings.Split(got, "\n"), want)
		})
	}
}

// goProgram builds a program that begins with these lines, and then prints the answers.
func goProgram(t *testing.T, lines string) string {
	t.Helper()
	dir := t.TempDir()
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "golang.org/x/sys").Output()
	require.NoError(t, err)
	sums := tests.Read(t, "../../go.sum")
	var imports strings.Builder
	named := regexp.MustCompile(`(?m)^// .*Imports: (.*)$`).FindStringSubmatch(lines)
	require.NotNil(t, named)
	for name := range strings.SplitSeq(named[1], ", ") {
		fmt.Fprintf(&imports, "import %q\n", name)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.24\n\nrequire golang.org/x/sys " + string(version), "go.sum": string(sums),
		"main.go": "package main\n\nimport \"os/exec\"\n" + imports.String() + "\nfunc main() {\n" + lines +
			fmt.Sprintf("out, _ := exec.Command(\"sh\", \"-c\", %q).Output()\nos.Stdout.Write(out)\n}\n", answers),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	build := exec.Command("go", "build", "-o", "program", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "program")
}
