#include "memory.h"

#include <errno.h>
#include <sched.h>

enum {
	CHUNK = 8192, /* doubles between two looks at the clock and at stop: 64 KiB, some 5 to 100 us */
	BURST = 128,  /* doubles between two pauses: 1 KiB. A pause after each line would leave few reads in flight, however short it is */
};

/* A loop over lines of one operation. Only that of READ returns a value that depends on memory. */
typedef double loop_fn(double *a, const double *b, const double *c, double q, uint64_t words);

struct kernel {
	const char *name;
	loop_fn *ordinary[GORUN_MEMORY_OPS];
	loop_fn *nontemporal[GORUN_MEMORY_OPS];
};

#if defined(__x86_64__)
#include "memory_amd64.h"
#elif defined(__aarch64__)
#include "memory_arm64.h"
#endif

const char *gorun_memory_kernel(void)
{
	return best()->name;
}

/* Reads or writes bursts with a pause after each, so that other threads find the memory less busy. */
static double paused(loop_fn *loop, double *a, const double *b, const double *c, double q, uint64_t words, uint64_t pause)
{
	double sum = 0;

	for (uint64_t at = 0; at < words; at += BURST) {
		sum += loop(a + at, b + at, c + at, q, words - at < BURST ? words - at : BURST);
		for (uint64_t i = 0; i < pause; i++)
			__asm__ volatile("" ::: "memory");
	}
	return sum;
}

int gorun_memory(const struct gorun_memory_args *args, struct gorun_memory_result *result)
{
	static const int arrays[GORUN_MEMORY_OPS] = { 1, 1, 2, 3 };
	const bool aligned = (((uintptr_t)args->a | (uintptr_t)args->b | (uintptr_t)args->c) & 63) == 0;
	double *const a = args->a, *const b = args->b ? args->b : a, *const c = args->c ? args->c : a;
	loop_fn *loop;

	*result = (struct gorun_memory_result){ .cpu = -1 };
	if (args->op < 0 || args->op >= GORUN_MEMORY_OPS || a == NULL || !aligned || args->words == 0 ||
	    args->words % GORUN_MEMORY_LINE != 0 || args->ns < 0 ||
	    (arrays[args->op] > 1 && args->b == NULL) || (arrays[args->op] > 2 && args->c == NULL))
		return -EINVAL;
	loop = args->nontemporal ? best()->nontemporal[args->op] : best()->ordinary[args->op];
	result->start = gorun_gate_pass(args->gate, args->stop);
	if (result->start < 0) {
		result->stopped = true;
		return 0;
	}
	for (uint64_t at = 0;; at = at + CHUNK < args->words ? at + CHUNK : 0) {
		const uint64_t words = args->words - at < CHUNK ? args->words - at : CHUNK;

		if (args->pause > 0)
			result->sum += paused(loop, a + at, b + at, c + at, args->q, words, args->pause);
		else
			result->sum += loop(a + at, b + at, c + at, args->q, words);
		result->bytes += words * sizeof(double) * arrays[args->op];
		result->end = gorun_now(CLOCK_MONOTONIC);
		if (args->ns > 0 && result->end - result->start >= args->ns)
			break;
		if (gorun_stopped(args->stop)) {
			result->stopped = true;
			break;
		}
	}
	result->cpu = sched_getcpu();
	return 0;
}
