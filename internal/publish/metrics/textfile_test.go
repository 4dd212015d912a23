package metrics

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/files/output"
	"gorun/internal/record/result"
)

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	return files
}

// keep writes the textfile like a run with --metrics-textfile.
func keep(t *testing.T, e *Exporter, path string) (closing func() error) {
	t.Helper()
	file, err := output.Opener{}.Open(t.Context(), output.Named{Flag: "metrics-textfile", Path: path})
	require.NoError(t, err)
	return e.KeepTextfile(file)
}

func TestTextfile(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "gorun.prom")
		var tested atomic.Uint64
		e := NewExporter(func() result.State { return result.State{NumbersTested: tested.Load()} }, fixedInfo)
		closing := keep(t, e, path)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(text), "gorun_finished 0\n", "at once")

		tested.Store(1)
		time.Sleep(textfileEvery)
		synctest.Wait()
		text, err = os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(text), "gorun_numbers_tested_total 1\n")

		tested.Store(2)
		require.NoError(t, closing())
		require.NoError(t, closing(), "a second time is the first")
		text, err = os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, exposition(t, e), string(text))
		assert.Contains(t, string(text), "gorun_numbers_tested_total 2\n")
		assert.NotContains(t, string(text), "go_goroutines", "node_exporter has its own")
		assert.Equal(t, []string{filepath.Join(dir, "gorun.prom")}, filesIn(t, dir))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o644), info.Mode(), "node_exporter is another user")
	})
}

// Standard output has the metrics once, at the end.
func TestTextfileOnStdout(t *testing.T) {
	var out bytes.Buffer
	file, err := output.Opener{Stdout: &out}.Open(t.Context(), output.Named{Flag: "metrics-textfile", Path: "-"})
	require.NoError(t, err)
	e := NewExporter(fixedState, fixedInfo)
	closing := e.KeepTextfile(file)
	assert.Empty(t, out.String())
	require.NoError(t, closing())
	assert.Equal(t, exposition(t, e), out.String())
}

// A directory that is removed and created again gets the file again. The error is that of the last write.
func TestTextfileGoesOnTrying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "metrics")
		require.NoError(t, os.Mkdir(dir, 0o755))
		closing := keep(t, NewExporter(fixedState, fixedInfo), filepath.Join(dir, "gorun.prom"))
		require.NoError(t, os.RemoveAll(dir))
		time.Sleep(2 * textfileEvery)
		synctest.Wait()
		require.NoError(t, os.Mkdir(dir, 0o755))
		time.Sleep(textfileEvery)
		synctest.Wait()
		assert.Equal(t, []string{filepath.Join(dir, "gorun.prom")}, filesIn(t, dir))
		require.NoError(t, os.RemoveAll(dir))
		err := closing()
		require.ErrorContains(t, err, "cannot write --metrics-textfile ")
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// node_exporter reads all files of a directory together: it rejects equal series, and families with another help or type.
func TestTextfilesOfTwoRuns(t *testing.T) {
	families, series := map[string]string{}, map[string]string{}
	for _, run := range []string{"a", "b", ""} { // a file that is named .prom has no label
		info := fixedInfo
		info.Run = run
		path := filepath.Join(t.TempDir(), run+".prom")
		require.NoError(t, keep(t, NewExporter(fixedState, info), path)())
		text, err := os.Open(path)
		require.NoError(t, err)
		defer text.Close()
		parser := expfmt.NewTextParser(model.UTF8Validation)
		read, err := parser.TextToMetricFamilies(text)
		require.NoError(t, err)
		require.Len(t, read, len(Families))
		for name, family := range read {
			is := family.GetType().String() + " " + family.GetHelp()
			require.Equal(t, cmp.Or(families[name], is), is, name)
			families[name] = is
			for _, metric := range family.GetMetric() {
				labels := fmt.Sprint(name, metric.GetLabel())
				require.NotContains(t, series, labels, "in %s.prom", run)
				series[labels] = run
				require.Equal(t, run != "", strings.Contains(labels, `name:"run"`), labels)
			}
		}
	}
}
