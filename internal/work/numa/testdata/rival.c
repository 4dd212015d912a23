/*
 * What the memory probe is measured against: the same accesses as one writes them in an afternoon. Both go over the same
 * buffer, one after the other: how fast a cache of many megabytes is depends on which physical pages a process was given.
 *
 *	cc -D_GNU_SOURCE -O2 -o rival rival.c ../../../../csrc/probe.c
 *	rival random|sequential|chase BYTES ACCESSES 4k|thp CPU probe|plain    ns per access: the probe's, and plain C's
 *
 * BYTES is a multiple of 64, ACCESSES is rounded up to a multiple of 64. The last argument says which comes first.
 */
#include "../../../../csrc/probe.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { HUGE = 2 << 20, LINE = 64 / sizeof(uint64_t) };

static uint64_t *buffer, words, accesses;

/* An LCG with Knuth's constants. Four of them, or each access would wait for the multiplication of the one before. */
static uint64_t next(uint64_t *state)
{
	uint64_t index = (uint64_t)(((unsigned __int128)*state * words) >> 64);

	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return index;
}

/* volatile: one read and one write of 64 bits, which the compiler neither drops nor joins to vectors */
static void increment(volatile uint64_t *word)
{
	*word = *word + 1;
}

static void run_random(void)
{
	uint64_t a = 1, b = 2, c = 3, d = 4;

	for (uint64_t i = accesses / 4; i != 0; i--) {
		increment(&buffer[next(&a)]);
		increment(&buffer[next(&b)]);
		increment(&buffer[next(&c)]);
		increment(&buffer[next(&d)]);
	}
}

static void run_sequential(void)
{
	for (uint64_t left = accesses; left != 0;) {
		uint64_t pass = left < words ? left : words;

		for (uint64_t i = 0; i < pass; i++)
			increment(&buffer[i]);
		left -= pass;
	}
}

static void run_chase(void)
{
	void **p = (void **)buffer;

#define STEP8 p = *p; p = *p; p = *p; p = *p; p = *p; p = *p; p = *p; p = *p;
	for (uint64_t i = accesses / 64; i != 0; i--) {
		STEP8 STEP8 STEP8 STEP8 STEP8 STEP8 STEP8 STEP8
	}
	__asm__ volatile("" : : "r"(p)); /* used, or there would be no loop */
}

/* A cycle through all lines in random order: the first word of each has the address of the next one. */
static void link_lines(void)
{
	uint64_t lines = words / LINE, state = 1;

	for (uint64_t i = 0; i < lines; i++)
		buffer[i * LINE] = i;
	for (uint64_t i = lines - 1; i > 0; i--) { /* Sattolo's shuffle: j < i makes it one cycle */
		uint64_t j = (uint64_t)(((unsigned __int128)state * i) >> 64), other = buffer[j * LINE];

		buffer[j * LINE] = buffer[i * LINE];
		buffer[i * LINE] = other;
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	}
	for (uint64_t i = 0; i < lines; i++)
		buffer[i * LINE] = (uintptr_t)&buffer[buffer[i * LINE] * LINE];
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double plain(void (*run)(void))
{
	double start = now();

	run();
	return (now() - start) / (double)accesses;
}

/* As gorun calls it: it may be stopped, and looks at the CPU. */
static double probe(int (*run)(const struct gorun_probe_args *, struct gorun_probe_result *))
{
	static struct gorun_probe_move moves[1 << 14];
	int32_t stop = 0;
	struct gorun_probe_args args = {
		.buffer = buffer,
		.words = words,
		.accesses = accesses,
		.seed = 1,
		.stop = &stop,
		.moves = moves,
		.moves_size = sizeof moves / sizeof *moves,
	};
	struct gorun_probe_result result;

	if (run(&args, &result) != 0 || result.accesses != accesses) {
		fprintf(stderr, "rival: the probe failed\n");
		exit(1);
	}
	return (double)result.ns / (double)accesses;
}

static const struct {
	const char *name;
	void (*plain)(void);
	int (*probe)(const struct gorun_probe_args *, struct gorun_probe_result *);
} ways[] = {
	{ "random", run_random, gorun_probe_random },
	{ "sequential", run_sequential, gorun_probe_sequential },
	{ "chase", run_chase, gorun_probe_chase },
};

int main(int argc, char **argv)
{
	uint64_t bytes;
	cpu_set_t cpus;
	double probes, plains;
	size_t way = 0;

	if (argc != 7)
		goto usage;
	while (way < sizeof ways / sizeof *ways && strcmp(argv[1], ways[way].name) != 0)
		way++;
	bytes = strtoull(argv[2], NULL, 0);
	words = bytes / sizeof *buffer;
	accesses = (strtoull(argv[3], NULL, 0) + 63) / 64 * 64;
	if (way == sizeof ways / sizeof *ways || bytes == 0 || bytes % 64 != 0 || accesses == 0)
		goto usage;

	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[5]), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
		perror("rival: sched_setaffinity");
		return 1;
	}
	buffer = aligned_alloc(HUGE, (bytes + HUGE - 1) / HUGE * HUGE);
	if (buffer == NULL || madvise(buffer, (bytes + HUGE - 1) / HUGE * HUGE,
				      strcmp(argv[4], "thp") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0) {
		perror("rival: memory");
		return 1;
	}
	memset(buffer, 0, bytes);
	if (ways[way].plain == run_chase)
		link_lines();

	plain(ways[way].plain); /* until caches and clock have settled */
	if (strcmp(argv[6], "probe") == 0) {
		probes = probe(ways[way].probe);
		plains = plain(ways[way].plain);
	} else {
		plains = plain(ways[way].plain);
		probes = probe(ways[way].probe);
	}
	printf("%.4f %.4f\n", probes, plains);
	return 0;
usage:
	fprintf(stderr, "usage: rival random|sequential|chase BYTES ACCESSES 4k|thp CPU probe|plain\n");
	return 2;
}
