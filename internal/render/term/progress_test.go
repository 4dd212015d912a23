package term

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"gorun/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// screen is a terminal that remembers each write.
type screen struct {
	mu     sync.Mutex
	writes []string
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, string(p))
	return len(p), nil
}

func (s *screen) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.writes...)
}

// hungUp is a terminal that is gone.
type hungUp struct{}

func (hungUp) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

var terminal = Options{Terminal: true, Width: 120}

// Time in these tests is synctest's: it stands still until every goroutine waits.
func TestProgressDrawsFourTimesASecondAndErases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		live := func() result.Live {
			done := uint64(time.Since(began).Milliseconds()) * 10
			samples := int(done / 20000)
			return result.Live{
				NumbersTested: done, Course: result.Course{Samples: 5}, Taken: result.Taken{Samples: samples},
				Threads: 13,
			}
		}
		out := &screen{}
		stop := Progress{What: "primes", Live: live, Planned: 100000}.Start(out, terminal)
		time.Sleep(2*time.Second + 100*time.Millisecond)
		stop()
		stop() // a second call does nothing
		seen := out.seen()
		assert.Len(t, seen, 2*4+1, "eight draws and the erasing")
		assert.Equal(t, "\r"+"primes · 2 % · 10s left · sample 1/5 · 2500 of 100 k numbers · 13 threads"+clearRest, seen[0])
		last := "primes · 20 % · 8s left · sample 2/5 · 20.0 k of 100 k numbers · 13 threads"
		assert.Equal(t, "\r"+last+clearRest, seen[7])
		assert.Equal(t, "\r"+clearRest, seen[8])

		time.Sleep(time.Minute)
		assert.Len(t, out.seen(), len(seen), "nothing after stop")
	})
}

func TestProgressLeavesNoTraceOfAShortRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		stop := Progress{Live: func() result.Live { return result.Live{} }}.Start(out, terminal)
		time.Sleep(drawEvery - 1)
		stop()
		assert.Empty(t, out.seen())
	})
}

func TestProgressShowsNoEscapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		cell := func() string { return "--metric \x1b[2J" }
		stop := Progress{What: "exec", Now: cell, Live: func() result.Live { return result.Live{} }}.Start(out, terminal)
		time.Sleep(drawEvery + 1)
		stop()
		assert.Equal(t, "\r"+"exec: --metric \ufffd[2J · 0s"+clearRest, out.seen()[0])
	})
}

func TestProgressIsSilentOffTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		stop := Progress{Live: func() result.Live { panic("not read") }}.Start(out, Options{})
		time.Sleep(time.Minute)
		stop()
		assert.Empty(t, out.seen())
	})
}

func TestProgressEndsWithItsTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		live := func() result.Live { reads++; return result.Live{} }
		stop := Progress{Live: live}.Start(hungUp{}, terminal)
		time.Sleep(time.Minute)
		stop()
		assert.Equal(t, 1, reads, "a terminal that is gone is not written again")
	})
}

func TestProgressFitsTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		live := func() result.Live { return result.Live{NumbersTested: 1} }
		stop := Progress{What: strings.Repeat("é", 50), Live: live}.Start(out, Options{Terminal: true, Width: 30})
		time.Sleep(drawEvery)
		synctest.Wait()
		stop()
		assert.Equal(t, "\r"+strings.Repeat("é", 29)+clearRest, out.seen()[0])
	})
}

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		name     string
		progress Progress
		live     result.Live
		elapsed  time.Duration
		want     string
	}{
		{
			"nothing is known",
			Progress{What: "primes"},
			result.Live{NumbersTested: 5},
			3 * time.Second,
			"primes · 3s · 5 numbers",
		},
		{
			"nothing is done",
			Progress{What: "primes", Planned: 9},
			result.Live{Course: result.Course{Samples: 1}},
			time.Second,
			"primes · 0 % · 0 of 9 numbers",
		},
		{
			"more than planned",
			Progress{What: "primes", Planned: 9},
			result.Live{NumbersTested: 10},
			time.Second,
			"primes · 100 % · 0s left · 10 of 9 numbers",
		},
		{
			"by the clock",
			Progress{What: "primes", Duration: 40 * time.Second},
			result.Live{NumbersTested: 1, Taken: result.Taken{Samples: 2}},
			10 * time.Second,
			"primes · 25 % · 30s left · sample 3 · 1 numbers",
		},
		{
			"after the last sample",
			Progress{What: "primes", Planned: 4},
			result.Live{NumbersTested: 4, Taken: result.Taken{Samples: 2}, Course: result.Course{Samples: 2}},
			90 * time.Second,
			"primes · 100 % · 0s left · sample 2/2 · 4 of 4 numbers",
		},
		{
			"by samples, where nothing counts numbers",
			Progress{What: "contend", Now: func() string { return "xadd on CPUs 0-3" }},
			result.Live{Taken: result.Taken{Samples: 9}, Course: result.Course{Samples: 36}},
			10 * time.Second,
			"contend: xadd on CPUs 0-3 · 25 % · 30s left · sample 10/36",
		},
		{
			"numbers go before samples",
			Progress{What: "primes"},
			result.Live{NumbersTested: 5, Taken: result.Taken{Samples: 1}, Course: result.Course{Samples: 2}},
			time.Second,
			"primes · 1s · sample 2/2 · 5 numbers",
		},
		{
			"nothing runs at this moment",
			Progress{What: "c2c", Now: func() string { return "" }},
			result.Live{},
			time.Second,
			"c2c · 1s",
		},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, c.progress.line(c.live, c.elapsed)) })
	}
}
