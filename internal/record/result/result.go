// Package result holds the results of a run as plain values: the versioned schema "gorun/v2" that every experiment
// fills, every renderer shows and every journal stores. Times are in seconds, memory in bytes. A figure that is not
// available is absent (a nil pointer, a missing key), never zero.
package result

import (
	"fmt"
	"math"

	"gorun/internal/base/hint"
	"gorun/internal/base/packed"
)

// Schema names the version of the JSON layout. It changes only when a reader of the old one would be misled: a new key
// does not change it.
const Schema = "gorun/v2"

// Argv are the words of a command. They are shown by shell.Join, and kept as they are until then.
type Argv []string

// Run is one invocation of an experiment: the request, the machine, and every sample.
type Run struct {
	Schema     string            `json:"schema"`
	Tool       Tool              `json:"tool"`
	Host       Host              `json:"host"`
	Experiment string            `json:"experiment"`
	Spec       any               `json:"spec"` // the experiment's own options, by flag name
	Seed       uint64            `json:"seed"`
	Command    Argv              `json:"command,omitempty"` // command line that repeats the run, without the program
	Asked      map[string]string `json:"asked,omitempty"`   // flags that decide what a sample measures, where they are not the default
	Started    string            `json:"started"`           // RFC 3339, UTC
	Matrix     *Matrix           `json:"matrix,omitempty"`
	Cells      []Cell            `json:"cells,omitempty"`     // of a matrix
	Files      []File            `json:"files,omitempty"`     // of a journal: what its samples start and read
	Caches     []Cache           `json:"caches,omitempty"`    // of the run's first CPU, for memory --latency: the smallest first
	NumaRows   []NumaRow         `json:"numa_rows,omitempty"` // of numa, including rows that cannot be measured; a cell's flag "row" is an index here
	Samples    Samples           `json:"samples"`
	Confirming Samples           `json:"confirming,omitzero"` // taken after the others, for --why=confirm; no verdict follows from them
	Units      map[string]string `json:"units,omitempty"`     // in which a program's own figures are judged and shown, by column, as in the first sample
	Warmups    []Sample          `json:"warmups,omitempty"`   // taken first and not summarised
	Summary    *Summary          `json:"summary,omitempty"`
	Findings   []Finding         `json:"findings"` // what limited the run, in words
	Warnings   []Warning         `json:"warnings"`
	Partial    bool              `json:"partial"` // interrupted: more samples were planned
	Gate       *Gate             `json:"gate,omitempty"`
	Overhead   *Overhead         `json:"overhead,omitempty"`
}

// Overhead is what gorun itself used from the first sample to the last: to watch the samples, to judge, show and store them. What it used
// before it was killed is not known, and left out. The work of samples in gorun's own process is not part of it.
type Overhead struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	Seconds    float64 `json:"seconds"` // wall time
}

// Share returns the CPU time as a share of the time, of one CPU.
func (o Overhead) Share() float64 { return o.CPUSeconds / max(o.Seconds, math.SmallestNonzeroFloat64) }

// Tool is the program that measured.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	C       string `json:"c_compiler,omitempty"` // the compiler of the kernels
	SHA256  string `json:"sha256,omitempty"`     // of the executable
}

