// Package contend measures what CPUs do to each other when they work on the same cache line. It holds the operations
// and the load patterns of `gorun contend`, and the pinned threads that run them, which `gorun c2c` uses too.
package contend

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"gorun/csrc"
	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
)

// Op is an operation that threads repeat on a word of memory. It does not exist on an architecture for which it names
// no instruction.
type Op struct {
	Name      string
	Usage     string
	AMD64     string // the instruction that the loop repeats
	ARM64     string // with the LSE atomics of Armv8.1, if they make a difference
	ARM64LLSC string // with Armv8.0's exclusive loads and stores, if they make a difference
	Fails     bool   // may find a value other than the expected one: such failures are counted
	Bit       bool   // works on a bit of a bitmap
	Go        bool   // Go code, available on every architecture
}

// The variants of arm64's atomics.
const (
	LSE  = "lse"
	LLSC = "llsc"
)

// All stands for every operation of the architecture.
const All = "all"

// goAdd is shown as the instruction of Go's own loop on an architecture without a named one.
const goAdd = "atomic.AddUint64"

// Ops lists all operations, in the order in which All uses them. To add one, add a row here and a loop of the same
// name for each architecture in csrc: help, completion, validation and the test that disassembles the loops use this
// table. If ccont, from which the names come, runs something other than an operation's name, Usage mentions it.
var Ops = [...]Op{
	{Name: "idle", Usage: "counts down in a register: the cost of the loop itself", AMD64: "dec", ARM64: "sub"},
	{Name: "memset64", Usage: "calls libc's memset for 64 bytes, a cache line on most CPUs; ccont's call is optimised away", AMD64: "call memset", ARM64: "blr memset"},
	{Name: "memset128", Usage: "calls libc's memset for 128 bytes; ccont's call is optimised away", AMD64: "call memset", ARM64: "blr memset"},
	{Name: "memset256", Usage: "calls libc's memset for 256 bytes; ccont's call is optimised away", AMD64: "call memset", ARM64: "blr memset"},
	{Name: "test_bit", Usage: "reads one bit, as the kernel's test_bit(); ccont's compiles to nothing", AMD64: "bt", ARM64: "ldr", Bit: true},
	{
		Name: "set_bit", Usage: "sets a bit and returns its old value, as test_and_set_bit(); ccont's is not atomic",
		AMD64: "lock bts", ARM64: "ldsetal", ARM64LLSC: "ldaxr/stlxr", Bit: true,
	},
	{
		Name: "inc", Usage: "adds 1 and returns nothing, as atomic_inc(); ccont's is on each thread's own stack and never contends",
		AMD64: "lock inc", ARM64: "stadd", ARM64LLSC: "ldxr/stxr",
	},
	{
		Name: "xadd", Usage: "adds and returns the old value, as atomic_fetch_add(); ccont's is a lock add, which returns nothing",
		AMD64: "lock xadd", ARM64: "ldaddal", ARM64LLSC: "ldaxr/stlxr",
	},
	{
		Name: "cmpxchg", Usage: "one attempt to replace the value last seen, as cmpxchg(); failures are counted; ccont's nearly all fail",
		AMD64: "lock cmpxchg", ARM64: "casal", ARM64LLSC: "ldaxr/stlxr", Fails: true,
	},
	{
		Name: "cmpxchg-fail", Usage: "a compare-and-swap that always finds an unexpected value, as nearly all of ccont's cmpxchg do",
		AMD64: "lock cmpxchg", ARM64: "casal", ARM64LLSC: "ldaxr/stlxr", Fails: true,
	},
	{Name: "xchg", Usage: "stores a value and returns the old one, as xchg()", AMD64: "xchg", ARM64: "swpal", ARM64LLSC: "ldaxr/stlxr"},
	{Name: "mfence", Usage: "orders loads and stores: mb(), and on arm64 smp_mb(); x86-64's smp_mb() is a locked add today", AMD64: "mfence", ARM64: "dmb ish"},
	{Name: "mov+mfence", Usage: "stores and then orders loads and stores, as a store followed by mb()", AMD64: "mov; mfence", ARM64: "str; dmb ish"},
	{Name: "lfence", Usage: "orders loads: rmb(), and on arm64 smp_rmb(); x86-64's smp_rmb() needs no instruction", AMD64: "lfence", ARM64: "dmb ishld"},
	{Name: "sfence", Usage: "orders stores: wmb(), and on arm64 smp_wmb(); x86-64's smp_wmb() needs no instruction", AMD64: "sfence", ARM64: "dmb ishst"},
	{Name: "syscall", Usage: "getppid(): into the kernel and back", AMD64: "syscall", ARM64: "svc"},
	{Name: "syscall-enosys", Usage: "a system call that does not exist: into the kernel and back, as ccont's syscall", AMD64: "syscall", ARM64: "svc"},
	{Name: "load", Usage: "reads the word, as READ_ONCE()", AMD64: "mov", ARM64: "ldr"},
	{Name: "store", Usage: "writes the word, as WRITE_ONCE()", AMD64: "mov", ARM64: "str"},
	{
		Name: "cas-loop", Usage: "adds 1 by compare-and-swap, tried again until it succeeds; failures are counted",
		AMD64: "lock cmpxchg", ARM64: "casal", ARM64LLSC: "ldaxr/stlxr", Fails: true,
	},
	{Name: "isb", Usage: "waits until all instructions before it are done, and fetches anew (arm64 only)", ARM64: "isb"},
	{Name: goOp, Usage: "Go's atomic.AddUint64 in a loop of Go code, to compare with xadd", AMD64: "lock xadd", ARM64: "ldaddal, or ldaxr/stlxr without LSE", Go: true},
}

