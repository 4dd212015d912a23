package linux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// getcpuCall asks the kernel (getcpu(2)) for the CPU the calling thread runs on.
func getcpuCall() int {
	var cpu uint32
	// It fails only for a bad address, or if a filter forbids it. Then the CPU is unknown.
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return -1
	}
	return int(cpu)
}
