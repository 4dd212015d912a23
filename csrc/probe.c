#include "probe.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

enum {
	CHUNK = 4096, /* lines between two looks at stop: 1 ms at 250 ns per line */
	LINE_WORDS = GORUN_PROBE_LINE / sizeof(uint64_t),
	LANES = 4, /* a generator's states in flight */
};

/*
 * The generator is a linear congruential one modulo 2^64 with Knuth's constants for MMIX (TAOCP 2, 3.3.4): its period
 * is 2^64 from any seed, and its high bits, the only ones used here, pass for random. A step is a multiplication that
 * depends on the previous one and takes 1.4 ns; LANES states that each advance by LANES steps make the same sequence at
 * 0.6 ns per step.
 */
#define MULTIPLIER UINT64_C(6364136223846793005)
#define INCREMENT UINT64_C(1442695040888963407)

struct lanes {
	uint64_t state[LANES];
	uint64_t multiplier, increment; /* for LANES steps at once */
};

/* Returns the state that many steps after the seed, by repeated squaring: a step is linear, and so are two. */
static uint64_t skip(uint64_t seed, uint64_t steps)
{
	uint64_t multiplier = MULTIPLIER, increment = INCREMENT;

	for (; steps > 0; steps >>= 1) {
		if (steps & 1)
			seed = seed * multiplier + increment;
		increment = increment * multiplier + increment;
		multiplier *= multiplier;
	}
	return seed;
}

static struct lanes lanes_from(uint64_t seed)
{
	struct lanes g = { .multiplier = 1, .increment = 0 };

	for (int i = 0; i < LANES; i++) {
		seed = seed * MULTIPLIER + INCREMENT;
		g.state[i] = seed;
		g.multiplier *= MULTIPLIER;
		g.increment = g.increment * MULTIPLIER + INCREMENT;
	}
	return g;
}

/* Scales a state to 0...words-1 by its high bits; all are equally likely within words / 2^64. */
static inline uint64_t scale(uint64_t state, uint64_t words)
{
	return (uint64_t)(((unsigned __int128)state * words) >> 64);
}

/* Returns the next index of lane i. */
static inline uint64_t draw(struct lanes *g, int i, uint64_t words)
{
	uint64_t index = scale(g->state[i], words);

	g->state[i] = g->state[i] * g->multiplier + g->increment;
	return index;
}

/* The position of a probe. */
struct walk {
	uint64_t *buffer;
	uint64_t words;
	struct lanes lanes;
	uint64_t at;	      /* sequential: the next index */
	const uint64_t *link; /* chase */
	uint64_t sum;	      /* index */
};

typedef void chunk_fn(struct walk *w, uint64_t accesses);

/*
 * Reads a word and then writes it plus one. Relaxed atomics are one 64-bit instruction each, which the compiler neither
 * drops nor vectorises. (gcc 12 writes volatile words of an unrolled loop twice.) The values are not summed up: in the
 * L1 cache that makes the sequential loop a fifth slower.
 */
