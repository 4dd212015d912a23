package csrc

/*
#include <stdlib.h>
#include <sys/mman.h>
#include "start.h"
*/
import "C"

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Start starts programs that begin at the same time: Run forks each, and Open lets all of them go.
type Start struct {
	*Shared   // the gate
	c         *C.struct_gorun_start
	processes int
	sleeping  atomic.Int32 // calls of Run
}

// Program is what a process of a Start becomes.
type Program struct {
	Path      string // not looked up
	Argv, Env []string
	Files     []*os.File // its descriptors from 0 on; the others are closed, except descriptors that any program inherits
}

// NewStart returns a Start of this number of processes. Free it when all of them have begun or ended.
func NewStart(processes int) (*Start, error) {
	c, err := C.gorun_start_new(C.int(processes))
	if c == nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return &Start{Shared: &Shared{&c.gate}, c: c, processes: processes}, nil
}

// Run forks the calling thread, which must be locked. The new process has the thread's setting, dies with the thread, and waits for
// Open before it becomes the program. A file that the kernel does not know how to run is run by /bin/sh, as execvp(3) does. The thread
// sleeps until the process has become the program, or has ended; before that, forked is called with its PID, or with an error.
func (s *Start) Run(number int, p Program, forked func(pid int, err error)) {
	path := C.CString(p.Path)
	defer C.free(unsafe.Pointer(path))
	shell := append([]string{"/bin/sh", p.Path}, p.Argv[min(1, len(p.Argv)):]...)
	var lists [3]**C.char
	for i, words := range [][]string{p.Argv, shell, p.Env} {
		list, free := cStrings(words)
		defer free()
		lists[i] = list
	}
	files := make([]C.int, len(p.Files))
	for i, f := range p.Files {
		files[i] = C.int(f.Fd())
	}
	pinned := new(runtime.Pinner)
	defer pinned.Unpin()
	a := C.struct_gorun_start_args{
		number: C.int(number), path: path, argv: lists[0], shell: lists[1], env: lists[2], file_count: C.int(len(files)),
	}
	if len(files) > 0 {
		pinned.Pin(&files[0])
		a.files = &files[0]
	}
	s.sleeping.Add(1)
	defer s.sleeping.Add(-1)
	syscall.ForkLock.Lock() // no descriptor is open and not yet closed on exec
	told := make(chan struct{})
	go func() {
		defer close(told)
		pid := int(C.gorun_start_forked(s.c, a.number))
		syscall.ForkLock.Unlock()
		if pid < 0 {
			forked(0, os.NewSyscallError("fork", syscall.Errno(-pid)))
			return
		}
		forked(pid, nil)
	}()
	C.gorun_start_run(s.c, &a)
	<-told
	runtime.KeepAlive(p.Files)
}

// cStrings returns an array of C strings that ends with NULL.
func cStrings(words []string) (list **C.char, free func()) {
	memory := C.calloc(C.size_t(len(words)+1), C.size_t(unsafe.Sizeof(list)))
	list = (**C.char)(memory)
	texts := unsafe.Slice(list, len(words)+1)
	for i, word := range words {
		texts[i] = C.CString(word)
	}
	return list, func() {
		for _, text := range texts {
			C.free(unsafe.Pointer(text))
		}
		C.free(memory)
	}
}

// Failed returns the error with which a process could not become its program, after its end; nil: it did.
func (s *Start) Failed(number int) error {
	processes := unsafe.Slice((*C.struct_gorun_started)(unsafe.Add(unsafe.Pointer(s.c), C.sizeof_struct_gorun_start)), s.processes)
	if errno := processes[number].failed; errno != 0 {
		return syscall.Errno(errno)
	}
	return nil
}

// Free releases the memory, unless a process still uses it.
func (s *Start) Free() {
	if s.sleeping.Load() == 0 {
		C.munmap(unsafe.Pointer(s.c), C.gorun_start_bytes(C.int(s.processes)))
	}
}
