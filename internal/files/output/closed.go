package output

/*
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int closed;

// The Go runtime opens /dev/null in the place of a closed descriptor (runtime.checkfds), so look before it starts.
__attribute__((constructor)) static void look(void) {
	closed = fcntl(STDOUT_FILENO, F_GETFD) == -1 && errno == EBADF;
}

static int stdout_closed(void) { return closed; }
*/
import "C"

// closedAtStart reports whether this process was started without a stdout.
func closedAtStart() bool { return C.stdout_closed() != 0 }
