/* The NUMA probe: timed accesses to a buffer of 64-bit words in an order that depends on nothing but the seed. */
#ifndef GORUN_PROBE_H
#define GORUN_PROBE_H

#include <stdint.h>

/*
 * Bytes between two links of a chase: the cache line of x86 and of most arm64 CPUs. Where lines are longer (128 bytes:
 * Apple, POWER; 256: A64FX, s390), several links share one.
 */
#define GORUN_PROBE_LINE 64

/* The CPU that the calling thread was seen on, from so many nanoseconds after the start. */
struct gorun_probe_move {
	int64_t ns;
	int64_t cpu; /* -1 where the system does not tell */
};

struct gorun_probe_args {
	uint64_t *buffer; /* 8-byte aligned; the index generator needs none */
	uint64_t words;	  /* in it: 1...2^60, of a chase at least one line */
	uint64_t accesses;
	uint64_t from; /* where the walk begins: the accesses made before; of a chase, the line */
	uint64_t seed;
	const int32_t *stop; /* set to nonzero by another thread to end the call within about 1 ms; may be NULL */
	struct gorun_probe_move *moves;
	uint64_t moves_size; /* of moves; 0: the CPU is not looked at */
};

struct gorun_probe_result {
	uint64_t accesses; /* made: fewer than asked for if stopped */
	int64_t ns;	   /* that they took, by CLOCK_MONOTONIC */
	uint64_t sum;	   /* index: of the indices, modulo 2^64; chase: the line that it ended on; others: 0 */
	uint64_t moves;	   /* seen, the first CPU included; those beyond moves_size were not kept */
};

/*
 * Each function returns 0, or -EINVAL for arguments out of bounds; the first two return -EINTR if stopped. In the timed
 * loop there is no lock, no call and no system call. Every 4096 accesses, or lines of a sequential walk, it looks at
 * stop and, where asked, at the CPU: sched_getcpu(3) is a read of memory (rseq) or a vDSO call with glibc 2.35 and on
 * x86-64, else a system call. The clock is read only when the CPU has changed.
 */

/* Writes zeros to every word, so that each has a page of its own. */
int gorun_probe_fill(const struct gorun_probe_args *args);

/*
 * Links the cache lines to a single cycle in random order: the first word of each holds the address of the next one's,
 * the others are 0. A last, incomplete line stays outside.
 */
int gorun_probe_link(const struct gorun_probe_args *args);

/* Reads and then writes (adds 1 to) one word an access, each at an index of gorun_probe_index. */
int gorun_probe_random(const struct gorun_probe_args *args, struct gorun_probe_result *result);

/* Reads and then writes (adds 1 to) one word an access, in ascending order, again and again. */
int gorun_probe_sequential(const struct gorun_probe_args *args, struct gorun_probe_result *result);

/* Follows the links of gorun_probe_link from that line: each read waits for the one before it. */
int gorun_probe_chase(const struct gorun_probe_args *args, struct gorun_probe_result *result);

/*
 * Generates the indices of gorun_probe_random without the accesses: what of its time is not memory's, at most, since a
 * CPU overlaps the two.
 */
int gorun_probe_index(const struct gorun_probe_args *args, struct gorun_probe_result *result);

#endif