// Host is the machine and the share of it that the run was given. Values that the kernel does not report are absent.
// A label is the name that a person reads, if it is not that in JSON; "-": only a program can compare the value.
type Host struct {
	Hostname      string   `json:"hostname,omitempty"`
	OS            string   `json:"os" label:"operating system"`
	Arch          string   `json:"arch" label:"architecture"`
	Kernel        string   `json:"kernel,omitempty"`
	CPUModel      string   `json:"cpu_model,omitempty" label:"processor"`
	Microcode     string   `json:"microcode,omitempty"`
	Hypervisor    bool     `json:"hypervisor,omitempty"`
	CPUs          int      `json:"cpus" label:"CPUs"`
	Online        int      `json:"online" label:"CPUs online"`
	Cores         int      `json:"cores"`
	LLCs          int      `json:"llcs" label:"last-level caches"`
	Nodes         int      `json:"nodes" label:"NUMA nodes"`
	Packages      int      `json:"packages"`
	Allowed       string   `json:"allowed" label:"CPUs allowed"` // kernel list
	GOMAXPROCS    int      `json:"gomaxprocs" label:"GOMAXPROCS"`
	CPUQuota      *float64 `json:"cpu_quota,omitempty" label:"CPU quota, CPUs"` // CPUs' worth of time a second; absent without a limit
	Conditions    []string `json:"conditions,omitempty"`                        // what a reader should know of the machine, as `gorun doctor` does
	MemoryBytes   uint64   `json:"memory_bytes,omitempty" label:"memory"`
	Governor      string   `json:"governor,omitempty"`
	Clocksource   string   `json:"clocksource,omitempty"`
	THP           string   `json:"transparent_hugepage,omitempty" label:"transparent huge pages"`
	NUMABalancing string   `json:"numa_balancing,omitempty" label:"NUMA balancing"`
	MigrationCost string   `json:"migration_cost_ns,omitempty" label:"migration cost of the scheduler, ns"` // of the scheduler; absent: not known
	BootID        string   `json:"boot_id,omitempty" label:"boot"`
	CommandLine   string   `json:"kernel_command_line,omitempty"`
	Topology      string   `json:"topology,omitempty" label:"-"` // a hash of what CPUs share
	SMT           string   `json:"smt,omitempty" label:"SMT"`
	Turbo         string   `json:"turbo,omitempty"`
	Mitigations   string   `json:"mitigations,omitempty" label:"-"`                                 // a hash of the kernel's list
	ASLR          string   `json:"aslr,omitempty" label:"ASLR"`                                     // randomize_va_space, or NoASLR
	MemoryLimit   uint64   `json:"memory_limit_bytes,omitempty" label:"memory limit of the cgroup"` // of the cgroup
	Environment   string   `json:"environment,omitempty"`                                           // the variables that reach the samples, name by name
}

// NoASLR is the Host.ASLR of a run whose programs have the same addresses each time: because of the system, or of the
// personality that they inherit.
const NoASLR = "0"

// Samples are those of a run. A long run has millions.
type Samples = packed.List[Sample]

// Sample is one measured execution.
type Sample struct {
	Index         int               `json:"index"`
	*Slot                           // of a matrix
	Seconds       float64           `json:"seconds"`                // wall
	UserSeconds   float64           `json:"user_seconds"`           // of the process, all threads
	SystemSeconds float64           `json:"system_seconds"`         // of the process, all threads
	LoadSeconds   float64           `json:"load_seconds,omitempty"` // CPU time of a load requested in addition to the experiment
	Unwaited      float64           `json:"-"`                      // CPU seconds that belong to the sample, of processes that gorun has not waited for, for judging
	QueuedShare   float64           `json:"-"`                      // for at least this share of its time, other programs had the CPU for which a thread waited; for judging
	Values        Figures           `json:"values"`
	Units         map[string]string `json:"units,omitempty"` // of the figures that a program printed, as it did, by column; "": it printed none
	Answer        *Answer           `json:"answer,omitempty"`
	Account       *Account          `json:"account,omitempty"`  // nil: not known
	Looks         *Looks            `json:"looks,omitempty"`    // nil: nobody looked
	Counters      *Counters         `json:"counters,omitempty"` // nil: --why was not given
	Workers       *Workers          `json:"workers,omitempty"`
	WorkersDetail []WorkerDetail    `json:"workers_detail,omitempty"`
	CPUs          []CPU             `json:"cpus,omitempty"`
	Placement     Placement         `json:"placement"`
	Quality       Quality           `json:"quality"`
	Files         []File            `json:"files,omitempty"`   // that have changed since the sample before, while the run was stopped
	Buckets       map[string]Bucket `json:"buckets,omitempty"` // by column, where only the bucket of a histogram is known of a figure
	Doubts        []Doubt           `json:"-"`                 // the experiment's own, for the grade of its quality
	Partial       bool              `json:"partial,omitempty"` // cut short; not summarised

	Factors map[string]float64 `json:"-"` // from these units to the run's, by column, where they differ
}