static inline void touch(uint64_t *word)
{
	__atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static void random_chunk(struct walk *w, uint64_t accesses)
{
	uint64_t *buffer = w->buffer;
	struct lanes g = w->lanes;
	uint64_t words = w->words, k;

	for (k = 0; k + LANES <= accesses; k += LANES)
#pragma GCC unroll 4
		for (int i = 0; i < LANES; i++)
			touch(&buffer[draw(&g, i, words)]);
	w->lanes = g; /* from registers to an array that can be indexed */
	for (int i = 0; k < accesses; i++, k++) /* only the last chunk has a remainder */
		touch(&buffer[draw(&w->lanes, i, words)]);
}

static void index_chunk(struct walk *w, uint64_t accesses)
{
	struct lanes g = w->lanes;
	uint64_t words = w->words, sum = w->sum, k;

	for (k = 0; k + LANES <= accesses; k += LANES)
#pragma GCC unroll 4
		for (int i = 0; i < LANES; i++)
			sum += draw(&g, i, words);
	w->lanes = g;
	for (int i = 0; k < accesses; i++, k++)
		sum += draw(&w->lanes, i, words);
	w->sum = sum;
}

static void sequential_chunk(struct walk *w, uint64_t accesses)
{
	uint64_t *buffer = w->buffer;
	uint64_t at = w->at;

	while (accesses > 0) {
		uint64_t end = w->words - at < accesses ? w->words : at + accesses;

		accesses -= end - at;
		for (; at < end; at++)
			touch(&buffer[at]);
		if (at == w->words)
			at = 0;
	}
	w->at = at;
}

static void chase_chunk(struct walk *w, uint64_t accesses)
{
	const uint64_t *link = w->link;

	while (accesses-- > 0)
		link = (const uint64_t *)(uintptr_t)__atomic_load_n(link, __ATOMIC_RELAXED);
	w->link = link;
}

static bool stopped(const struct gorun_probe_args *args)
{
	return args->stop != NULL && __atomic_load_n(args->stop, __ATOMIC_RELAXED) != 0;
}

/* Reports whether to stop at step i of a loop; looks only at the start of a chunk. */
static bool look_at_stop(const struct gorun_probe_args *args, uint64_t i)
{
	return i % CHUNK == 0 && stopped(args);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Records the CPU if it has changed since the last look. */
static void look(const struct gorun_probe_args *args, struct gorun_probe_result *result, int64_t start, int64_t *cpu)
{
	int64_t is = sched_getcpu();

	if (result->moves > 0 && is == *cpu)
		return;
	*cpu = is;
	if (result->moves < args->moves_size)
		args->moves[result->moves] =
			(struct gorun_probe_move){ .ns = result->moves == 0 ? 0 : now() - start, .cpu = is };
	result->moves++;
}

static int probe(const struct gorun_probe_args *args, struct gorun_probe_result *result, struct walk *w,
		 chunk_fn *chunk, uint64_t chunk_size)
{
	int64_t start, cpu = -1;

	*result = (struct gorun_probe_result){ 0 };
	start = now();
	do {
		uint64_t left = args->accesses - result->accesses;
		uint64_t accesses = left < chunk_size ? left : chunk_size;

		if (stopped(args))
			break;
		if (args->moves_size > 0)
			look(args, result, start, &cpu);
		chunk(w, accesses);
		result->accesses += accesses;
	} while (result->accesses < args->accesses);
	result->ns = now() - start;
	result->sum = w->sum;
	return 0;
}

static int check_words(const struct gorun_probe_args *args)
{
	bool moves = args->moves_size == 0 || args->moves != NULL;

	return args->words == 0 || args->words > UINT64_C(1) << 60 || !moves ? -EINVAL : 0;
}

static int check_buffer(const struct gorun_probe_args *args)
{
	bool aligned = (uintptr_t)args->buffer % sizeof *args->buffer == 0;

	return check_words(args) != 0 || args->buffer == NULL || !aligned ? -EINVAL : 0;
}

static struct walk walk_from(const struct gorun_probe_args *args)
{
	return (struct walk){ .buffer = args->buffer,
			      .words = args->words,
			      .lanes = lanes_from(skip(args->seed, args->from)),
			      .at = args->words > 0 ? args->from % args->words : 0,
			      .link = args->buffer };
}

int gorun_probe_random(const struct gorun_probe_args *args, struct gorun_probe_result *result)
{
	struct walk w = walk_from(args);
	int err = check_buffer(args);

	return err != 0 ? err : probe(args, result, &w, random_chunk, CHUNK);
}

int gorun_probe_sequential(const struct gorun_probe_args *args, struct gorun_probe_result *result)
{
	struct walk w = walk_from(args);
	int err = check_buffer(args);

	return err != 0 ? err : probe(args, result, &w, sequential_chunk, CHUNK * LINE_WORDS);
}

int gorun_probe_index(const struct gorun_probe_args *args, struct gorun_probe_result *result)
{
	struct walk w = walk_from(args);
	int err = check_words(args);

	return err != 0 ? err : probe(args, result, &w, index_chunk, CHUNK);
}

int gorun_probe_chase(const struct gorun_probe_args *args, struct gorun_probe_result *result)
{
	struct walk w = walk_from(args);
	uintptr_t base = (uintptr_t)args->buffer;
	uint64_t lines = args->words / LINE_WORDS, first;
	int err = check_buffer(args);

	if (err != 0)
		return err;
	first = args->buffer[0] - base; /* detects a buffer without links before following it */
	if (first % GORUN_PROBE_LINE != 0 || first / GORUN_PROBE_LINE >= lines || args->from >= lines)
		return -EINVAL;
	w.link = args->buffer + args->from * LINE_WORDS;
	err = probe(args, result, &w, chase_chunk, CHUNK);
	result->sum = ((uintptr_t)w.link - base) / GORUN_PROBE_LINE;
	return err;
}

int gorun_probe_fill(const struct gorun_probe_args *args)
{
	int err = check_buffer(args);

	for (uint64_t done = 0; err == 0 && done < args->words;) {
		uint64_t words = args->words - done < CHUNK ? args->words - done : CHUNK;

		if (stopped(args))
			return -EINTR;
		memset(args->buffer + done, 0, words * sizeof *args->buffer);
		done += words;
	}
	return err;
}

/*
 * Sattolo's algorithm ("An algorithm to generate a random cyclic permutation", 1986), with the links as its only
 * memory.
 */
int gorun_probe_link(const struct gorun_probe_args *args)
{
	uint64_t lines = args->words / LINE_WORDS, state = args->seed;
	uint64_t *link = args->buffer;
	int err = gorun_probe_fill(args);

	if (err != 0)
		return err;
	if (lines == 0)
		return -EINVAL;
	for (uint64_t i = 0; i < lines && !look_at_stop(args, i); i++)
		link[i * LINE_WORDS] = i;
	for (uint64_t i = lines - 1; i > 0 && !look_at_stop(args, i); i--) {
		uint64_t j, next = link[i * LINE_WORDS];

		state = state * MULTIPLIER + INCREMENT;
		j = scale(state, i);
		link[i * LINE_WORDS] = link[j * LINE_WORDS];
		link[j * LINE_WORDS] = next;
	}
	for (uint64_t i = 0; i < lines && !look_at_stop(args, i); i++)
		link[i * LINE_WORDS] = (uintptr_t)link + link[i * LINE_WORDS] * GORUN_PROBE_LINE;
	if (!stopped(args))
		return 0;
	link[0] = 0; /* so that gorun_probe_chase refuses the buffer */
	return -EINTR;
}
