package pair

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/linux"
)

// The intervals follow each other, have the CPU time that each process used, and end when a process does. The clock of the
// intervals is a fake one, and that of CPU time is real.
func TestWatch(t *testing.T) {
	const every = 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		ends := exec.Command("cat")
		in, err := ends.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, ends.Start())
		pids := []int{os.Getpid(), ends.Process.Pid}
		used := func(pid int) float64 {
			is, err := linux.ProcessCPUTime(pid)
			require.NoError(t, err)
			return is.Seconds()
		}
		before := []float64{used(pids[0]), used(pids[1])}
		stop := watch(pids, every)
		time.Sleep(4*every + every/2)
		synctest.Wait()
		after := []float64{used(pids[0]), used(pids[1])}
		require.NoError(t, in.Close())
		require.NoError(t, ends.Wait())
		time.Sleep(3 * every)
		intervals := stop()
		require.Len(t, intervals, 4)
		sums := make([]float64, 2)
		for i, interval := range intervals {
			assert.InDelta(t, every.Seconds(), interval.Seconds, 1e-12)
			assert.InDelta(t, float64(i+1)*every.Seconds(), interval.EndSeconds, 1e-12)
			require.Len(t, interval.CPUShares, 2)
			for p, share := range interval.CPUShares {
				assert.GreaterOrEqual(t, share, 0.0)
				sums[p] += share * interval.Seconds
			}
		}
		assert.Positive(t, sums[0], "this process took the intervals")
		for p := range pids {
			assert.LessOrEqual(t, sums[p], after[p]-before[p]+1e-9)
		}
	})
}
