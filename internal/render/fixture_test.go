package render

import (
	"flag"

	"gorun/internal/primes"
	"gorun/internal/render/rendertest"
	"gorun/internal/result"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// primesSpec is a spec as the experiment has it: a struct that is named by flags in JSON.
type primesSpec struct {
	Limit           uint64  `json:"limit"`
	Method          string  `json:"method"`
	Kernel          string  `json:"kernel"`
	Workers         int     `json:"workers"`
	Serial          bool    `json:"serial"`
	Dispatch        string  `json:"dispatch"`
	Split           string  `json:"split"`
	LockThread      bool    `json:"lock_thread"`
	PinCPUs         string  `json:"pin_cpus"`
	PinThread       bool    `json:"pin_thread"`
	Nice            *int    `json:"nice"`
	Sched           string  `json:"sched"`
	GOMAXPROCS      int     `json:"gomaxprocs"`
	Barrier         bool    `json:"barrier"`
	DurationSeconds float64 `json:"duration_seconds"`
}

// all shows every run that tests of this package have.
var all = Views{primes.Experiment}

func ptr[T any](x T) *T { return &x }

// fixtures are runs that show every part of the output, made anew for each test.
func fixtures() map[string]*result.Run {
	return map[string]*result.Run{
		"plain":   plainRun(),
		"samples": samplesRun(),
		"workers": workersRun(),
		"wide":    wideRun(),
		"partial": partialRun(),
		"empty":   emptyRun(),
		"other":   otherRun(),

		"matrix":         matrixRun(),
		"matrix-classic": classicRun(),
		"matrix-partial": partialMatrix(),
		"matrix-invalid": invalidMatrix(),
		"matrix-hostile": hostileMatrix(),
		"matrix-empty":   emptyMatrix(),
	}
}

// plainRun has one good sample.
func plainRun() *result.Run {
	return &result.Run{
		Schema: result.Schema,
		Tool:   result.Tool{Name: "gorun", Version: "v0.1.0", Go: "go1.26.8"},
		Host: result.Host{
			Hostname: "lab", OS: "linux", Arch: "amd64", Kernel: "6.18.2", CPUModel: "Example CPU  8581C @ 2.10GHz",
			Hypervisor: true, CPUs: 2, Online: 2, Cores: 2, LLCs: 1, Nodes: 1, Packages: 1, Allowed: "0-1",
			GOMAXPROCS: 2,
		},
		Experiment: "primes",
		Spec: primesSpec{
			Limit: 200000, Method: "brute", Kernel: "auto", Workers: 50000, Dispatch: "goroutine", Split: "contiguous",
			LockThread: true, Sched: "other",
		},
		Seed: 7, Started: "2026-01-02T03:04:05Z",
		Samples: []result.Sample{plainSample(0, 2.8134567890123456)},
		Findings: []result.Finding{{
			Code: "imbalance", Value: 1.83,
			Message: "The contiguous split gives the last workers the largest numbers: the slowest worker took 1.83" +
				" times the mean. --split interleaved or dynamic evens this out.",
		}},
		Warnings: []result.Warning{{
			Code:    "perf_paranoid",
			Message: "Migrations cannot be counted: perf_event_paranoid is 2 & CAP_PERFMON is missing.",
			Hint:    "run as root, or: sysctl kernel.perf_event_paranoid=1",
		}, {Code: "bare", Message: "A warning without a hint."}},
	}
}

func plainSample(index int, wall float64) result.Sample {
	return result.Sample{
		Index: index, Seconds: wall, UserSeconds: 2 * wall * 0.985, SystemSeconds: 0.0123,
		Values: rendertest.Figures(map[string]any{
			"primes": 17984, "numbers": 200000, "trials": 2.00001e10, "passes": 1, "threads_peak": 13,
			"workers": 50000, "cpu_utilisation": 0.9872, "memory_peak_bytes": 39 << 20, "speedup": 1.96, "cpu_imbalance": 1.012,
			"trials_per_second": 2.00001e10 / wall, "kernel": "avx512",
		}),
		Workers: &result.Workers{
			Count: 50000, Finished: 50000, ChangedCPU: 12, ChangedThread: ptr(0), Imbalance: 1.8312,
			Seconds: result.Distribution{Min: 1e-6, Median: 1e-4, Mean: 1e-4, P99: 2e-4, Max: 2.1e-4},
		},
		CPUs: []result.CPU{
			{CPU: 0, Workers: 25210, Threads: ptr(7), BusySeconds: wall * 0.993},
			{CPU: 1, Workers: 24790, Threads: ptr(6), BusySeconds: wall * 0.981},
		},
		Placement: result.Placement{Requested: "lock-thread", Verified: true, Checked: 50000},
		Quality: result.Quality{Verdict: result.Valid, Signals: result.Signals{
			StealSeconds: ptr(0.0), VoluntarySwitches: ptr(uint64(1203)), InvoluntarySwitches: ptr(uint64(87)),
			MinorFaults: ptr(uint64(512)),
		}},
	}
}

// samplesRun has several samples of every verdict.
func samplesRun() *result.Run {
	run := plainRun()
	run.Samples = nil
	for i, wall := range []float64{2.81, 2.75, 2.93, 3.41, 2.79} {
		run.Samples = append(run.Samples, plainSample(i, wall))
	}
	run.Samples[2].Quality.Verdict = result.Suspect
	run.Samples[2].Quality.Reasons = []string{"another program used 0.4 s of the allowed CPUs"}
	run.Samples[4].Quality.Verdict = result.Suspect
	run.Samples[4].Quality.Reasons = []string{"another program used 0.4 s of the allowed CPUs"}
	run.Samples[3].Quality.Verdict = result.Invalid
	run.Samples[3].Quality.Reasons = []string{"the kernel's affinity of 1 worker is not the requested one", "0.6 s stolen"}
	run.Samples[3].Placement.Verified = false
	run.Samples[3].Placement.Mismatches = []string{"worker 17: asked for CPU 1, is on 0-1"}
	run.Warmups = []result.Sample{plainSample(0, 4)}
	run.Summary = &result.Summary{Samples: 4, Spread: 0.0643, Seconds: result.Distribution{
		Min: 2.75, Median: 2.8, Mean: 2.82, P99: 2.93, Max: 2.93,
	}}
	return run
}

// workersRun has a row a worker.
func workersRun() *result.Run {
	run := plainRun()
	run.Spec = primesSpec{
		Limit: 1000, Method: "trial", Kernel: "generic", Workers: 3, Dispatch: "executor", Split: "interleaved",
		PinCPUs: "0-1", LockThread: true, Nice: ptr(5), Sched: "fifo:3", GOMAXPROCS: 2, Barrier: true,
		DurationSeconds: 1.5,
	}
	s := &run.Samples[0]
	rendertest.Change(s, map[string]any{"kernel": nil, "passes": 41})
	s.Workers.OffCPU = ptr(1)
	s.Placement = result.Placement{Requested: "pin-cpus 0-1, nice 5", Checked: 9, Mismatches: []string{
		"worker 2: asked for CPU 0, is on 0-1", "worker 2: asked for nice 5, is 0", "third", "a fourth is too many",
	}}
	s.WorkersDetail = []result.WorkerDetail{
		{
			Worker: 0, First: 1, Numbers: 334, Primes: 1, Seconds: 12.3e-6, TIDStart: 4242, TIDEnd: 4242,
			PinnedTo: ptr(0), Verified: ptr(true),
		},
		{
			Worker: 1, First: 2, Numbers: 333, Primes: 83, Seconds: 1.05e-3, CPUStart: 1, CPUEnd: 1, TIDStart: 4243,
			TIDEnd: 4243, PinnedTo: ptr(1), Verified: ptr(false),
		},
		{
			Worker: 2, First: 3, Numbers: 333, Primes: 84, Seconds: 0, CPUStart: 0, CPUEnd: 1, Moves: 3, TIDStart: 4244,
			TIDEnd: 4245, PinnedTo: ptr(0), Verified: ptr(false), Mismatch: "0-1",
		},
	}
	return run
}

// wideRun is on 256 CPUs, of which 16 do nothing.
func wideRun() *result.Run {
	run := plainRun()
	run.Host.CPUs, run.Host.Nodes, run.Host.Allowed, run.Host.GOMAXPROCS = 256, 8, "0-126,128,130-255", 256
	run.Host.CPUQuota = ptr(12.5)
	s := &run.Samples[0]
	s.CPUs = nil
	for cpu := range 256 {
		share := result.CPU{CPU: cpu}
		if cpu < 240 {
			share.Workers, share.Threads, share.BusySeconds = 200+cpu%17, ptr(1), s.Seconds*(1-float64(cpu*7%240)/300)
		}
		s.CPUs = append(s.CPUs, share)
	}
	run.Findings, run.Warnings = nil, nil
	return run
}

// partialRun was interrupted in its first sample.
func partialRun() *result.Run {
	run := plainRun()
	run.Partial = true
	s := plainSample(0, 0.0004567)
	s.Partial, s.CPUs, s.Workers = true, nil, nil
	s.Values = rendertest.Figures(map[string]any{"primes": 12})
	s.Quality = result.Quality{Verdict: result.Suspect, Reasons: []string{"interrupted"}}
	s.Placement = result.Placement{Requested: "nice 5"}
	run.Samples = []result.Sample{s}
	run.Findings, run.Warnings = nil, nil
	return run
}

// emptyRun was interrupted before its first sample, on a system that tells little.
func emptyRun() *result.Run {
	return &result.Run{
		Schema: result.Schema, Tool: result.Tool{Name: "gorun", Version: "devel", Go: "go1.26.8"},
		Host: result.Host{OS: "darwin", Arch: "arm64", CPUs: 8, GOMAXPROCS: 8}, Experiment: "primes",
		Spec: primesSpec{Method: "brute", Workers: 1}, Partial: true,
	}
}

// otherRun is of an experiment that has no heading of its own, as it comes from a journal.
func otherRun() *result.Run {
	run := plainRun()
	run.Experiment = "latency"
	run.Spec = map[string]any{
		"pairs": "per core", "cpus": []any{0.0, 3.0}, "nodes": []any{}, "count": 4096, "off": false, "none": nil,
		"axis": map[string]any{"low": 1, "high": 0},
	}
	run.Findings, run.Warnings = nil, nil
	s := &run.Samples[0]
	s.Values = rendertest.Figures(map[string]any{"ping_seconds": 64e-9, "hops": 3, "note": "a/b \"c\"", "seconds": 5.5, "ok": true})
	s.CPUs, s.Workers = nil, nil
	s.Placement = result.Placement{Requested: "none"}
	return run
}
