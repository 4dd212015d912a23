package primes

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
)

// PoolOptions are the options of a pool. Their fields correspond to the flags of `gorun primes`.
type PoolOptions struct {
	Limit    uint64
	Method   string
	Kernel   string // as requested
	Workers  int
	Split    string
	Serial   bool // one worker after another, on one goroutine
	Executor bool // one locked, pinned thread per CPU takes the workers from a queue
	Barrier  bool // no worker begins before all have started
	Repeats  int  // passes over the numbers in one sample, at least 1
	// AtLeast is the intended duration of a sample: after the first one, Repeats is raised to reach it. A long run of
	// short passes would otherwise keep thousands of samples per second.
	AtLeast time.Duration
	Detail  bool // keep a row per worker
	// Each is how often each worker counts all numbers, with Known primes among them; 0: the workers share the numbers, as Split deals them.
	// Each worker must then have a CPU of its own.
	Each  int
	Known uint64

	uninstrumented bool // do not read clock, CPU and thread: the baseline of `make bench` for the pool's own cost
}

// MaxWorkers limits PoolOptions.Workers: a worker's record takes about 150 bytes.
const MaxWorkers = 10_000_000

// inTurn is the number of workers started at a time per thread that runs Go code. Each worker has its own goroutine,
// but 50,000 goroutines that wait for two CPUs would be useless: their stacks take 125 MB, and since Go runs each for
// 10 ms in turn, a goroutine that stops them or answers a scrape would wait minutes for its turn.
const inTurn = 32

// Pool runs workers that count the primes among 1…Limit.
type Pool struct {
	opts    PoolOptions
	counter Counter
	split   Split
	plan    placement.Assignment
	placer  *placement.Placer
	meter   *meter
	workers []worker
	stop    atomic.Bool
}

// Open builds the tables, and opens the plan on this machine. cpuLimit is the highest CPU number of the machine plus
// one.
func Open(opts PoolOptions, plan placement.Assignment, cpuLimit int) (*Pool, error) {
	kernel, err := Lookup(opts.Method, opts.Kernel)
	if err != nil {
		return nil, err
	}
	split, err := LookupSplit(opts.Split)
	if err != nil {
		return nil, err
	}
	// Its first call chooses the method: thousands of locked workers, each with a thread, must not wait for that.
	if linux.Getcpu() < 0 {
		return nil, hint.With(errors.New("the CPU of a thread cannot be read: getcpu(2) is refused"),
			"allow it in the filter of system calls (in Docker: --security-opt seccomp=unconfined)")
	}
	placer, err := plan.Open()
	if err != nil {
		return nil, err
	}
	return &Pool{
		opts: opts, split: split, plan: plan, placer: placer,
		counter: kernel.New(opts.Limit),
		meter:   &meter{origin: time.Now(), slots: make([]slot, cpuLimit)},
		workers: make([]worker, opts.Workers),
	}, nil
}

// Live returns the counters since Open.
func (p *Pool) Live() result.State {
	live := p.meter.live()
	live.Threads = runtimeThreads()
	return live
}

// Run makes one sample: Repeats passes over the numbers. When ctx ends, the workers stop within about a millisecond,
// and what they did is in the sample, marked partial. An error means that a thread could not be restored.
func (p *Pool) Run(ctx context.Context) (result.Sample, error) {
	p.stop.Store(false)
	defer measure.Until(ctx, func() { p.stop.Store(true) })()
	busy := p.meter.read()
	for i := range p.meter.slots {
		p.meter.slots[i].readBack.Store(0) // at the first checkpoint on each CPU
	}
	usage := linux.CountUsage()
	var done outcome
	for done.passes == 0 || done.passes < p.opts.Repeats && !p.stop.Load() {
		clear(p.workers)
		pass := &pass{Pool: p, dealer: p.deal()}
		begun := time.Now()
		pass.run()
		done.wall += time.Since(begun)
		done.passes++
		done.threads = max(done.threads, pass.threads, runtimeThreads())
		for i := range p.workers {
			done.tally.add(p.workers[i].tally)
		}
	}
	var err error
	if done.usage, err = usage(); err != nil {
		return result.Sample{}, err
	}
	done.busy = p.meter.read().sub(busy)
	sample := p.report(done)
	if p.opts.AtLeast > 0 && !sample.Partial {
		pass := max(done.wall/time.Duration(done.passes), 1)
		p.opts.Repeats, p.opts.AtLeast = int(1+(p.opts.AtLeast-1)/pass), 0
	}
	return sample, p.placer.Restore()
}