// Bucket is the bucket of a histogram in which a figure lies. Where in it is not known.
type Bucket struct {
	From float64 `json:"from"`
	To   float64 `json:"to,omitempty"`   // 0: it has no end
	Unit string  `json:"unit,omitempty"` // a column.Unit; "": the figure's own
}

// CPUSeconds is the CPU time that the process used: user and system, all threads.
func (s Sample) CPUSeconds() float64 { return s.UserSeconds + s.SystemSeconds }

// Workers summarises the workers of one sample.
type Workers struct {
	Count         int          `json:"count" figure:"-"`
	Finished      int          `json:"finished" figure:"-"`
	ChangedCPU    int          `json:"changed_cpu" figure:"count,verbose" label:"workers that changed CPU" is:"How many workers were seen on more than one CPU."`
	ChangedThread *int         `json:"changed_thread,omitempty" figure:"count,verbose" label:"workers that changed thread" is:"How many workers ended on another thread than they began on."`
	OffCPU        *int         `json:"off_cpu,omitempty" figure:"count" label:"workers off their CPU" is:"How many workers were pinned to a CPU and ended on another one."`
	Seconds       Distribution `json:"seconds" figure:"-"` // start to end of each worker
	Imbalance     float64      `json:"imbalance" figure:"ratio,verbose" label:"slowest worker over the mean" is:"The time of the slowest worker over that of the mean one."`
}

// Has reports whether a column is known: without workers, none is slower than the others.
func (w *Workers) Has(column string) bool { return column != "imbalance" || w.Count > 0 }

// Distribution is a five-figure summary.
type Distribution struct {
	Min    float64 `json:"min" is:"%s: the least."`
	Median float64 `json:"median" is:"%s: the median."`
	Mean   float64 `json:"mean" is:"%s: the mean."`
	P99    float64 `json:"p99" is:"%s: 99 of 100 are no more."`
	Max    float64 `json:"max" is:"%s: the greatest."`
}

// WorkerDetail is one worker, for --workers-detail.
type WorkerDetail struct {
	Worker   int     `json:"worker"`
	First    uint64  `json:"first"`   // the first number it tested; 0: none
	Numbers  uint64  `json:"numbers"` // how many it tested
	Primes   uint64  `json:"primes"`
	Seconds  float64 `json:"seconds"`
	CPUStart int     `json:"cpu_start"`
	CPUEnd   int     `json:"cpu_end"`
	Moves    int     `json:"moves"`               // number of observed changes of CPU
	TIDStart int     `json:"tid_start,omitempty"` // 0 if threads cannot be identified
	TIDEnd   int     `json:"tid_end,omitempty"`   //
	Nice     *int    `json:"nice,omitempty"`      // of its thread at the end
	Policy   string  `json:"policy,omitempty"`    // scheduling policy of its thread at the end: "other", "fifo:1"
	PinnedTo *int    `json:"pinned_to,omitempty"` // the requested CPU
	Verified *bool   `json:"verified,omitempty"`  // the kernel's answer was as requested
	Mismatch string  `json:"mismatch,omitempty"`  // what the kernel answered instead
}

// CPU is one CPU's share of a sample.
type CPU struct {
	CPU         int     `json:"cpu"`
	Workers     int     `json:"workers"`           // that ended here; 0 in an experiment without workers
	Threads     *int    `json:"threads,omitempty"` // distinct threads that ended a worker here
	BusySeconds float64 `json:"busy_seconds"`      // wall time with a worker, a thread of a row, or the probe on this CPU
}

// Placement holds the requested placement and the result of reading it back.
type Placement struct {
	Requested  string   `json:"requested"` // as flags: "lock-thread", "pin-cpus 0-3, nice 5", "none"
	Verified   bool     `json:"verified"`
	Checked    int      `json:"checked"`              // number of read-backs
	Mismatches []string `json:"mismatches,omitempty"` // the first few differences
	NoEffect   string   `json:"no_effect,omitempty"`  // why the kernel accepted a part of it but ignores it
}

