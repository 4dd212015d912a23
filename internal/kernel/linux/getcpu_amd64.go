package linux

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Linux keeps node<<12|cpu of each CPU in two places that a program can read without a system call: IA32_TSC_AUX, which
// RDPID returns, and the limit of a segment (arch/x86/include/asm/vdso/processor.h, arch/x86/kernel/cpu/common.c
// setup_getcpu). The vDSO's getcpu uses the same two, in this order. RDTSCP would read IA32_TSC_AUX too, on CPUs
// without RDPID, but it waits for the instructions before it; the segment limit does not.
const (
	cpuNodeSegment = 15<<3 | 3 // __CPUNODE_SEG
	cpuNodeBits    = 12        // VDSO_CPUNODE_BITS
	cpuNodeMask    = 1<<cpuNodeBits - 1
)

// rdpid returns IA32_TSC_AUX. The CPU must have the instruction.
func rdpid() uint32

// segmentLimit returns the limit of a segment; ok is false if a program may not read that descriptor.
func segmentLimit(selector uint32) (limit uint32, ok bool)

// cpuid executes CPUID.
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// The methods of finding the CPU. The zero value is "not chosen yet".
const (
	_ = iota
	byRDPID
	bySegment
	byCall
)

var (
	getcpuWay  atomic.Uint32
	getcpuOnce sync.Once
)

// Getcpu returns the CPU that the calling thread runs on; -1 if it is unknown. The thread may be moved before the
// caller uses the result, unless it is pinned.
//
// It takes a few nanoseconds, with an instruction that was checked against getcpu(2) at the first use, which takes some
// 100 µs. If the check fails (a virtual machine or sandbox that does not set IA32_TSC_AUX) it uses the system call.
func Getcpu() int {
	switch getcpuWay.Load() {
	case byRDPID:
		return int(rdpid() & cpuNodeMask)
	case bySegment:
		limit, _ := segmentLimit(cpuNodeSegment)
		return int(limit & cpuNodeMask)
	case byCall:
		return getcpuCall()
	}
	getcpuOnce.Do(func() { getcpuWay.Store(chooseGetcpu()) })
	return Getcpu()
}

// chooseGetcpu finds the first method whose answers are right. It visits CPUs on another goroutine, so that a caller
// that is locked to its thread is not moved.
func chooseGetcpu() uint32 {
	way := make(chan uint32)
	go func() { way <- tryGetcpu() }()
	return <-way
}

// tryGetcpu compares each method with getcpu(2) on two of the allowed CPUs, if there are two.
func tryGetcpu() uint32 {
	allowed, err := GetAffinity(0)
	if err != nil || allowed.Last() > cpuNodeMask {
		return byCall // the encoding has no room for such a CPU
	}
	rdpidRight := hasRDPID()
	segmentRight := true
	err = VisitCPUs([]int{allowed.First(), allowed.Last()}, func(cpu int) error {
		if is := getcpuCall(); is != cpu && is >= 0 { // a filter on the call does not affect the others
			return errors.New("the thread is not on the CPU that it was pinned to")
		}
		rdpidRight = rdpidRight && int(rdpid()&cpuNodeMask) == cpu
		limit, ok := segmentLimit(cpuNodeSegment)
		segmentRight = segmentRight && ok && int(limit&cpuNodeMask) == cpu
		return nil
	})
	switch {
	case err != nil:
		return byCall
	case rdpidRight && allowed.Last() > 0: // a register that was never set reads 0, which looks right on CPU 0
		return byRDPID
	case segmentRight: // a segment that was never set has no limit
		return bySegment
	}
	return byCall
}

// hasRDPID reads CPUID.07H:ECX.RDPID[bit 22] (Intel SDM volume 2, CPUID).
func hasRDPID() bool {
	most, _, _, _ := cpuid(0, 0)
	if most < 7 {
		return false
	}
	_, _, ecx, _ := cpuid(7, 0)
	return ecx&(1<<22) != 0
}