// outcome is the combined result of the passes of one sample.
type outcome struct {
	passes  int
	wall    time.Duration // of the passes, without the time between them
	usage   linux.Usage
	tally   Tally
	threads int // greatest number seen alive
	busy    reading
}

func (t *Tally) add(u Tally) {
	t.Numbers += u.Numbers
	t.Primes += u.Primes
	t.Trials += u.Trials
}

// pass is one pass over the numbers.
type pass struct {
	*Pool
	dealer  dealer
	threads int           // alive when all workers had started; only with a barrier
	tokens  chan struct{} // with a barrier: a worker begins with one, and passes it on; nil: they spin, each on its own CPU
	arrived turnstile
	ended   turnstile
}

// run starts the workers and returns when all have ended.
func (p *pass) run() {
	switch {
	case p.plan.Executors != nil:
		p.runExecutors()
	case p.opts.Serial:
		p.runSerial()
	default:
		p.runGoroutines()
	}
}

// runGoroutines gives each worker a goroutine.
func (p *pass) runGoroutines() {
	p.arrived.init()
	p.ended.init()
	window := inTurn * runtime.GOMAXPROCS(0)
	if p.opts.Barrier && p.opts.Each == 0 {
		p.tokens = make(chan struct{}, window)
	}
	started := 0
	for ; started < p.opts.Workers && !p.stop.Load(); started++ {
		if !p.opts.Barrier && started >= window && started%(window/2) == 0 {
			p.ended.await(int64(started - window/2))
		}
		go p.runWorker(started)
	}
	if p.tokens != nil {
		p.arrived.await(int64(started))
		p.threads = runtimeThreads()
		for range window {
			p.tokens <- struct{}{}
		}
	}
	p.ended.await(int64(started))
}

// runWorker is one worker's goroutine. Its thread ends with it if Leave has to keep the lock.
func (p *pass) runWorker(i int) {
	seat := p.placer.Enter(i)
	switch {
	case p.tokens != nil:
		p.arrived.pass()
		<-p.tokens
	case p.opts.Barrier:
		p.arrived.spin(int64(p.opts.Workers), &p.stop)
	}
	p.work(i, &seat)
	if p.tokens != nil {
		p.tokens <- struct{}{}
	}
	p.placer.Leave(seat)
	p.ended.pass()
}

// runSerial runs the workers one after another. They share a new goroutine, since its thread may have to end with it.
func (p *pass) runSerial() {
	var ended sync.WaitGroup
	ended.Go(func() {
		for i := 0; i < p.opts.Workers && !p.stop.Load(); i++ {
			seat := p.placer.Enter(i)
			p.work(i, &seat)
			p.placer.Leave(seat)
		}
	})
	ended.Wait()
}

// runExecutors gives each CPU of the plan one locked and pinned thread, which takes workers from a queue.
func (p *pass) runExecutors() {
	var ended sync.WaitGroup
	var queue atomic.Int64
	for e := range p.plan.Executors {
		ended.Go(func() {
			seat := p.placer.EnterExecutor(e)
			for i := int(queue.Add(1)) - 1; i < p.opts.Workers && !p.stop.Load(); i = int(queue.Add(1)) - 1 {
				p.work(i, &seat)
			}
			p.placer.Leave(seat)
		})
	}
	ended.Wait()
}

// turnstile counts the goroutines that pass, and wakes the one that waits for a number of them, with one atomic
// addition per worker and a single wake-up. The counter is alone on its cache lines: every worker writes it.
type turnstile struct {
	_      [64]byte
	passed atomic.Int64
	target atomic.Int64
	_      [64]byte
	signal chan struct{}
}

func (t *turnstile) init() { t.signal = make(chan struct{}, 1) }

func (t *turnstile) pass() {
	if t.passed.Add(1) == t.target.Load() {
		select {
		case t.signal <- struct{}{}:
		default:
		}
	}
}

// spin passes, and returns when n goroutines have, or stop is set. Goroutines that slept would go on one after the other.
func (t *turnstile) spin(n int64, stop *atomic.Bool) {
	for t.passed.Add(1); t.passed.Load() < n && !stop.Load(); {
	}
}

// await returns when n goroutines have passed. Only one goroutine may wait.
func (t *turnstile) await(n int64) {
	for t.target.Store(n); t.passed.Load() < n; {
		<-t.signal
	}
}

// runtimeThreads returns the number of threads of the Go runtime.
func runtimeThreads() int {
	sample := []metrics.Sample{{Name: "/sched/threads/total:threads"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return runtime.GOMAXPROCS(0)
	}
	return int(sample[0].Value.Uint64())
}
