package live

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/place/subject"
)

// The values of --vary become those of the flags: auto is what can matter to the program, which has the CPUs of its threads.
func TestSettings(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2") // two nodes, each of two cores with two threads
	for _, c := range []struct {
		vary    []string
		threads []cpuset.Set // of the program; nil: a captured machine has none
		want    string       // the values of a flag
		fails   string
		hint    string
	}{
		{[]string{"placement=as-is,one-cpu"}, nil, "placement as-is one-cpu", "", ""},
		{[]string{"cpus=0,1"}, nil, "placement 0 1", "", ""},
		{[]string{"cpus=0-3 4,5"}, nil, "placement 0-3 4,5", "", ""},
		{[]string{"placement=as-is", "cpus=0,1"}, nil, "placement as-is 0 1", "", ""},
		{[]string{"nice=0,5"}, nil, "nice 0 5", "", ""},
		{[]string{"placement=auto"}, nil, "placement as-is unbound one-cpu smt-siblings one-per-core one-llc spread-nodes", "", ""},
		{[]string{"placement=auto"}, []cpuset.Set{cpuset.Range(0, 7)}, "placement as-is one-cpu smt-siblings one-per-core one-llc spread-nodes", "", ""},
		{[]string{"placement=auto"}, []cpuset.Set{cpuset.Range(0, 7), cpuset.Of(0)}, "placement as-is unbound one-cpu smt-siblings one-per-core one-llc spread-nodes", "", ""},
		{[]string{"placement=0-7,auto"}, nil, "placement 0-7 as-is one-cpu smt-siblings one-per-core one-llc spread-nodes", "", ""},
		{[]string{"placement=auto"}, []cpuset.Set{cpuset.Of(3)}, "", "only one setting to compare", "CPUs 3 allow no other placement"},
		{[]string{"placement=as-is"}, nil, "", "only one setting to compare", "--vary placement=as-is,one-cpu"},
		{[]string{"nice=0"}, nil, "", "only one setting to compare", "--vary placement=auto"},
		{[]string{"placement=as-is,same-llc"}, nil, "", `no placement "same-llc" of a program that runs`, "there are as-is, unbound, one-cpu,"},
		{[]string{"placement=as-is,ecores"}, nil, "", "there is no ecores here", "there are as-is, unbound, one-cpu,"},
		{[]string{"placement=as-is,interleaved"}, nil, "", "another process's memory policy cannot be set", "--vary mems"},
		{[]string{"placement=0,77"}, nil, "", "--vary placement=0,77: CPU 77 is not present", "0-7"},
	} {
		s := &Source{vary: c.vary}
		if c.threads != nil {
			s.found = &subject.State{}
			for _, cpus := range c.threads {
				s.found.Threads = append(s.found.Threads, subject.Thread{CPUs: cpus})
				s.found.Allowed = s.found.Allowed.Union(cpus)
			}
		}
		values := map[string][]string{}
		o := experiment.Opening{
			Environment: experiment.Environment{Machine: m}, Captured: true,
			Values: func(flag string) []string { return values[flag] },
			Vary: func(text string) error {
				name, list, _ := strings.Cut(text, "=")
				values[name] = append(values[name], matrix.SplitList(list)...)
				return nil
			},
		}
		few, err := s.settings(o)
		err = cmp.Or(err, few)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails)
			assert.Contains(t, hint.Of(err), c.hint)
			continue
		}
		require.NoError(t, err, c.vary)
		flag, want, _ := strings.Cut(c.want, " ")
		assert.Equal(t, want, strings.Join(values[flag], " "), "%v", c.vary)
	}
}
