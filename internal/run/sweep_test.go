package run

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/tests/hosts"
)

var errBecame = errors.New("this process would be another program now")

// place holds the flags of an experiment that can compare their values.
type place struct{ name, names string }

func (p *place) Register(set *experiment.FlagSet) {
	set.StringVar(&p.name, "place", "", "")
	set.StringVar(&p.names, "places", "", "")
}

func (*place) Validate() error { return nil }

func (p *place) Resolve(m experiment.Machine) (experiment.Resolution[string], error) {
	if m.Machine == nil && p.name != "" {
		return experiment.Resolution[string]{}, errors.New("no machine")
	}
	return experiment.Resolution[string]{
		Cells:  []experiment.Cell[string]{{Do: p.name}},
		Spec:   map[string]string{"place": p.name},
		Become: func([]string) error { return errBecame },
	}, nil
}

// sweep executes a command line of such an experiment, on a captured machine if one is named.
func sweep(t *testing.T, host string, all []string, args ...string) (stdout string, err error) {
	t.Helper()
	x := experiment.Define(experiment.Definition[string]{
		Text: experiment.Text{Name: "visit"}, Place: experiment.Started, Single: []string{"places"},
		Sweep: &experiment.Sweep{Flag: "place", List: "places", All: func(experiment.Machine, func(string) string) ([]string, error) {
			return all, nil
		}},
		New: func() experiment.Flags[string] { return &place{} },
		Open: func(experiment.Setting, []string) (experiment.Sampler[string], error) {
			return nil, errors.New("it cannot be sampled")
		},
	})
	var out bytes.Buffer
	e := Env{
		Root: fstest.MapFS{}, Stdout: &out, Stderr: &out, Now: time.Now, Environ: func() []string { return nil },
	}
	if host != "" {
		e.Root = hosts.Root(t, host)
	}
	c, set := New(e, x)
	require.NoError(t, set.Parse(args))
	err = c.Run(context.Background(), nil)
	return out.String(), err
}

// A command that is executed once replaces gorun, and the machine is read only if needed.
func TestOnceReadsNoMachine(t *testing.T) {
	said, err := sweep(t, "", nil)
	require.ErrorIs(t, err, errBecame)
	assert.Empty(t, said)
	_, err = sweep(t, "hybrid", nil, "--place", "here")
	require.ErrorIs(t, err, errBecame)
	said, err = sweep(t, "", nil, "--place", "here")
	require.ErrorIs(t, err, errBecame)
	assert.Contains(t, said, "gorun: warning: open sys/devices/system/cpu: file does not exist; only the CPUs of the")
	_, err = sweep(t, "", nil, "--format", "json")
	require.NotErrorIs(t, err, errBecame, "a result is asked for")
}

func TestOnceRefusesWhatIsForComparing(t *testing.T) {
	for _, flag := range []string{"--samples=3", "--resume", "--metrics-linger=1s"} {
		_, err := sweep(t, "", nil, flag)
		require.Error(t, err, flag)
		assert.True(t, hint.IsUsage(err), flag)
		assert.Equal(t, "add --places auto, or use gorun matrix visit", hint.Of(err), flag)
	}
}

func TestSweepIsAMatrixOfItsValues(t *testing.T) {
	_, err := sweep(t, "hybrid", []string{"here"}, "--places", "auto")
	require.ErrorContains(t, err, "allow only one place, here")
	const captured = "../../testdata/hosts/hybrid.txtar"
	for values, cells := range map[string][]string{"auto": {"a", "b", "c"}, "b,a": {"b", "a"}} {
		out, err := sweep(t, "", []string{"a", "b", "c"}, "--places", values, "--cpus", "0-3", "--dry-run",
			"--sysroot", captured)
		require.NoError(t, err)
		for _, cell := range cells {
			assert.Contains(t, out, "gorun visit --place="+cell+" --cpus=0-3")
		}
	}
}