// Add adds read-backs that were made, and the differences that they found.
func (p *Placement) Add(checked int, mismatches []string) {
	p.Checked += checked
	p.Mismatches = append(p.Mismatches, mismatches...)
	p.Verified = len(p.Mismatches) == 0
}

// Check adds a read-back, and a difference if it is not as requested.
func (p *Placement) Check(as bool, format string, args ...any) {
	var mismatches []string
	if !as {
		mismatches = []string{fmt.Sprintf(format, args...)}
	}
	p.Add(1, mismatches)
}

// Grade is the trustworthiness of a sample.
type Grade string

// The grades of a sample.
const (
	Valid   Grade = "valid"
	Suspect Grade = "suspect" // measured under conditions that may have changed the figure
	Invalid Grade = "invalid" // not as requested
)

// Doubt is a reason against a sample.
type Doubt struct {
	Grade  Grade
	Reason string
	Hint   string // what to do about it; "": nothing
	Wrong  bool   // a CPU computed a wrong result
}

// Doubt adds a reason against the sample.
func (s *Sample) Doubt(grade Grade, format string, args ...any) {
	s.Doubts = append(s.Doubts, Doubt{Grade: grade, Reason: fmt.Sprintf(format, args...)})
}

// Wrong makes the sample invalid, because a CPU computed a wrong result.
func (s *Sample) Wrong(format string, args ...any) {
	s.Doubts = append(s.Doubts, Doubt{Grade: Invalid, Reason: fmt.Sprintf(format, args...), Wrong: true})
}

// Quality holds the disturbances of a sample and the grade that follows from them. In JSON the grade is called verdict.
type Quality struct {
	Grade   Grade    `json:"verdict"`
	Reasons []string `json:"reasons"`
	Signals Signals  `json:"signals"`
}

// Signals holds the disturbances counted during a sample. Nil: not available.
type Signals struct {
	WatchedSeconds float64 `json:"watched_seconds" figure:"s,hidden" is:"The time in which the signals were counted: a little more than the sample."`
	// Of a sample that is too short for the ticks of /proc/stat, neither is known.
	StealSeconds *float64 `json:"steal_seconds,omitempty" figure:"s" label:"steal by the hypervisor" is:"CPU time that the hypervisor took."`
	OtherSeconds *float64 `json:"other_seconds,omitempty" figure:"s" label:"other programs" is:"CPU time of all else on the allowed CPUs."`
	// Of all threads that are alive at the end; of a command, of its first thread.
	RunQueueSeconds *float64 `json:"run_queue_seconds,omitempty" figure:"s" label:"waiting for a CPU" is:"The time of threads that were ready to run."`

	VoluntarySwitches   *uint64 `json:"voluntary_switches,omitempty" figure:"count,verbose" label:"switches, voluntary" is:"How often a thread gave up its CPU to wait."`
	InvoluntarySwitches *uint64 `json:"involuntary_switches,omitempty" figure:"count,verbose,bench=involuntary-switches/op" label:"switches, involuntary" is:"How often the kernel took a thread off its CPU."`
	Migrations          *uint64 `json:"migrations,omitempty" figure:"count,bench=migrations/op" label:"migrations of threads" is:"The moves of threads between CPUs, as the kernel counts them."`
	// "perf", or "sched-debug", which loses threads that ended.
	MigrationsBy string  `json:"migrations_by,omitempty" figure:",hidden" is:"What counted the migrations."`
	MinorFaults  *uint64 `json:"minor_faults,omitempty" figure:"count" label:"page faults, minor" is:"The page faults that needed no reading from a disk."`
	MajorFaults  *uint64 `json:"major_faults,omitempty" figure:"count" label:"page faults, major" is:"The page faults that needed reading from a disk."`

	ThrottledSeconds   *float64 `json:"throttled_seconds,omitempty" figure:"s" label:"throttled by the quota" is:"The time in which the cgroup had used up its CPU quota."`
	CPUPressureSeconds *float64 `json:"cpu_pressure_seconds,omitempty" figure:"s" label:"CPU pressure" is:"The time in which some task waited for a CPU (PSI)."`
	StoppedSeconds     *float64 `json:"stopped_seconds,omitempty" figure:"s" label:"stopped by a signal" is:"The time in which a process of the measured command was stopped."`
	// In this time the clocks of a sample stop.
	SuspendedSeconds *float64 `json:"suspended_seconds,omitempty" figure:"s" label:"machine suspended" is:"The time in which the machine was suspended."`
	CanarySeconds    *float64 `json:"canary_seconds,omitempty" figure:"s" label:"a fixed loop before the sample" is:"The time of a fixed loop."`
	MHz              *float64 `json:"mhz,omitempty" label:"clock, MHz" is:"The mean clock of the allowed CPUs at the end."`
}

