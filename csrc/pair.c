#include "pair.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	BLOCK = 4096,       /* loops, 2 us to 1 ms, before a look at the stop flag */
	PATIENCE = 1 << 14, /* looks, about 10 us, before the CPU is yielded: the other side may need it */
};

void gorun_futex_wait(uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0); /* after any error, look again */
}

void gorun_futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gorun_shared_open(struct gorun_shared *shared)
{
	shared->start = gorun_now(CLOCK_MONOTONIC);
	__atomic_store_n(&shared->open, 1, __ATOMIC_RELEASE);
	gorun_futex_wake(&shared->open);
}

void gorun_shared_stop(struct gorun_shared *shared)
{
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&shared->open, 1, __ATOMIC_RELEASE);
	gorun_futex_wake(&shared->open);
	__atomic_add_fetch(&shared->turn, 2, __ATOMIC_ACQ_REL); /* a side that has just looked must not fall asleep */
	gorun_futex_wake(&shared->turn);
}

int64_t gorun_shared_wait(struct gorun_shared *shared)
{
	if (shared == NULL)
		return gorun_now(CLOCK_MONOTONIC);
	__atomic_add_fetch(&shared->waiting, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&shared->open, __ATOMIC_ACQUIRE) == 0)
		gorun_futex_wait(&shared->open, 0);
	return gorun_stopped(&shared->stop) ? -1 : shared->start;
}

/* State of one working process. */
struct work {
	const struct gorun_work_args *args;
	uint64_t *histogram;
	struct gorun_work_result *result;
	const int32_t *stop;
};

/* Makes the loops in blocks, until all are done or it is stopped. */
typedef uint64_t block_fn(const struct work *w, uint64_t sum, uint64_t first, uint64_t count);

static int blocks(struct work *w, block_fn *block)
{
	struct gorun_work_result *r = w->result;
	uint64_t left;

	while ((left = w->args->loops - r->loops) != 0 && !gorun_stopped(w->stop)) {
		uint64_t count = left < BLOCK ? left : BLOCK;

		r->sum = block(w, r->sum, r->loops, count);
		r->loops += count;
	}
	return 0;
}

static uint64_t block_syscall(const struct work *w, uint64_t sum, uint64_t first, uint64_t count)
{
	(void)w, (void)first;
	while (count-- != 0)
		getppid(); /* no libc caches its result */
	return sum;
}

/* The generator of Knuth's MMIX, for which no compiler finds a closed form. */
static uint64_t block_spin(const struct work *w, uint64_t sum, uint64_t first, uint64_t count)
{
	(void)w, (void)first;
	while (count-- != 0)
		sum = sum * 6364136223846793005 + 1442695040888963407;
	return sum;
}

/* Adds the words of the array, and starts again after the last. */
static uint64_t block_sum(const struct work *w, uint64_t sum, uint64_t first, uint64_t count)
{
	uint64_t words = w->args->words;

	for (uint64_t at = first % words; count != 0; at = 0) {
		uint64_t run = count < words - at ? count : words - at;

		for (uint64_t i = at; i < at + run; i++)
			sum += w->args->array[i];
		count -= run;
	}
	return sum;
}

static int work_syscall(struct work *w)
{
	return blocks(w, block_syscall);
}

static int work_spin(struct work *w)
{
	return blocks(w, block_spin);
}

static int work_sum(struct work *w)
{
	return blocks(w, block_sum);
}

/* Counts a round trip. */
static void record(uint64_t *histogram, int64_t took)
{
	uint64_t ns = took > 0 ? (uint64_t)took : 0;
	int shift = ns < 2 * GORUN_STEPS ? 0 : 63 - __builtin_clzll(ns) - __builtin_ctz(GORUN_STEPS);

	histogram[(uint64_t)shift * GORUN_STEPS + (ns >> shift)]++;
}

/* Waits for the turn of this side, or passes the turn to the other side. Returns 0 or a negative errno. */
typedef int hand_fn(struct work *w, uint32_t turn);

/* Inlined for each method of passing the turn. Each reading of the clock ends one round trip and begins the next. */
static inline __attribute__((always_inline)) int trips(struct work *w, hand_fn *take, hand_fn *give)
{
	struct gorun_work_result *r = w->result;
	bool first = w->args->first;
	int64_t before = r->start, now;
	int err = 0;

	for (uint32_t turn = 0; r->loops < w->args->loops && !gorun_stopped(w->stop); turn += 2, r->loops++) {
		if (!first && (err = take(w, turn + 1)) != 0)
			break;
		if ((err = give(w, turn + (first ? 1 : 2))) != 0)
			break;
		if (!first)
			continue;
		if ((err = take(w, turn + 2)) != 0)
			break;
		now = gorun_now(CLOCK_MONOTONIC);
		record(w->histogram, now - before);
		before = now;
	}
	return err;
}

