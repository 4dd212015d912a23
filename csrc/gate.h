/* Shared by all kernels that run on several threads: the clock, the stop flag and a barrier. */
#ifndef GORUN_GATE_H
#define GORUN_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * A barrier that releases its threads at one instant. The words are two cache lines apart, since CPUs fetch adjacent
 * lines together: an arriving thread does not disturb the waiting ones.
 */
struct gorun_gate {
	char before[128];
	uint32_t threads; /* to wait for */
	uint32_t arrived;
	char between[120];
	int64_t start; /* the common start, CLOCK_MONOTONIC ns; 0: not all have arrived */
	char after[120];
};

/*
 * Waits until all threads have arrived, and then for the common start 20 us later. Returns that start; -1 if stop was
 * set during the wait. With a gate of NULL the start is now.
 */
int64_t gorun_gate_pass(struct gorun_gate *gate, const int32_t *stop);

static inline int64_t gorun_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t); /* cannot fail: both clocks in use exist since Linux 2.6.12 */
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline bool gorun_stopped(const int32_t *stop)
{
	return stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

#endif