// Variants returns the variants of an architecture's atomics; nil if there is only one.
func Variants(arch string) []string {
	if arch == "arm64" {
		return []string{LSE, LLSC}
	}
	return nil
}

// Entry implements catalog.Entry.
func (o Op) Entry() (name, usage string) { return o.Name, o.Usage }

// Instruction returns the instruction that the operation's loop repeats on an architecture (a GOARCH); "" if the
// operation does not exist there. The variant matters only for atomics.
func (o Op) Instruction(arch, variant string) string {
	switch {
	case arch == "amd64":
		return o.AMD64
	case arch == "arm64" && variant == LLSC && o.ARM64LLSC != "":
		return o.ARM64LLSC
	case arch == "arm64":
		return o.ARM64
	case o.Go:
		return goAdd
	}
	return ""
}

// parseOps returns the operations of a comma-joined list, in its order and without duplicates, or all that this architecture has.
func parseOps(list string) ([]Op, error) {
	if list == All {
		return slices.DeleteFunc(slices.Clone(Ops[:]), func(o Op) bool { return o.Instruction(runtime.GOARCH, "") == "" }), nil
	}
	return catalog.ParseList(list, lookupOp)
}

// lookupOp returns the operation of that name, which this architecture has.
func lookupOp(name string) (Op, error) {
	op, err := catalog.Find(Ops[:], "operation", name)
	switch {
	case err != nil:
		return op, hint.With(fmt.Errorf("unknown operation %q: there are %s, %s", name, All, catalog.List(Ops[:])), hint.Of(err))
	case op.Instruction(runtime.GOARCH, "") == "":
		return op, fmt.Errorf("%s: not on this architecture (%s): %w", name, runtime.GOARCH, errors.ErrUnsupported)
	}
	return op, nil
}

// parseVariant returns a variant that this architecture has.
func parseVariant(name string) (string, error) {
	variants := Variants(runtime.GOARCH)
	switch {
	case len(variants) == 0:
		return "", fmt.Errorf("%s has no variants of operations", runtime.GOARCH)
	case !slices.Contains(variants, name):
		return "", hint.With(fmt.Errorf("unknown variant %q: there are %s", name, strings.Join(variants, ", ")), hint.Near(name, variants))
	}
	return name, nil
}

// bestVariant returns the best variant that this machine's CPUs support; "" if the architecture has a single one.
func bestVariant() string {
	switch {
	case len(Variants(runtime.GOARCH)) == 0:
		return ""
	case csrc.HasLSE():
		return LSE
	}
	return LLSC
}
