package numa

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gorun/csrc"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
)

// Request is the request for one sample of a row, sent to a new process.
type Request struct {
	Row         result.NumaRow `json:"row"`
	On          cpuset.Set     `json:"on"`             // CPUs of the run on the row's node, or all if the probe floats
	Accesses    uint64         `json:"accesses"`       // of each repetition
	Repetitions int            `json:"repetitions"`    // at least 1
	Settle      float64        `json:"settle_seconds"` // CPU time of accesses before the ones that count
	Seed        uint64         `json:"seed"`           // of the order of accesses
	Nice        *int           `json:"nice,omitempty"` // of the probe; none: as it is
}

// Measure takes a sample on a new thread, which ends with it. When ctx ends it returns within some milliseconds, with
// the finished part marked partial. root is rooted at / of this machine. A refusal by the kernel is an error.
func Measure(ctx context.Context, root fs.FS, m *topology.Machine, r Request) (s result.Sample, err error) {
	p := newProbe(root, m, r)
	err = placement.OnThread(func() error { return p.measure(ctx) })
	return p.sample, err
}

// probe is the state of a sample during its measurement.
type probe struct {
	Request
	root   fs.FS
	m      *topology.Machine
	pages  linux.PageKind
	sample result.Sample
	v      Figures

	area       *linux.Area
	args       csrc.ProbeArgs
	spans      []span // the repetitions
	trace      *perf.Trace
	by         perf.Method // "": only the probe's own reads
	worse      error       // why the best method is not available; nil: it is
	moves      []perf.Move // of the trace, since the thread started
	lost       uint64      // records of it
	lostBefore uint64      // the first repetition

	faults    *perf.Faults // nil: they cannot be traced
	faulted   uint64       // faults of this phase in the buffer
	unknown   uint64       // faults of this phase at unknown addresses
	nodePages map[int]int  // at the start of the phase; nil: unknown
}

func newProbe(root fs.FS, m *topology.Machine, r Request) *probe {
	pages, _ := linux.ParsePageKind(r.Row.Pages) // the flag has only these
	return &probe{Request: r, root: root, m: m, pages: pages, v: Figures{NumaRow: r.Row}}
}

// measure takes the sample on the calling thread.
func (p *probe) measure(ctx context.Context) (err error) {
	p.sample.Placement.Requested = p.requested()
	defer func() { err = errors.Join(err, p.close()) }()
	p.args.Stop = csrc.NewStop()
	defer p.args.Stop.Free()
	defer measure.Until(ctx, p.args.Stop.Set)()
	p.startTraces()
	for _, step := range p.steps() {
		if err := step(); err != nil {
			if p.sample.Partial = ctx.Err() != nil; p.sample.Partial {
				break
			}
			return err
		}
	}
	monitor := placement.Watch(placement.Thread{TID: linux.Gettid(), Setting: placement.Setting{CPUs: p.On, Nice: p.Nice}})
	if !p.sample.Partial {
		err = p.loop(ctx)
	}
	p.sample.Placement.Add(monitor.End())
	if err != nil {
		return err
	}
	if !p.sample.Partial {
		p.readBack()
	}
	p.figures()
	p.sample.Values = result.FiguresOf(&p.v)
	return nil
}

// steps returns the preparations for the first timed access, in the row's order. A memory policy is always set before
// the first touch, since it determines the node of the pages.
func (p *probe) steps() []func() error {
	switch {
	case p.Row.FirstTouch != TouchBefore:
		return []func() error{p.place, p.allocate, p.prefer, p.touch}
	case p.Row.PreferredBy == ByMempolicy:
		return []func() error{p.allocate, p.prefer, p.touch, p.place}
	}
	return []func() error{p.allocate, p.touch, p.place, p.prefer}
}

// requested describes the row's placement.
func (p *probe) requested() string {
	row := p.Row
	parts := []string{"memory floats", fmt.Sprintf("CPUs %s of the run", p.On)}
	if row.Mem != Float {
		parts[0] = fmt.Sprintf("memory of node %d", row.Mem)
		if row.MemPolicy != "" {
			parts[0] += " (" + row.MemPolicy + ")"
		}
	} else if row.FirstTouch != "" {
		parts[0] = fmt.Sprintf("memory floats, touched first %s", row.FirstTouch)
	}
	if row.CPU != Float {
		parts[1] = fmt.Sprintf("CPUs %s of node %d", p.On, row.CPU)
	}
	if row.PreferredNode != None {
		parts = append(parts, fmt.Sprintf("node %d preferred by %s", row.PreferredNode, row.PreferredBy))
	}
	if row.NUMABalancing != KeepSetting {
		parts = append(parts, fmt.Sprintf("NUMA balancing %d", row.NUMABalancing))
	}
	for _, k := range knobs {
		if k.asks(row) > 0 {
			parts = append(parts, k.flag+" "+duration(k.asks(row)))
		}
	}
	if p.Nice != nil {
		parts = append(parts, fmt.Sprintf("nice %d", *p.Nice))
	}
	return strings.Join(parts, ", ")
}

