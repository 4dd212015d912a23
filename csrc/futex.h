/* Measures the time from a wake-up until the sleeping thread runs again. */
#ifndef GORUN_FUTEX_H
#define GORUN_FUTEX_H

#include "gate.h"

/*
 * State that two threads of one process share, initially zero. The word does not change until the end, so that a waiter
 * always sleeps: only the return value of FUTEX_WAKE says that a thread was asleep and has been woken.
 */
struct gorun_wake_futex {
	int32_t word; /* futex; not 0: end */
	int64_t sent; /* CLOCK_MONOTONIC ns of the waking call */
};

/* Ends both threads at once. */
void gorun_wake_futex_stop(struct gorun_wake_futex *shared);

struct gorun_wakeups_args {
	bool first; /* wakes first; the other one sleeps first */
	uint64_t trips;
	struct gorun_wake_futex *shared;
};

struct gorun_wakeups_result {
	uint64_t wakeups; /* of this thread */
	int cpu;          /* at the end */
	bool stopped;
};

/*
 * Sleeps and wakes the other thread in turns, trips times each. Writes the duration of each wake-up of this thread to
 * ns, which has room for trips. A wake-up lasts from just before the FUTEX_WAKE that found the thread asleep until its
 * FUTEX_WAIT has returned. Returns 0, -EINVAL, or another negative errno of futex(2), after which the other thread must
 * be stopped.
 */
int gorun_wakeups(const struct gorun_wakeups_args *args, double *ns, struct gorun_wakeups_result *result);

#endif