static inline int give_pipe(struct work *w, uint32_t turn)
{
	char byte = (char)turn;

	while (write(w->args->out, &byte, 1) != 1)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static inline int take_pipe(struct work *w, uint32_t turn)
{
	char byte;
	ssize_t n;

	(void)turn;
	while ((n = read(w->args->in, &byte, 1)) != 1) {
		if (n == 0)
			return -EPIPE;
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static inline int give_shm(struct work *w, uint32_t turn)
{
	__atomic_store_n(&w->args->shared->turn, turn, __ATOMIC_RELEASE);
	return 0;
}

static inline int give_futex(struct work *w, uint32_t turn)
{
	give_shm(w, turn);
	gorun_futex_wake(&w->args->shared->turn);
	return 0;
}

static inline int take_futex(struct work *w, uint32_t turn)
{
	uint32_t now;

	while ((now = __atomic_load_n(&w->args->shared->turn, __ATOMIC_ACQUIRE)) != turn) {
		if (gorun_stopped(w->stop))
			return -ECANCELED;
		gorun_futex_wait(&w->args->shared->turn, now);
	}
	return 0;
}

static inline int take_shm(struct work *w, uint32_t turn)
{
	for (int looks = 0; __atomic_load_n(&w->args->shared->turn, __ATOMIC_ACQUIRE) != turn;) {
		if (looks < PATIENCE) {
			looks++;
			continue;
		}
		if (gorun_stopped(w->stop))
			return -ECANCELED;
		sched_yield();
	}
	return 0;
}

static int work_pipe(struct work *w)
{
	return trips(w, take_pipe, give_pipe);
}

static int work_futex(struct work *w)
{
	return trips(w, take_futex, give_futex);
}

static int work_shm(struct work *w)
{
	return trips(w, take_shm, give_shm);
}

static int (*const works[GORUN_WORKS])(struct work *w) = {
	[GORUN_SYSCALL] = work_syscall,
	[GORUN_SPIN] = work_spin,
	[GORUN_SUM] = work_sum,
	[GORUN_PINGPONG_PIPE] = work_pipe,
	[GORUN_PINGPONG_FUTEX] = work_futex,
	[GORUN_PINGPONG_SHM] = work_shm,
};

static int check(const struct gorun_work_args *args, const uint64_t *histogram)
{
	bool talks = args->work >= GORUN_PINGPONG_PIPE;

	if ((unsigned)args->work >= GORUN_WORKS)
		return -EINVAL;
	if (args->work == GORUN_SUM && (args->array == NULL || args->words == 0))
		return -EINVAL;
	if (talks && args->first && histogram == NULL)
		return -EINVAL;
	if (talks && args->work != GORUN_PINGPONG_PIPE && args->shared == NULL)
		return -EINVAL;
	return 0;
}

static void fill(const struct gorun_work_args *args)
{
	for (uint64_t i = 0; i < args->words; i++)
		args->array[i] = i;
}

int gorun_work(const struct gorun_work_args *args, uint64_t *histogram, struct gorun_work_result *result)
{
	const int32_t *stop = args->shared ? &args->shared->stop : NULL;
	struct work w = { .args = args, .histogram = histogram, .result = result, .stop = stop };
	int err = check(args, histogram);

	*result = (struct gorun_work_result){ 0 };
	if (err != 0)
		return err;
	if (args->work == GORUN_SUM && !args->cold)
		fill(args);
	if (gorun_shared_wait(args->shared) >= 0) {
		result->start = gorun_now(CLOCK_MONOTONIC);
		if (args->work == GORUN_SUM && args->cold)
			fill(args);
		err = works[args->work](&w);
		result->end = gorun_now(CLOCK_MONOTONIC);
	}
	result->stopped = gorun_stopped(stop);
	result->cpu = sched_getcpu();
	return result->stopped ? 0 : err;
}

static bool in_mask(const uint64_t *mask, int words, int cpu)
{
	return cpu / 64 < words && (mask[cpu / 64] >> (cpu % 64) & 1) != 0;
}

int gorun_checks(const struct gorun_checks_args *args, const uint64_t *mask, uint64_t *seen,
		 struct gorun_checks_result *result)
{
	const int32_t *stop = args->shared ? &args->shared->stop : NULL;
	int last = -1;

	*result = (struct gorun_checks_result){ 0 };
	if (args->cpus <= 0 || seen == NULL)
		return -EINVAL;
	gorun_shared_wait(args->shared);
	while (result->checks < args->checks && !gorun_stopped(stop)) {
		int cpu = sched_getcpu();

		if (cpu < 0)
			return -errno;
		if (mask != NULL ? !in_mask(mask, args->mask_words, cpu) : last >= 0 && cpu != last) {
			if (cpu >= args->cpus)
				return -ERANGE;
			result->deviations++;
			seen[cpu]++;
		}
		last = cpu;
		result->checks++;
	}
	result->stopped = gorun_stopped(stop);
	return 0;
}
