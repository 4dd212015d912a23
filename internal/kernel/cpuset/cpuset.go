// Package cpuset holds sets of CPU (and NUMA node) numbers of any size, and reads and writes them in the kernel's
// list format (Documentation/admin-guide/kernel-parameters.rst, "cpu lists"; lib/bitmap.c, bitmap_parselist):
// "0-3,8,16-31:2/4".
//
// A Set is an immutable value; the zero Set is empty.
package cpuset

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// Max is the highest CPU number in a Set. Linux supports up to 8192 CPUs (NR_CPUS); the bound limits the memory for a
// hostile list such as "0-4000000000".
const Max = 1<<16 - 1

// Set is a set of CPU numbers from 0 to Max.
type Set struct {
	words []uint64 // bit i%64 of words[i/64] is CPU i; no trailing zero word
}

// Of returns the set of the given CPUs. It panics for a number outside 0…Max, since numbers come from the kernel or
// from Parse.
func Of(cpus ...int) Set {
	var s Set
	for _, cpu := range cpus {
		s.set(cpu)
	}
	return s
}

// Range returns the set of lo…hi, both included; it is empty when hi < lo.
func Range(lo, hi int) Set {
	var s Set
	for cpu := lo; cpu <= hi; cpu++ {
		s.set(cpu)
	}
	return s
}

// FromWords returns the set whose bit i%64 of words[i/64] is CPU i: the layout of sched_getaffinity(2) on a
// little-endian or 64-bit machine. Bits above Max are ignored.
func FromWords(words []uint64) Set {
	if len(words) > (Max+1)/64 {
		words = words[:(Max+1)/64]
	}
	return Set{trim(append([]uint64(nil), words...))}
}

// Words returns the set as words of 64 bits, at least n of them: the inverse of FromWords.
func (s Set) Words(n int) []uint64 {
	out := make([]uint64, max(n, len(s.words)))
	copy(out, s.words)
	return out
}

// set adds a CPU in place; only constructors call it, on a Set that is not shared yet.
func (s *Set) set(cpu int) {
	if cpu < 0 || cpu > Max {
		panic(fmt.Sprintf("cpuset: CPU %d is outside 0-%d", cpu, Max))
	}
	for len(s.words) <= cpu/64 {
		s.words = append(s.words, 0)
	}
	s.words[cpu/64] |= 1 << (cpu % 64)
}

func trim(words []uint64) []uint64 {
	for len(words) > 0 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	return words
}

// Contains reports whether the set contains the CPU.
func (s Set) Contains(cpu int) bool {
	return cpu >= 0 && cpu/64 < len(s.words) && s.words[cpu/64]&(1<<(cpu%64)) != 0
}

// Len returns the number of CPUs in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty reports whether the set is empty.
func (s Set) Empty() bool { return len(s.words) == 0 }

// First returns the lowest CPU of the set, or -1 if it is empty.
func (s Set) First() int {
	for cpu := range s.All() {
		return cpu
	}
	return -1
}

// Last returns the highest CPU of the set, or -1 if it is empty.
func (s Set) Last() int {
	if s.Empty() {
		return -1
	}
	top := len(s.words) - 1
	return top*64 + 63 - bits.LeadingZeros64(s.words[top])
}

