package csrc

/*
#cgo LDFLAGS: -Wl,--wrap=pthread_create -Wl,--wrap=mmap
#include "refused.h"
*/
import "C"

// ExitWhereRefused sets the exit code of this process for the case that the kernel refuses it what the Go runtime cannot do without;
// 1 if this is not called.
func ExitWhereRefused(code int) { C.gorun_refused_exit = C.int(code) }
