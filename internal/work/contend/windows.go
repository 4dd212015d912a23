package contend

import (
	"time"

	"gorun/csrc"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// leastShare is the least part of a window in which a thread must have had its CPU for the window to count: a timer's
// interrupt takes less than the rest, a switch to another thread more.
const leastShare = 0.95

// span is a thread's work during an interval.
type span struct {
	operations, failures uint64
	ns                   int64
}

func (s *span) add(t span) {
	s.operations += t.operations
	s.failures += t.failures
	s.ns += t.ns
}

func (s *span) nsPerOp() float64 {
	if s.operations == 0 {
		return 0
	}
	return float64(s.ns) / float64(s.operations)
}

// rowTimes is the result of a row.
type rowTimes struct {
	spans     []span    // one per thread, of the counted part
	overlap   float64   // part of the time in which all ran
	windows   []float64 // mean ns per operation of the threads, of each window that counts
	windowsOf int       // all windows
}

// byCount counts all work of the threads. They start at the same time and end when they are done, so that the slow ones
// run alone at the end, and then faster.
func byCount(threads []csrc.ContendResult) rowTimes {
	t := rowTimes{spans: make([]span, len(threads))}
	first, last := threads[0].Start, threads[0].End
	latestStart, firstEnd := first, last
	for i, r := range threads {
		t.spans[i] = span{r.Operations, r.Failures, r.End - r.Start}
		first, last = min(first, r.Start), max(last, r.End)
		latestStart, firstEnd = max(latestStart, r.Start), min(firstEnd, r.End)
	}
	if last > first {
		t.overlap = max(0, float64(firstEnd-latestStart)/float64(last-first))
	}
	return t
}

// byTime counts only the windows in which all threads ran: each made its mark soon after the start and the end of the
// window, and had its CPU in between. A thread that was switched out, or whose virtual CPU was, misses a mark.
func byTime(threads []csrc.ContendResult, window, whole time.Duration) rowTimes {
	t := rowTimes{spans: make([]span, len(threads)), windowsOf: max(0, int(whole/window)-1)} // none precedes the first mark
	marks := make([]map[int64]csrc.Mark, len(threads))
	for i, r := range threads {
		marks[i] = make(map[int64]csrc.Mark, len(r.Marks))
		for _, m := range r.Marks {
			marks[i][(m.NS-r.Origin)/int64(window)] = m
		}
	}
	last := int64(0) // window with a mark at its end
	if n := len(threads[0].Marks); n > 0 {
		last = min(int64(t.windowsOf), (threads[0].Marks[n-1].NS-threads[0].Origin)/int64(window)-1)
	}
	in := make([]span, len(threads))
	for w := int64(1); w <= last; w++ {
		all, mean := true, 0.0
		for i := range marks {
			from, began := marks[i][w]
			to, ended := marks[i][w+1]
			in[i] = span{to.Operations - from.Operations, to.Failures - from.Failures, to.NS - from.NS}
			if !began || !ended || float64(to.CPUNS-from.CPUNS) < leastShare*float64(in[i].ns) {
				all = false
				break
			}
			mean += in[i].nsPerOp() / float64(len(in))
		}
		if !all {
			continue
		}
		for i := range in {
			t.spans[i].add(in[i])
		}
		t.windows = append(t.windows, mean)
	}
	if t.windowsOf > 0 {
		t.overlap = float64(len(t.windows)) / float64(t.windowsOf)
	}
	return t
}

// fill sets a row's figures from those of the threads, with their failures if the operation counts them.
func (t rowTimes) fill(v *Figures, fails bool) {
	rates, times := make([]float64, len(t.spans)), make([]float64, len(t.spans)) // operations a second, ns per operation
	v.Min, v.Max = t.spans[0].nsPerOp(), t.spans[0].nsPerOp()
	var failures uint64
	if fails {
		v.Failures = &failures
	}
	for i := range t.spans {
		s := &t.spans[i]
		ns := s.nsPerOp()
		if failures += s.failures; fails {
			v.Threads[i].Failures = &s.failures
		}
		times[i] = ns
		v.NsPerOp += ns / float64(len(t.spans))
		v.Min, v.Max = min(v.Min, ns), max(v.Max, ns)
		v.Operations += s.operations
		if s.ns > 0 {
			rates[i] = float64(s.operations) / (float64(s.ns) / 1e9)
		}
		v.OpsPerSecond += rates[i]
		v.Threads[i].NsPerOp, v.Threads[i].Operations, v.Threads[i].Seconds = ns, s.operations, float64(s.ns)/1e9
	}
	v.Stdev = stats.StandardDeviation(times)
	v.Fairness, v.FairnessMinMax = fairness(rates)
	v.Overlap = &t.overlap
	if v.Mode == ByTime {
		v.Windows, v.WindowsOf = len(t.windows), t.windowsOf
		d := result.Distribute(t.windows)
		v.WindowsNs = &d
	}
}

// fairness is Jain's index (Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination", DEC-TR-301,
// 1984), and the lowest rate over the highest. It is 1 without any work.
func fairness(rates []float64) (jain, minMax float64) {
	sum, squares := 0.0, 0.0
	least, most := rates[0], rates[0]
	for _, r := range rates {
		sum += r
		squares += r * r
		least, most = min(least, r), max(most, r)
	}
	if most == 0 {
		return 1, 1
	}
	return sum * sum / (float64(len(rates)) * squares), least / most
}