// Tick is the kernel's unit of steal and of other programs' time, in seconds (USER_HZ, proc_stat(5)).
const Tick = 0.010

// Nanoseconds returns seconds rounded to nanoseconds, which no clock of the kernel is finer than: a sum or a difference has digits that
// were not measured.
func Nanoseconds(seconds float64) float64 { return math.Round(seconds*1e9) / 1e9 }

// RoundSeconds rounds the times of a sample and of its signals to nanoseconds.
func (s *Sample) RoundSeconds() {
	g := &s.Quality.Signals
	if s.Looks != nil && s.Looks.ThrottledSeconds != nil {
		*s.Looks.ThrottledSeconds = Nanoseconds(*s.Looks.ThrottledSeconds)
	}
	for _, seconds := range []*float64{
		&s.Seconds, &s.UserSeconds, &s.SystemSeconds, &g.WatchedSeconds, g.StealSeconds, g.OtherSeconds, g.RunQueueSeconds,
		g.ThrottledSeconds, g.CPUPressureSeconds, g.StoppedSeconds, g.SuspendedSeconds, g.CanarySeconds,
	} {
		if seconds != nil {
			*seconds = Nanoseconds(*seconds)
		}
	}
}

// Share returns the share of the CPU time of this number of CPUs that a signal in seconds took while the signals were
// counted; 0 if the signal is not available.
func (s Signals) Share(seconds *float64, cpus int) float64 {
	if seconds == nil || s.WatchedSeconds <= 0 {
		return 0
	}
	return min(1, *seconds/(s.WatchedSeconds*float64(cpus)))
}

// Summary is derived from the samples that are neither partial nor invalid.
type Summary struct {
	Samples int          `json:"samples"`
	Seconds Distribution `json:"seconds"`
	Spread  float64      `json:"spread"` // (max − min) / median

	Metric *Distribution `json:"metric,omitempty"` // of a command's own figure
	// Of the figures that are judged in addition to the deciding one, by the column's name.
	Figures map[string]FigureSummary `json:"figures,omitempty"`
}

// FigureSummary is the distribution of a figure, in its unit.
type FigureSummary struct {
	Unit string `json:"unit"` // a column.Unit; "": its own
	Distribution
}

// Finding is one plain sentence about what limited the run, and the figure that shows it.
type Finding struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Value   float64 `json:"value"`
}

// Warning is a problem that the reader should know about; it is a value, so that every renderer can show it.
type Warning struct {
	Code    string `json:"code" is:"The code of the reason %s."`
	Message string `json:"message" is:"The reason %s."`
	Hint    string `json:"hint,omitempty" is:"The hint of the reason %s."`
}

// InvalidSample returns the sample that stands for one that failed with this error.
func InvalidSample(err error) Sample {
	text := err.Error()
	if way := hint.Of(err); way != "" {
		text += " (" + way + ")"
	}
	return Sample{Quality: Quality{Grade: Invalid, Reasons: []string{text}}}
}
