/* The NUMA probe: timed accesses to a buffer of 64-bit words in an order that depends only on the seed. */
#ifndef GORUN_PROBE_H
#define GORUN_PROBE_H

#include <stdint.h>

/*
 * Bytes between two links of a chase: the cache line of x86 and of most arm64 CPUs. Where lines are longer (128 bytes:
 * Apple, POWER; 256: A64FX, s390), several links share one.
 */
#define GORUN_PROBE_LINE 64

/* The CPU of the calling thread, from this time after the start. */
struct gorun_probe_move {
	int64_t ns;
	int64_t cpu; /* -1: unknown */
};

struct gorun_probe_args {
	uint64_t *buffer; /* 8-byte aligned; the index generator needs none */
	uint64_t words;	  /* in the buffer: 1...2^60; chase: at least one line */
	uint64_t accesses;
	uint64_t from; /* where the walk begins: the number of previous accesses; chase: the line */
	uint64_t seed;
	const int32_t *stop; /* set to nonzero by another thread to end the call within about 1 ms; may be NULL */
	struct gorun_probe_move *moves;
	uint64_t moves_size; /* length of moves; 0: the CPU is not read */
};

struct gorun_probe_result {
	uint64_t accesses; /* made: fewer than requested if stopped */
	int64_t ns;	   /* their duration, by CLOCK_MONOTONIC */
	uint64_t sum;	   /* index: sum of the indices modulo 2^64; chase: the last line; others: 0 */
	uint64_t moves;	   /* found, including the first CPU; those beyond moves_size were not kept */
};

/*
 * Each function returns 0, or -EINVAL for arguments out of bounds; the first two return -EINTR if stopped. The timed
 * loop has no lock, no call and no system call. Every 4096 accesses, or lines of a sequential walk, it looks at stop
 * and, if requested, at the CPU: sched_getcpu(3) is a read of memory (rseq) or a vDSO call with glibc 2.35 and on
 * x86-64, else a system call. The clock is read only when the CPU has changed.
 */

/* Writes zeros to every word, so that all pages are allocated. */
int gorun_probe_fill(const struct gorun_probe_args *args);

/*
 * Links the cache lines to a single cycle in random order: the first word of each holds the address of the next one's,
 * the others are 0. A last, incomplete line is left out.
 */
int gorun_probe_link(const struct gorun_probe_args *args);

/* Reads one word per access and writes it plus one, each at an index of gorun_probe_index. */
int gorun_probe_random(const struct gorun_probe_args *args, struct gorun_probe_result *result);

/* Reads one word per access and writes it plus one, in ascending order, again and again. */
int gorun_probe_sequential(const struct gorun_probe_args *args, struct gorun_probe_result *result);

/* Follows the links of gorun_probe_link from the given line: each read depends on the previous one. */
int gorun_probe_chase(const struct gorun_probe_args *args, struct gorun_probe_result *result);

/*
 * Generates the indices of gorun_probe_random without the accesses. Its time is an upper bound of their share of
 * gorun_probe_random's time, since a CPU overlaps the two.
 */
int gorun_probe_index(const struct gorun_probe_args *args, struct gorun_probe_result *result);

#endif
