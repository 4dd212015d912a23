package csrc_test

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
)

// line is the memory that the two threads share: the number of hand-overs, and the flag that ends the exchange.
type line struct{ turn, over uint64 }

func newLine(t *testing.T) *line {
	t.Helper()
	return (*line)(unsafe.Pointer(&anonymous(t)[0]))
}

func pingPongMethods(t *testing.T) []string {
	t.Helper()
	operations(t)
	require.Equal(t, []string{"cas", "write", "faa"}, csrc.PingPongMethods())
	return csrc.PingPongMethods()
}

func TestPingPong(t *testing.T) {
	for _, method := range pingPongMethods(t) {
		t.Run(method, func(t *testing.T) {
			l, gate := newLine(t), csrc.NewGate(2)
			defer gate.Free()
			args := csrc.PingPongArgs{
				Method: method, Line: unsafe.Pointer(l), Time: time.Millisecond, BatchNS: 1000, Gate: gate,
			}
			secondResult := started(csrc.PingPong, args)
			args.First = true
			first, err := csrc.PingPong(args)
			require.NoError(t, err)
			second, err := secondResult()
			require.NoError(t, err)

			assert.False(t, first.Stopped)
			assert.False(t, second.Stopped)
			assert.GreaterOrEqual(t, first.CPU, 0)
			assert.NotEmpty(t, first.Batches)
			for _, ns := range first.Batches {
				assert.Positive(t, ns)
			}
			assert.Empty(t, second.Batches)
			assert.GreaterOrEqual(t, first.RoundTrips, uint64(len(first.Batches))*first.RoundTripsPerBatch)
			assert.Positive(t, first.RoundTrips)
			assert.Equal(t, first.RoundTrips, second.RoundTrips)
			assert.Equal(t, 2*first.RoundTrips, l.turn, "every hand-over is counted once")
		})
	}
}

// Neither side passes the line out of turn. The test acts as the other side, and delays its hand-overs.
func TestPingPongAlternates(t *testing.T) {
	const patience = 50 // checks; each of them would see a wrong hand-over
	held := func(t *testing.T, l *line, turn uint64) {
		for range patience {
			runtime.Gosched()
			require.Equal(t, turn, atomic.LoadUint64(&l.turn), "handed over out of turn")
		}
	}
	for _, method := range pingPongMethods(t) {
		t.Run(method, func(t *testing.T) {
			stop := csrc.NewStop()
			defer stop.Free()
			const trips = 10
			l := newLine(t)
			result := started(csrc.PingPong, csrc.PingPongArgs{Method: method, Line: unsafe.Pointer(l), Stop: stop})
			for turn := uint64(0); turn < 2*trips; turn += 2 { // the test is first
				held(t, l, turn)
				atomic.StoreUint64(&l.turn, turn+1)
				for atomic.LoadUint64(&l.turn) == turn+1 {
					runtime.Gosched()
				}
				require.Equal(t, turn+2, atomic.LoadUint64(&l.turn))
			}
			atomic.StoreUint64(&l.over, 1)
			second, err := result()
			require.NoError(t, err)
			assert.EqualValues(t, trips, second.RoundTrips)
			assert.False(t, second.Stopped)

			l = newLine(t)
			result = started(csrc.PingPong, csrc.PingPongArgs{
				Method: method, First: true, Line: unsafe.Pointer(l), Time: time.Hour, BatchNS: 1e9, Stop: stop,
			})
			for turn := uint64(1); turn < 2*trips; turn += 2 { // the test is second
				for atomic.LoadUint64(&l.turn) == turn-1 {
					runtime.Gosched()
				}
				held(t, l, turn)
				atomic.StoreUint64(&l.turn, turn+1)
			}
			stop.Set()
			first, err := result()
			require.NoError(t, err)
			assert.True(t, first.Stopped)
			assert.GreaterOrEqual(t, first.RoundTrips, uint64(trips))
			assert.EqualValues(t, 1, l.over, "the other side is ended")
		})
	}
}

func TestPingPongStopped(t *testing.T) {
	stop, gate := csrc.NewStop(), csrc.NewGate(2)
	defer stop.Free()
	defer gate.Free()
	stop.Set()
	for _, method := range pingPongMethods(t) {
		for _, first := range []bool{true, false} {
			for _, g := range []*csrc.Gate{nil, gate} {
				l := newLine(t)
				l.turn = 7 // nobody's turn: neither side continues
				gate.Reset(2)
				r, err := csrc.PingPong(csrc.PingPongArgs{
					Method: method, First: first, Line: unsafe.Pointer(l), Time: time.Hour, BatchNS: 1e9, Gate: g, Stop: stop,
				})
				require.NoError(t, err)
				assert.True(t, r.Stopped)
				assert.Zero(t, r.RoundTrips)
				assert.Empty(t, r.Batches)
			}
		}
	}
}

func TestPingPongErrors(t *testing.T) {
	methods := pingPongMethods(t)
	memory := anonymous(t)
	good := csrc.PingPongArgs{Method: methods[0], First: true, Line: unsafe.Pointer(&memory[0]), Time: 1, BatchNS: 1}
	for _, change := range []func(*csrc.PingPongArgs){
		func(a *csrc.PingPongArgs) { a.Line = nil },
		func(a *csrc.PingPongArgs) { a.Line = unsafe.Pointer(&memory[32]) },
		func(a *csrc.PingPongArgs) { a.Time = 0 },
		func(a *csrc.PingPongArgs) { a.BatchNS = -1 },
	} {
		args := good
		change(&args)
		_, err := csrc.PingPong(args)
		assert.ErrorIs(t, err, syscall.EINVAL, "%+v", args)
	}
	good.Time = time.Hour
	_, err := csrc.PingPong(good)
	assert.ErrorContains(t, err, "in batches of 1 ns: more than")
	good.Method = "smoke"
	_, err = csrc.PingPong(good)
	assert.ErrorContains(t, err, `no method "smoke"`)
}
