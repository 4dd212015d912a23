#include "watch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads to look at in one period, so that a look takes some 20 us. */
#define THREADS_AT_ONCE 64

static struct gorun_state state(const struct gorun_watched *thread)
{
	struct gorun_state is;
	struct gorun_attributes *a = &is.attributes;

	memset(&is, 0, sizeof(is)); /* including padding, since it is compared as a whole */
	if (syscall(SYS_sched_getaffinity, thread->tid, sizeof(is.mask), is.mask) < 0)
		is.ended = errno == ESRCH;
	if (thread->attributes && syscall(SYS_sched_getattr, thread->tid, a, sizeof(*a), 0) < 0)
		memset(a, 0, sizeof(*a));
	memset(a->times, 0, sizeof(a->times)); /* a policy's time slice is not part of the placement */
	return is;
}

/* Reads the CPU time of a thread's process (clock_getcpuclockid(3)), and whether it has grown since the last look. */
static void read_used(struct gorun_watched *thread)
{
	struct timespec t = { 0 };
	const int sched = 2; /* CPUCLOCK_SCHED (include/linux/posix-timers_types.h) */

	clock_gettime((clockid_t)(~(uint32_t)thread->tid << 3 | sched), &t); /* fails for a thread other than the main one */
	int64_t used = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;

	thread->idle = used == thread->used;
	thread->used = used;
}

void gorun_watched_look(struct gorun_watched *thread)
{
	thread->was = state(thread);
	read_used(thread);
}

/* Reports whether a thread's settings have changed. */
static bool changed(struct gorun_watched *thread)
{
	if (thread->was.ended)
		return false;
	struct gorun_state is = state(thread);

	read_used(thread);
	thread->looks++;
	thread->was.ended = is.ended;
	return !is.ended && memcmp(&is, &thread->was, sizeof(is)) != 0;
}

int64_t gorun_watch(struct gorun_watched *const *threads, size_t n, int64_t period, int32_t *stop)
{
	struct timespec t = { .tv_sec = period / 1000000000, .tv_nsec = period % 1000000000 };
	size_t next = 0;

	if (stop == NULL)
		return -EINVAL;
	for (;;) {
		syscall(SYS_futex, stop, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0); /* a signal only makes the next look earlier */
		if (gorun_stopped(stop))
			return -1;
		for (size_t k = 0; k < n && k < THREADS_AT_ONCE; k++) {
			size_t i = next++ % n;

			if (changed(threads[i]))
				return i;
		}
	}
}

void gorun_watch_stop(int32_t *stop)
{
	__atomic_store_n(stop, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, stop, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
