#include "futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool ended(const struct gorun_wake_futex *shared)
{
	return gorun_stopped(&shared->word);
}

void gorun_wake_futex_stop(struct gorun_wake_futex *shared)
{
	__atomic_store_n(&shared->word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shared->word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Wakes the other thread once it sleeps. That thread may need this CPU first, so a failed attempt yields it. */
static int wake(struct gorun_wake_futex *shared)
{
	while (!ended(shared)) {
		__atomic_store_n(&shared->sent, gorun_now(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
		long woken = syscall(SYS_futex, &shared->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);

		if (woken < 0)
			return -errno;
		if (woken > 0)
			return 0;
		sched_yield();
	}
	return -ECANCELED;
}

/* Sleeps until the other thread wakes this one, and returns the latency of the wake-up in ns. */
static int64_t nap(struct gorun_wake_futex *shared)
{
	while (syscall(SYS_futex, &shared->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) != 0) {
		if (ended(shared))
			return -ECANCELED;
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	int64_t now = gorun_now(CLOCK_MONOTONIC), took = now - __atomic_load_n(&shared->sent, __ATOMIC_ACQUIRE);

	if (ended(shared))
		return -ECANCELED; /* woken by the end */
	return took > 0 ? took : 0; /* the clocks of two CPUs may differ by some ns */
}

int gorun_wakeups(const struct gorun_wakeups_args *args, double *ns, struct gorun_wakeups_result *result)
{
	int64_t took;
	int err = 0;

	*result = (struct gorun_wakeups_result){ 0 };
	if (args->shared == NULL || args->trips == 0 || ns == NULL)
		return -EINVAL;
	for (uint64_t trip = 0; trip < args->trips && err == 0; trip++) {
		if (args->first && (err = wake(args->shared)) != 0)
			break;
		if ((took = nap(args->shared)) < 0) {
			err = (int)took;
			break;
		}
		ns[result->wakeups++] = (double)took;
		if (!args->first)
			err = wake(args->shared);
	}
	result->stopped = ended(args->shared);
	result->cpu = sched_getcpu();
	return result->stopped ? 0 : err;
}
