#include "contend.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

enum {
	FIRST_CHUNK = 256,      /* operations before the first look at the stop flag and the clock */
	LONGEST_CHUNK = 100000, /* ns between two looks: long against 25 ns to read the clock, short against 10 ms to stop */
	WINDOW_CHUNKS = 16,     /* chunks per window, up to twice as many: the clock takes 0.1% of 1 ms */
};

#if defined(__x86_64__)
#define OPERATIONS "contend_amd64.h"
#elif defined(__aarch64__)
#define OPERATIONS "contend_arm64.h"
#endif

/*
 * The operations of an architecture are in a separate file, which is included twice: first each becomes a loop, then a
 * row of the table. COUNTDOWN, MEMSET, OPERATION, LSE and LLSC each define an operation.
 */
#define FOUR(...) { __VA_ARGS__; } { __VA_ARGS__; } { __VA_ARGS__; } { __VA_ARGS__; }
#define SIXTEEN(...) FOUR(__VA_ARGS__) FOUR(__VA_ARGS__) FOUR(__VA_ARGS__) FOUR(__VA_ARGS__)

/*
 * A function that makes loop->count operations: sixteen per iteration, and the rest one by one. An operation may use
 * word, value and failures. GCC's own unrolling does not help: -O2 does not unroll a loop of asm.
 */
#define LOOP(name, ...)												\
	static void op_##name(struct gorun_loop *loop)								\
	{													\
		uint64_t *word __attribute__((unused)) = loop->word;						\
		uint64_t value = loop->value, failures = loop->failures;					\
														\
		for (uint64_t turns = loop->count / 16; turns != 0; turns--) {					\
			SIXTEEN(__VA_ARGS__)									\
		}												\
		for (uint64_t rest = loop->count % 16; rest != 0; rest--) {					\
			__VA_ARGS__;										\
		}												\
		loop->value = value;										\
		loop->failures = failures;									\
	}

/* Counts down by one: the only loop that is not unrolled, since the loop itself is the operation. */
#define COUNTDOWN(name, subtract, jump_unless_zero)								\
	static void op_##name(struct gorun_loop *loop)								\
	{													\
		uint64_t n = loop->count;									\
														\
		if (n != 0)											\
			__asm__ volatile("1:\t" subtract "\n\t" jump_unless_zero " 1b" : "+r"(n) : : "cc");	\
	}

/*
 * A loop of calls of libc's memset. The function is hidden from the compiler, which would otherwise replace the call by
 * stores. The bytes are 1, since some CPUs skip writing zeros over zeros.
 */
#define MEMSET(name, bytes)											\
	static void op_##name(struct gorun_loop *loop)								\
	{													\
		void *(*set)(void *, int, size_t) = memset;							\
		void *word = loop->word;									\
														\
		__asm__ volatile("" : "+r"(set));								\
		for (uint64_t turns = loop->count / 16; turns != 0; turns--) {					\
			SIXTEEN(set(word, 1, bytes))								\
		}												\
		for (uint64_t rest = loop->count % 16; rest != 0; rest--)					\
			set(word, 1, bytes);									\
	}

#define OPERATION(name, ...) LOOP(name, __VA_ARGS__)
#define LSE(name, ...) __attribute__((target("arch=armv8-a+lse"))) LOOP(name##_lse, __VA_ARGS__) /* no flag for all */
#define LLSC(name, ...) LOOP(name##_llsc, __VA_ARGS__)
#ifdef OPERATIONS
#include OPERATIONS
#endif

#undef COUNTDOWN
#undef MEMSET
#undef OPERATION
#undef LSE
#undef LLSC
#define ROW(name, variant, loop) { #name, variant, #loop, loop },
#define COUNTDOWN(name, ...) ROW(name, "", op_##name)
#define MEMSET(name, ...) ROW(name, "", op_##name)
#define OPERATION(name, ...) ROW(name, "", op_##name)
#define LSE(name, ...) ROW(name, "lse", op_##name##_lse)
#define LLSC(name, ...) ROW(name, "llsc", op_##name##_llsc)
static const struct gorun_op ops[] = {
#ifdef OPERATIONS
#include OPERATIONS
#endif
};

const struct gorun_op *gorun_op(int row)
{
	return row >= 0 && row < (int)(sizeof ops / sizeof *ops) ? &ops[row] : NULL;
}

bool gorun_has_lse(void)
{
#if defined(__aarch64__)
	return (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
#else
	return false;
#endif
}

/*
 * Repeats the operation in chunks until the count or the time is reached. The time of a chunk gives the length of the
 * next.
 */
static void repeat(const struct gorun_contend_args *args, struct gorun_loop *loop, struct gorun_mark *marks,
		   struct gorun_contend_result *result)
{
	void (*run)(struct gorun_loop *) = ops[args->op].run;
	int64_t now = result->start, took, longest = LONGEST_CHUNK, end = INT64_MAX, window_end = INT64_MAX;
	uint64_t most = UINT64_MAX, chunk = FIRST_CHUNK;

	if (args->count != 0) {
		most = args->count;
	} else {
		end = result->origin + args->time;
		window_end = result->origin + args->window;
		if (args->window / WINDOW_CHUNKS < longest)
			longest = args->window / WINDOW_CHUNKS;
	}
	while (result->operations < most && now < end && !gorun_stopped(args->stop)) {
		loop->count = most - result->operations < chunk ? most - result->operations : chunk;
		run(loop);
		took = -now;
		now = gorun_now(CLOCK_MONOTONIC);
		took += now;
		result->operations += loop->count;
		if (now >= window_end && window_end <= end) {
			marks[result->marks++] = (struct gorun_mark){
				now, gorun_now(CLOCK_THREAD_CPUTIME_ID), result->operations, loop->failures
			};
			window_end += ((now - window_end) / args->window + 1) * args->window;
		}
		if (took < longest / 2)
			chunk *= 2;
		else if (took > longest && chunk > 16)
			chunk /= 2;
	}
	result->end = now;
	result->failures = loop->failures;
	result->stopped = result->operations < most && now < end;
}

/* Reports whether a time is positive, and can be added to the clock without overflow. */
static bool length(int64_t ns)
{
	return ns > 0 && ns < INT64_MAX / 2;
}

static int check(const struct gorun_contend_args *args)
{
	const struct gorun_op *op = gorun_op(args->op);

	if (op == NULL || args->word == NULL || (uintptr_t)args->word % sizeof(uint64_t) != 0)
		return -EINVAL;
	if (args->count != 0)
		return 0;
	return length(args->time) && length(args->window) ? 0 : -EINVAL;
}

int gorun_contend(const struct gorun_contend_args *args, struct gorun_mark *marks, struct gorun_contend_result *result)
{
	struct gorun_loop loop = { .word = args->word };
	int err = check(args);

	*result = (struct gorun_contend_result){ 0 };
	if (err != 0)
		return err;
	if (args->count == 0) /* written here, so that no page fault occurs in a window */
		memset(marks, 0, (size_t)(args->time / args->window) * sizeof *marks);
	int64_t origin = gorun_gate_pass(args->gate, args->stop);
	if (origin < 0) {
		result->stopped = true;
	} else {
		result->origin = origin;
		result->start = gorun_now(CLOCK_MONOTONIC);
		repeat(args, &loop, marks, result);
	}
	result->cpu = sched_getcpu();
	return 0;
}
