#include "futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool ended(const struct gorun_bed *bed)
{
	return gorun_stopped(&bed->word);
}

void gorun_bed_stop(struct gorun_bed *bed)
{
	__atomic_store_n(&bed->word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &bed->word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Wakes the other thread once it sleeps. That thread may need this CPU first, so a failed attempt yields it. */
static int wake(struct gorun_bed *bed)
{
	while (!ended(bed)) {
		__atomic_store_n(&bed->sent, gorun_now(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
		long woken = syscall(SYS_futex, &bed->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);

		if (woken < 0)
			return -errno;
		if (woken > 0)
			return 0;
		sched_yield();
	}
	return -ECANCELED;
}

/* Sleeps until the other thread wakes this one, and returns the latency of the wake-up in ns. */
static int64_t nap(struct gorun_bed *bed)
{
	while (syscall(SYS_futex, &bed->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) != 0) {
		if (ended(bed))
			return -ECANCELED;
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	int64_t now = gorun_now(CLOCK_MONOTONIC), took = now - __atomic_load_n(&bed->sent, __ATOMIC_ACQUIRE);

	if (ended(bed))
		return -ECANCELED; /* woken by the end */
	return took > 0 ? took : 0; /* the clocks of two CPUs may differ by some ns */
}

int gorun_wakeups(const struct gorun_wakeups_args *args, double *ns, struct gorun_wakeups_result *result)
{
	int64_t took;
	int err = 0;

	*result = (struct gorun_wakeups_result){ 0 };
	if (args->bed == NULL || args->trips == 0 || ns == NULL)
		return -EINVAL;
	for (uint64_t trip = 0; trip < args->trips && err == 0; trip++) {
		if (args->first && (err = wake(args->bed)) != 0)
			break;
		if ((took = nap(args->bed)) < 0) {
			err = (int)took;
			break;
		}
		ns[result->wakeups++] = (double)took;
		if (!args->first)
			err = wake(args->bed);
	}
	result->stopped = ended(args->bed);
	result->cpu = sched_getcpu();
	return result->stopped ? 0 : err;
}
