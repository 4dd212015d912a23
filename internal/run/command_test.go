package run

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
)

var errBecame = errors.New("this process would be another program now")

// place holds the flags of an experiment that can compare their values.
type place struct{ name, names string }

func (p *place) Register(set *experiment.FlagSet) {
	set.StringVar(&p.name, "place", "", "")
	set.StringVar(&p.names, "places", "", "")
}

func (*place) Validate() error { return nil }

func (p *place) Resolve(m experiment.Machine) (r experiment.Resolution[string], err error) {
	if m.Machine == nil && p.name != "" {
		return r, errors.New("no machine")
	}
	r.Spec, r.Exec = map[string]string{"place": p.name}, func([]string) error { return errBecame }
	if p.names == "" {
		r.Cells = []experiment.Cell[string]{{Do: p.name}}
		return r, nil
	}
	for name := range strings.SplitSeq(p.names, ",") {
		r.Cells = append(r.Cells, experiment.Cell[string]{Do: name, Row: experiment.Row{Name: "--place " + name, Flags: map[string]string{"place": name}}})
	}
	return r, nil
}

// visit executes a command line of such an experiment, on a captured machine if one is named.
func visit(t *testing.T, host string, args ...string) (stdout string, err error) {
	t.Helper()
	x := experiment.Define(experiment.Definition[string]{
		Text: experiment.Text{Name: "visit"},
		Traits: experiment.Traits{
			Place: experiment.Started, SharedFlags: []string{"places"},
			Once: &experiment.Once{
				Unless: "places", Several: func(text func(string) string) bool { return text("places") != "" },
				Needs: func(text func(string) string) bool { return text("place") != "" },
			},
		},
		New: func() experiment.Flags[string] { return &place{} },
		Open: func(experiment.Environment, []string) (experiment.Sampler[string], error) {
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
	said, err := visit(t, "")
	require.ErrorIs(t, err, errBecame)
	assert.Empty(t, said)
	_, err = visit(t, "hybrid", "--place", "here")
	require.ErrorIs(t, err, errBecame)
	said, err = visit(t, "", "--place", "here")
	require.ErrorIs(t, err, errBecame)
	assert.Contains(t, said, "gorun: warning: open sys/devices/system/cpu: file does not exist; only the CPUs of the")
	_, err = visit(t, "", "--format", "json")
	require.NotErrorIs(t, err, errBecame, "a result is asked for")
}

func TestOnceRefusesWhatIsForComparing(t *testing.T) {
	for _, flag := range []string{"--samples=3", "--resume", "--metrics-linger=1s"} {
		_, err := visit(t, "", flag)
		require.Error(t, err, flag)
		assert.True(t, hint.IsUsage(err), flag)
		assert.Equal(t, "add --places auto, or use gorun matrix visit", hint.Of(err), flag)
	}
}

func TestComparedOnceIsAMatrix(t *testing.T) {
	out, err := visit(t, "", "--places", "b,a", "--cpus", "0-3", "--dry-run", "--sysroot", "../../testdata/hosts/hybrid.txtar")
	require.NoError(t, err)
	for _, cell := range []string{"a", "b"} {
		assert.Contains(t, out, "gorun visit --place="+cell+" --cpus=0-3")
	}
}
