#include "pingpong.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

enum {
	PATIENCE = 1 << 14, /* tries, 10 to 100 us, before a thread checks whether to end */
	FIRST_TRIPS = 16,   /* of the first batch that determines the length of a batch */
	TIMINGS = 3,        /* per length; the shortest counts, since threads may be interrupted */
};

/* State of one of the two threads. */
struct side {
	struct gorun_line *line;
	uint64_t turn;  /* of the next hand-over */
	uint64_t trips; /* made */
	bool first;
	const int32_t *stop;
};

static bool ended(const struct side *side)
{
	if (gorun_stopped(side->stop))
		return true;
	return !side->first && __atomic_load_n(&side->line->over, __ATOMIC_ACQUIRE) != 0;
}

/* Passes the line if it is this side's turn. Inlined for each method, so that nothing comes between the tries. */
typedef bool try_fn(uint64_t *word, uint64_t turn);

/*
 * Waits for this side's turn and passes the line; false if it ends before. A waiting thread does not yield its CPU:
 * if other programs used it, the two threads would rarely run at the same time.
 */
static inline __attribute__((always_inline)) bool hand_over(const struct side *side, uint64_t *word, uint64_t turn, try_fn *try)
{
	do {
		for (int tries = PATIENCE; tries != 0; tries--) {
			if (try(word, turn))
				return true;
		}
	} while (!ended(side));
	return false;
}

/*
 * Makes the given number of round trips. Returns false if it ends before. The values that the tries need are in local
 * variables: a compiler would read the side's memory again after each atomic operation, which slows every hand-over.
 */
static inline __attribute__((always_inline)) bool trips(struct side *side, uint64_t count, try_fn *try)
{
	uint64_t *word = &side->line->turn, turn = side->turn, left = count;

	for (; left != 0 && hand_over(side, word, turn, try); left--)
		turn += 2;
	side->turn = turn;
	side->trips += count - left;
	return left == 0;
}

/* Every try takes ownership of the line, so the line moves even out of turn. */
static inline bool try_cas(uint64_t *word, uint64_t turn)
{
	return __atomic_compare_exchange_n(word, &turn, turn + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline bool try_write(uint64_t *word, uint64_t turn)
{
	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != turn)
		return false;
	__atomic_store_n(word, turn + 1, __ATOMIC_RELEASE);
	return true;
}

/* Using the sum keeps the compiler from replacing the xadd by an add that returns nothing. */
static inline bool try_faa(uint64_t *word, uint64_t turn)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) == turn && __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL) == turn;
}

static bool trips_cas(struct side *side, uint64_t count)
{
	return trips(side, count, try_cas);
}

static bool trips_write(struct side *side, uint64_t count)
{
	return trips(side, count, try_write);
}

static bool trips_faa(struct side *side, uint64_t count)
{
	return trips(side, count, try_faa);
}

static const struct {
	const char *name;
	bool (*trips)(struct side *side, uint64_t count);
} methods[] = {
	{ "cas", trips_cas },
	{ "write", trips_write },
	{ "faa", trips_faa },
};

const char *gorun_pingpong_method(int row)
{
	return row >= 0 && row < (int)(sizeof methods / sizeof *methods) ? methods[row].name : NULL;
}

/* Returns the number of round trips that take args->batch or a little longer; 0 when stopped. */
static uint64_t calibrate(const struct gorun_pingpong_args *args, struct side *side)
{
	for (uint64_t count = FIRST_TRIPS;; count *= 2) {
		int64_t shortest = INT64_MAX;

		for (int i = 0; i < TIMINGS; i++) {
			int64_t took = -gorun_now(CLOCK_MONOTONIC);

			if (!methods[args->method].trips(side, count))
				return 0;
			took += gorun_now(CLOCK_MONOTONIC);
			shortest = took < shortest ? took : shortest;
		}
		if (shortest >= args->batch)
			return count;
		if (shortest >= args->batch / 2)
			return count * 2;
	}
}

/* Measures batches until the time is over, at least one, and waits for the line to return from the last one. */
static void measure(const struct gorun_pingpong_args *args, struct side *side, int64_t end, double *batches,
		    struct gorun_pingpong_result *result)
{
	uint64_t count = calibrate(args, side);
	int64_t now = gorun_now(CLOCK_MONOTONIC), took;

	result->trips_per_batch = count;
	while (count != 0 && result->batches < args->capacity && (now < end || result->batches == 0)) {
		if (!methods[args->method].trips(side, count))
			break;
		took = -now;
		now = gorun_now(CLOCK_MONOTONIC);
		took += now;
		batches[result->batches++] = (double)took / (double)count;
	}
	while (__atomic_load_n(&side->line->turn, __ATOMIC_ACQUIRE) != side->turn && !gorun_stopped(side->stop))
		;
	__atomic_store_n(&side->line->over, 1, __ATOMIC_RELEASE);
}

static int check(const struct gorun_pingpong_args *args)
{
	if (gorun_pingpong_method(args->method) == NULL || args->line == NULL || (uintptr_t)args->line % 64 != 0)
		return -EINVAL;
	if (args->first && (args->time <= 0 || args->time > INT64_MAX / 2 || args->batch <= 0))
		return -EINVAL;
	return 0;
}

int gorun_pingpong(const struct gorun_pingpong_args *args, double *batches, struct gorun_pingpong_result *result)
{
	struct side side = { .line = args->line, .turn = !args->first, .first = args->first, .stop = args->stop };
	int err = check(args);

	*result = (struct gorun_pingpong_result){ 0 };
	if (err != 0)
		return err;
	if (args->first) /* written here, so that no page fault occurs in a batch */
		memset(batches, 0, args->capacity * sizeof *batches);
	int64_t origin = gorun_gate_pass(args->gate, args->stop);
	if (origin >= 0 && args->first)
		measure(args, &side, origin + args->time, batches, result);
	else if (origin >= 0)
		methods[args->method].trips(&side, UINT64_MAX);
	result->trips = side.trips;
	result->stopped = gorun_stopped(args->stop);
	result->cpu = sched_getcpu();
	return 0;
}