// place sets the thread's CPUs and its nice value.
func (p *probe) place() error {
	setting := placement.Setting{CPUs: p.On, Nice: p.Nice}
	checked, mismatches, err := setting.Give() // the thread ends with it
	p.sample.Placement.Add(checked, mismatches)
	return err
}

// allocate maps the buffer. None of its pages is present yet.
func (p *probe) allocate() (err error) {
	p.area, err = linux.NewArea(linux.AreaOptions{Bytes: int(p.Row.BufferBytes), Node: p.Row.Mem, Pages: p.pages})
	if err == nil && p.Row.Mem != Float && p.Row.MemPolicy == BindBalancing {
		err = p.area.SetPolicy(linux.MempolicyBind|linux.MempolicyNUMABalancing, cpuset.Of(p.Row.Mem))
	}
	return err
}

// touch writes to each page of the buffer, which determines the page's node.
func (p *probe) touch() error {
	p.args.Access, p.args.Buffer, p.args.Words = p.Row.Access, p.area.Pointer(), p.Row.BufferBytes/8
	p.args.Accesses, p.args.Seed, p.args.Moves = p.Accesses, p.Seed, keptMoves
	mode, nodes := p.touchPolicy(p.m.NodeOf(linux.Getcpu()))
	if !nodes.Empty() {
		if err := p.area.SetPolicy(mode, nodes); err != nil {
			return err
		}
	}
	if linux.PageKinds[p.pages].HugeTLB { // if the pool is empty, a write would end the process
		if err := p.area.Touch(); err != nil {
			return err
		}
	}
	if err := csrc.ProbePrepare(p.args); err != nil {
		return err
	}
	if !nodes.Empty() { // the pages stay where they are, and balancing may move them
		if err := p.area.SetPolicy(linux.MempolicyDefault, cpuset.Set{}); err != nil {
			return err
		}
	}
	p.nodePages = p.readNodePages()
	p.v.TouchedPages = p.nodePages
	return nil
}

// touchPolicy returns the memory policy for the first touch by a thread on a node; no nodes means no policy.
func (p *probe) touchPolicy(from int) (linux.Mempolicy, cpuset.Set) {
	memory := p.m.MemoryNodes()
	switch p.Row.FirstTouch {
	case TouchInterleaved:
		return linux.MempolicyInterleave, memory
	case TouchFar:
		far := p.m.ByDistance(from, memory.List())
		return linux.MempolicyPreferred, cpuset.Of(far[len(far)-1])
	}
	return linux.MempolicyDefault, cpuset.Set{}
}

// prefer sets the row's preferred node, if any.
func (p *probe) prefer() error {
	node := p.Row.PreferredNode
	if node == None {
		return nil
	}
	if p.Row.PreferredBy == ByPrctl {
		return (&placement.Setting{PreferredNode: &node}).Apply(0)
	}
	if err := p.area.SetPolicy(linux.MempolicyPreferredMany, cpuset.Of(node)); err != nil {
		return err
	}
	return p.area.SetHomeNode(node)
}

// keptMoves is the number of CPU changes that the probe keeps per repetition, 16 bytes each.
const keptMoves = 1 << 14

// loop makes the settling accesses and the repetitions.
func (p *probe) loop(ctx context.Context) (err error) {
	if p.v.IndexNs, err = indexNs(p.args); err != nil {
		return err
	}
	if err := p.settle(); err != nil {
		return err
	}
	p.checkBalancing()
	p.checkKnobs()
	p.lostBefore = p.lost
	for made := 0; made < p.Repetitions && ctx.Err() == nil; made++ {
		if err := p.repeat(); err != nil {
			return err
		}
	}
	p.sample.Partial = ctx.Err() != nil
	p.v.Settled = p.phase(p.sample.Seconds, p.v.Accesses)
	return nil
}

// startTraces starts to trace the thread's moves and its page faults.
func (p *probe) startTraces() {
	var err error
	p.trace, err = perf.OpenTrace()
	switch {
	case err == nil:
		p.by, p.worse = p.trace.Method, p.trace.Degraded
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported):
		p.worse = err
	default:
		p.sample.Doubt(result.Suspect, "migrations could not be traced: %v", err)
	}
	p.faults, _ = perf.OpenFaults() // without it the phases have no faults
}

// settled is the start of a random walk after settle: the same for every sample, for any number of settling accesses.
const settled = 1 << 40