// All yields the CPUs in ascending order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range s.words {
			for ; w != 0; w &= w - 1 {
				if !yield(i*64 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// List returns the CPUs in ascending order; never nil, so that JSON has [].
func (s Set) List() []int {
	out := make([]int, 0, s.Len())
	for cpu := range s.All() {
		out = append(out, cpu)
	}
	return out
}

// Equal reports whether both sets contain the same CPUs.
func (s Set) Equal(t Set) bool {
	if len(s.words) != len(t.words) {
		return false
	}
	for i, w := range s.words {
		if w != t.words[i] {
			return false
		}
	}
	return true
}

// With returns the set with one more CPU.
func (s Set) With(cpu int) Set { return s.Union(Of(cpu)) }

// Union returns the CPUs in either set.
func (s Set) Union(t Set) Set {
	return s.combine(t, func(a, b uint64) uint64 { return a | b })
}

// Intersect returns the CPUs in both sets.
func (s Set) Intersect(t Set) Set {
	return s.combine(t, func(a, b uint64) uint64 { return a & b })
}

// Minus returns the CPUs of s that are not in t.
func (s Set) Minus(t Set) Set {
	return s.combine(t, func(a, b uint64) uint64 { return a &^ b })
}

func (s Set) combine(t Set, op func(a, b uint64) uint64) Set {
	n := max(len(s.words), len(t.words))
	a, b := s.Words(n), t.Words(n)
	for i := range a {
		a[i] = op(a[i], b[i])
	}
	return Set{trim(a)}
}

// String returns the set in the kernel's list format, "0-3,8"; the empty set is "".
func (s Set) String() string {
	var b strings.Builder
	start, last := -1, -1
	flush := func() {
		if start < 0 {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(start))
		if last > start {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(last))
		}
	}
	for cpu := range s.All() {
		if cpu != last+1 || start < 0 {
			flush()
			start = cpu
		}
		last = cpu
	}
	flush()
	return b.String()
}

// FormatList formats CPUs in the given order, with ascending runs as ranges: "0-3,8", "3,1".
func FormatList(cpus []int) string {
	var words []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		words = append(words, Range(cpus[i], cpus[j]).String())
		i = j + 1
	}
	return strings.Join(words, ",")
}

// MarshalText returns String(), so that a Set in JSON is a kernel list.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses like Parse.
func (s *Set) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// ErrSyntax is wrapped by every error of Parse.
var ErrSyntax = errors.New("not a CPU list")

// Parse parses the kernel's list format: numbers and ranges joined by commas, each range optionally with
// ":used/group" (the first `used` CPUs of every `group`). Like the kernel's files, it allows white space around the
// list and around commas, a trailing newline and an empty list. Errors wrap ErrSyntax.
func Parse(list string) (Set, error) {
	var s Set
	list = strings.TrimSpace(strings.TrimRight(list, "\x00"))
	if list == "" {
		return s, nil
	}
	for field := range strings.SplitSeq(list, ",") {
		lo, hi, used, group, err := parseRange(strings.TrimSpace(field))
		if err != nil {
			return Set{}, err
		}
		for cpu := lo; cpu <= hi; cpu++ {
			if (cpu-lo)%group < used {
				s.set(cpu)
			}
		}
	}
	return s, nil
}

// parseRange parses "N", "LO-HI" or "LO-HI:USED/GROUP".
func parseRange(field string) (lo, hi, used, group int, err error) {
	span, stride, hasStride := strings.Cut(field, ":")
	first, second, hasHi := strings.Cut(span, "-")
	if lo, err = parseNumber(first, field); err != nil {
		return
	}
	hi = lo
	if hasHi {
		if hi, err = parseNumber(second, field); err != nil {
			return
		}
		if hi < lo {
			err = fmt.Errorf("%w: %.40q ends before it starts", ErrSyntax, field)
			return
		}
	}
	used, group = 1, 1
	if hasStride {
		first, second, ok := strings.Cut(stride, "/")
		if !ok || !hasHi {
			err = fmt.Errorf("%w: %.40q: a stride is written LO-HI:USED/GROUP", ErrSyntax, field)
			return
		}
		if used, err = parseNumber(first, field); err != nil {
			return
		}
		if group, err = parseNumber(second, field); err != nil {
			return
		}
		if used < 1 || group < used {
			err = fmt.Errorf("%w: %.40q: a stride needs 1 <= USED <= GROUP", ErrSyntax, field)
		}
	}
	return
}

func parseNumber(text, field string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%w: %.40q", ErrSyntax, field)
	case err != nil || n > Max:
		return 0, fmt.Errorf("%w: %.40q: CPU numbers end at %d", ErrSyntax, field, Max)
	}
	return int(n), nil
}
