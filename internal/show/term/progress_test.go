package term

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"gorun/internal/record/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hungUp is a terminal that is gone, and counts what is written to it.
type hungUp struct{ writes int }

func (h *hungUp) Write([]byte) (int, error) { h.writes++; return 0, io.ErrClosedPipe }

// Time in these tests is synctest's: it stands still until every goroutine waits.
func TestProgressDrawsFourTimesASecondAndErases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		reads := 0
		p := Progress{
			What: "primes", Planned: 100000,
			Now: func() string { return "--metric \x1b[2J" },
			Live: func() result.State {
				reads++
				done := uint64(time.Since(began).Milliseconds()) * 10
				return result.State{
					NumbersTested: done, Extent: result.Extent{Samples: 5}, Totals: result.Totals{Samples: int(done / 20000)}, Threads: 13,
				}
			},
		}
		v := newVT(t, 120, 3)
		opts := Options{Terminal: true, Width: 120}
		stop := p.Start(v, opts)
		time.Sleep(drawEvery - 1)
		stop()
		assert.Zero(t, reads, "a short run leaves no trace")

		began = time.Now()
		stop = p.Start(v, opts)
		time.Sleep(2*time.Second + 100*time.Millisecond)
		synctest.Wait()
		assert.Equal(t, "primes: --metric \ufffd[2J · 20 % · 8s left · sample 2/5 · 20.0 k of 100 k numbers · 13 threads", v.lines[0])
		stop()
		stop() // a second call does nothing
		assert.Empty(t, strings.Join(v.lines, ""))
		time.Sleep(time.Minute)
		assert.Equal(t, 2*4, reads, "nothing after stop")

		stop = p.Start(v, Options{})
		time.Sleep(time.Minute)
		stop()
		assert.Equal(t, 2*4, reads, "nothing off a terminal")

		gone := &hungUp{}
		stop = p.Start(gone, opts)
		time.Sleep(time.Minute)
		stop()
		assert.Equal(t, 1, gone.writes, "a terminal that is gone is not written again")
	})
}

func TestProgressLine(t *testing.T) {
	primes := Progress{What: "primes"}
	planned := Progress{What: "primes", Planned: 4}
	named := func(now string) Progress { return Progress{What: "contend", Now: func() string { return now }} }
	taken := func(numbers uint64, taken, of int) result.State {
		return result.State{NumbersTested: numbers, Totals: result.Totals{Samples: taken}, Extent: result.Extent{Samples: of}}
	}
	for _, c := range []struct {
		progress Progress
		live     result.State
		seconds  time.Duration
		want     string
	}{
		{primes, taken(5, 0, 0), 3, "primes · 3s · 5 numbers"},
		{primes, taken(5, 1, 2), 1, "primes · 1s · sample 2/2 · 5 numbers"}, // numbers go before samples
		{planned, taken(0, 0, 1), 1, "primes · 0 % · 0 of 4 numbers"},
		{planned, taken(5, 0, 0), 1, "primes · 100 % · 0s left · 5 of 4 numbers"},
		{planned, taken(4, 2, 2), 90, "primes · 100 % · 0s left · sample 2/2 · 4 of 4 numbers"}, // after the last sample
		{Progress{What: "primes", Duration: 40 * time.Second}, taken(1, 2, 0), 10, "primes · 25 % · 30s left · sample 3 · 1 numbers"},
		{named("xadd on CPUs 0-3"), taken(0, 9, 36), 10, "contend: xadd on CPUs 0-3 · 25 % · 30s left · sample 10/36"},
		{named(""), taken(0, 0, 0), 1, "contend · 1s"},
	} {
		assert.Equal(t, c.want, c.progress.line(c.live, c.seconds*time.Second, Options{Width: 80}))
	}
}
