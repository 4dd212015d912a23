#include "gate.h"

#include <sched.h>

enum {
	HEAD_START = 20000, /* ns from the last arrival to the start: enough for all threads to see it */
	PATIENCE = 4096,    /* looks, some 10 to 200 us, before the CPU is yielded to a thread that has yet to arrive */
};

static void relax(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pause");
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

int64_t gorun_gate_pass(struct gorun_gate *gate, const int32_t *stop)
{
	int64_t start = 0;

	if (gate == NULL)
		return gorun_now(CLOCK_MONOTONIC);
	if (__atomic_add_fetch(&gate->arrived, 1, __ATOMIC_ACQ_REL) == gate->threads)
		__atomic_store_n(&gate->start, gorun_now(CLOCK_MONOTONIC) + HEAD_START, __ATOMIC_RELEASE);
	for (int looks = 0; (start = __atomic_load_n(&gate->start, __ATOMIC_ACQUIRE)) == 0;) {
		if (gorun_stopped(stop))
			return -1;
		if (looks < PATIENCE) {
			looks++;
			relax();
		} else {
			sched_yield();
		}
	}
	while (gorun_now(CLOCK_MONOTONIC) < start)
		if (gorun_stopped(stop))
			return -1;
	return start;
}