// settle makes accesses that do not count until the thread has used the requested CPU time, the clock of NUMA
// balancing. A buffer that was just written is cached differently from one that is being accessed, and the first
// accesses to one that fits take up to twice as long, for some 50 ms.
func (p *probe) settle() error {
	const accesses = 1 << 14 // between two readings of the clock: 5 ms at 300 ns each
	walk := p.args
	walk.Accesses, walk.Moves = accesses, 0
	if err := p.drain(); err != nil {
		return err
	}
	p.faulted, p.unknown = 0, 0 // without those of the first touch
	made := uint64(0)
	begun, cpu := linux.Monotonic(), linux.ThreadCPUTime()
	for p.Settle > 0 && (made == 0 || float64(linux.ThreadCPUTime()-cpu)/1e9 < p.Settle) {
		did, err := csrc.Probe(walk)
		if err != nil {
			return err
		}
		walk.From, made = did.Next, made+did.Accesses
		if err := p.drain(); err != nil {
			return err
		}
		if did.Accesses < accesses {
			break // stopped
		}
	}
	if made > 0 {
		p.v.SettledSeconds = (linux.Monotonic() - begun).Seconds()
		p.v.Settling = p.phase(p.v.SettledSeconds, made)
	}
	if p.args.From = walk.From; p.args.Access == randomAccess {
		p.args.From = settled
	}
	return nil
}

// phase ends a phase of the probe, and begins the next. seconds is the time of its accesses.
func (p *probe) phase(seconds float64, accesses uint64) *Phase {
	is, err := linux.ReadThreadNUMA(p.root)
	if err != nil && !errors.Is(err, linux.ErrNoNUMABalancing) {
		w := result.WarningOf("numa-sched", "the effects of NUMA balancing on the probe are unknown", err)
		p.v.Unread = &w
	}
	phase := &Phase{ScanSeq: is.ScanSeq, PagesMigrated: is.PagesMigrated, PreferredNID: is.PreferredNode}
	if accesses > 0 {
		phase.NsPerAccess = seconds * 1e9 / float64(accesses)
	}
	if n := p.faulted; p.faults != nil {
		phase.BufferFaults, phase.FaultsLost = &n, p.unknown
	}
	p.faulted, p.unknown = 0, 0
	if nodes := p.readNodePages(); nodes != nil && p.nodePages != nil {
		moved := pagesMoved(p.nodePages, nodes)
		phase.BufferMoved, phase.NodePages, p.nodePages = &moved, nodes, nodes
	}
	return phase
}

// pagesMoved returns the number of pages that are on another node than before, if no page was added or removed.
func pagesMoved(before, after map[int]int) (moved int) {
	for node, pages := range after {
		moved += max(0, pages-before[node])
	}
	return moved
}

// repeat makes one repetition, which continues where the previous one ended. If each started anew, short repetitions
// would always access the same part of a large buffer.
func (p *probe) repeat() error {
	s := span{begun: int64(linux.Monotonic())}
	did, err := csrc.Probe(p.args)
	s.ended = int64(linux.Monotonic())
	if err != nil {
		return err
	}
	for _, seen := range did.Moves {
		s.seen = append(s.seen, perf.CPURead{NS: s.begun + seen.NS, CPU: seen.CPU})
	}
	if did.Lost > 0 {
		p.sample.Doubt(result.Suspect, "the probe changed its CPU %d times more than the %d times that it can record", did.Lost, keptMoves)
	}
	p.args.From = did.Next
	s.seconds = float64(did.NS) / 1e9
	p.spans = append(p.spans, s)
	p.v.Accesses += did.Accesses
	p.sample.Seconds += s.seconds
	return p.drain()
}

// drain reads the traces, so that their buffers do not overflow.
func (p *probe) drain() error {
	if p.faults != nil {
		addresses, lost, err := p.faults.Read()
		if err != nil {
			p.sample.Doubt(result.Suspect, "the trace of page faults broke off: %v", err)
			if err := p.faults.Close(); err != nil {
				return err
			}
			p.faults = nil
		}
		for _, address := range addresses {
			if address-uint64(uintptr(p.area.Pointer())) < p.Row.BufferBytes { // also wraps around below it
				p.faulted++
			}
		}
		p.unknown += lost
	}
	if p.trace == nil {
		return nil
	}
	moves, lost, err := p.trace.Read()
	if err != nil {
		p.sample.Doubt(result.Suspect, "the trace of migrations broke off: %v", err)
		err, p.trace, p.by = p.trace.Close(), nil, ""
	}
	p.moves, p.lost = append(p.moves, moves...), p.lost+lost
	return err
}

// indexNs returns the time to generate an index, in nanoseconds; 0 for an access without one.
func indexNs(args csrc.ProbeArgs) (float64, error) {
	if args.Access != randomAccess {
		return 0, nil
	}
	const runs, accesses = 5, 1 << 17 // 0.1 ms each: the quickest was not interrupted
	args.Access, args.Accesses, args.Moves = indexAccess, accesses, 0
	best := 0.0
	for range runs {
		did, err := csrc.Probe(args)
		if err != nil {
			return 0, err
		}
		if did.Accesses < accesses {
			break // stopped
		}
		if ns := float64(did.NS) / accesses; best == 0 || ns < best {
			best = ns
		}
	}
	return best, nil
}

// close frees everything.
func (p *probe) close() error {
	var errs []error
	if p.trace != nil {
		errs = append(errs, p.trace.Close())
	}
	if p.faults != nil {
		errs = append(errs, p.faults.Close())
	}
	if p.area != nil {
		errs = append(errs, p.area.Free())
	}
	return errors.Join(errs...)
}
