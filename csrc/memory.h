/* Memory bandwidth: threads that read and write arrays of doubles, each in slices of its own. */
#ifndef GORUN_MEMORY_H
#define GORUN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "gate.h"

/* Doubles between two lines: all loops move whole lines of 64 bytes, at addresses that are multiples of it. */
#define GORUN_MEMORY_LINE 8

enum gorun_memory_op {
	GORUN_MEMORY_READ,  /* the sum of a */
	GORUN_MEMORY_WRITE, /* a = q */
	GORUN_MEMORY_COPY,  /* a = b */
	GORUN_MEMORY_TRIAD, /* a = b + q c */
	GORUN_MEMORY_OPS,
};

struct gorun_memory_args {
	double *a, *b, *c; /* the thread's slices, 64-byte aligned; one that the operation does not need may be NULL */
	uint64_t words;	   /* of each slice: a positive multiple of GORUN_MEMORY_LINE */
	double q;
	enum gorun_memory_op op;
	bool nontemporal; /* stores bypass the caches; no effect on READ */
	int64_t ns;	  /* for this time from the common start; 0: until stop */
	uint64_t pause;	  /* turns of an empty loop after each KiB, to make less bandwidth; 0: none */
	struct gorun_gate *gate; /* NULL: begin at once */
	const int32_t *stop;
};

struct gorun_memory_result {
	uint64_t bytes; /* read and written by the operation, without what a store reads first */
	int64_t start, end; /* CLOCK_MONOTONIC ns */
	double sum;	/* of what READ has read */
	int32_t cpu;	/* at the end; -1: not known */
	bool stopped;
};

/*
 * Repeats the operation over the slices. The clock and stop are looked at after each 64 KiB of a slice. Returns 0, or
 * -EINVAL for arguments out of bounds.
 */
int gorun_memory(const struct gorun_memory_args *args, struct gorun_memory_result *result);

/* The name of the instructions that the loops use on this CPU: "avx512", "avx2", "sse2", "neon". */
const char *gorun_memory_kernel(void);

#endif
