/*
 * What the memory probe's figures are measured against: the same accesses as one writes them in an afternoon.
 *
 *	cc -O2 -o rival rival.c
 *	rival random|sequential|chase BYTES ACCESSES 4k|thp CPU    ns per access
 *
 * BYTES is a multiple of 64, ACCESSES is rounded up to a multiple of 64.
 */
#define _GNU_SOURCE
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

int main(int argc, char **argv)
{
	uint64_t bytes;
	cpu_set_t cpus;
	double start;
	void (*run)(void);

	if (argc != 6)
		goto usage;
	run = strcmp(argv[1], "random") == 0	   ? run_random
	      : strcmp(argv[1], "sequential") == 0 ? run_sequential
	      : strcmp(argv[1], "chase") == 0	   ? run_chase
						   : NULL;
	bytes = strtoull(argv[2], NULL, 0);
	words = bytes / sizeof *buffer;
	accesses = (strtoull(argv[3], NULL, 0) + 63) / 64 * 64;
	if (run == NULL || bytes == 0 || bytes % 64 != 0 || accesses == 0)
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
	if (run == run_chase)
		link_lines();

	start = now();
	run();
	printf("%.4f\n", (now() - start) / (double)accesses);
	return 0;
usage:
	fprintf(stderr, "usage: rival random|sequential|chase BYTES ACCESSES 4k|thp CPU\n");
	return 2;
}
