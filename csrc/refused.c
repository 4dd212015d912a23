// The Go runtime prints its stacks and aborts where the kernel refuses it a thread, memory, or the descriptors of its poller. Here the
// process ends with an error and a hint instead, as it does at any other refusal. The linker makes the runtime's calls of pthread_create
// and mmap calls of these functions (--wrap, in refused.go). Other processes undo what this one has changed, as after a SIGKILL.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "refused.h"

int gorun_refused_exit = 1;

static const char files_hint[] = "raise the limit on open files, RLIMIT_NOFILE (ulimit -n)";
static const char threads_hint[] = "raise the limit on threads: RLIMIT_NPROC of the user (ulimit -u), or pids.max of the control group "
				   "(systemd: TasksMax; Docker: --pids-limit)";
static const char memory_hint[] = "raise the limit on memory: RLIMIT_AS (ulimit -v), or RLIMIT_DATA (ulimit -d)";

// refused ends the process. It allocates no memory.
static _Noreturn void refused(const char *what, int error, const char *hint)
{
	static int told;
	char text[512];
	int n;

	if (__atomic_exchange_n(&told, 1, __ATOMIC_SEQ_CST)) {
		for (;;)
			pause(); // another thread ends the process
	}
	n = snprintf(text, sizeof text, "gorun: error: the kernel refuses %s: %s\ngorun: hint: %s\n", what, strerror(error), hint);
	if (write(STDERR_FILENO, text, n) < 0)
		_exit(gorun_refused_exit); // nobody reads it
	_exit(gorun_refused_exit);
}

// need_files runs before Go. The runtime keeps two descriptors for the quota of the control group and two for its poller, and opens
// files.
__attribute__((constructor)) static void need_files(void)
{
	int files[5];
	size_t n = 0;

	while (n < sizeof files / sizeof *files && (files[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	if (n < sizeof files / sizeof *files && errno == EMFILE)
		refused("another open file", EMFILE, files_hint);
	while (n > 0)
		close(files[--n]);
}

#ifdef __GLIBC__
// one_arena: glibc reserves 64 MiB of address space for most threads (malloc/arena.c), which a limit on it counts. gorun's C code allocates
// too little to need that.
__attribute__((constructor)) static void one_arena(void)
{
	mallopt(M_ARENA_MAX, 1);
}
#endif

void *__real_mmap(void *address, size_t length, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int file, off_t offset);

// __wrap_mmap lets those mappings fail that the runtime can do without: it then reserves another address, or uses the system call that
// a page of its own would have made faster (vgetrandom), whose flags are others.
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
	void *memory = __real_mmap(address, length, protection, flags, file, offset);
	int reserves = protection == PROT_NONE && address != NULL;

	if (memory == MAP_FAILED && errno == ENOMEM && !reserves && (flags & ~MAP_FIXED) == (MAP_ANONYMOUS | MAP_PRIVATE))
		refused("memory", ENOMEM, memory_hint);
	return memory;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);

// __wrap_pthread_create tries for as long as runtime/cgo does, 0.2 s.
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument)
{
	for (int try = 1;; try++) {
		int error = __real_pthread_create(thread, attributes, body, argument);

		if (error != EAGAIN)
			return error;
		if (try == 20)
			break;
		nanosleep(&(struct timespec){.tv_nsec = try * 1000000}, NULL);
	}
	// It is the same error where there is no memory for a stack.
	size_t size = 8 << 20;
	pthread_attr_getstacksize(attributes, &size);
	void *stack = __real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		refused("memory for another thread", ENOMEM, memory_hint);
	refused("another thread", EAGAIN, threads_hint);
}
