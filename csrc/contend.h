/* Loops of atomic instructions, fences and operations to compare them with, on a word that threads share. */
#ifndef GORUN_CONTEND_H
#define GORUN_CONTEND_H

#include "gate.h"

/* State of a loop of operations. */
struct gorun_loop {
	void *word;
	uint64_t count;    /* operations to make */
	uint64_t value;    /* expected or exchanged next: left in the register by the previous operation */
	uint64_t failures; /* compare-and-swaps that did not store, summed over calls */
};

struct gorun_op {
	const char *name;    /* the operation's name as an identifier */
	const char *variant; /* "lse" or "llsc" where arm64 has both, else "" */
	const char *symbol;  /* name of run, for disassembly */
	void (*run)(struct gorun_loop *loop);
};

/* Returns a row of the table of operations; NULL after the last one. */
const struct gorun_op *gorun_op(int row);

/* Reports whether the CPU has the LSE atomics of Armv8.1. Without them, an operation of that variant raises SIGILL. */
bool gorun_has_lse(void);

struct gorun_contend_args {
	int op;         /* row of the table */
	void *word;     /* aligned to 8 bytes */
	uint64_t count; /* operations to make; 0: run for time */
	int64_t time;   /* ns from the common start; this and window are positive, and below 2^62 */
	int64_t window; /* ns */
	struct gorun_gate *gate; /* may be NULL */
	const int32_t *stop;     /* set to nonzero by another thread to end the call within 10 ms; may be NULL */
};

/* A thread's totals at the first reading of the clock after the end of a window. */
struct gorun_mark {
	int64_t ns;     /* CLOCK_MONOTONIC */
	int64_t cpu_ns; /* CLOCK_THREAD_CPUTIME_ID */
	uint64_t operations;
	uint64_t failures;
};

struct gorun_contend_result {
	uint64_t operations;
	uint64_t failures;
	int64_t origin; /* the common start, in CLOCK_MONOTONIC ns like all times here; 0 if stopped before it */
	int64_t start;  /* of this thread's first operation */
	int64_t end;    /* of its last one */
	uint64_t marks; /* made */
	int cpu;        /* at the end */
	bool stopped;   /* before all was done */
};

/*
 * Repeats an operation. With a time, marks needs room for time / window marks. Returns 0, or -EINVAL for an unknown
 * operation, a word that is NULL or not aligned, or without a count if the time or the window is out of bounds.
 */
int gorun_contend(const struct gorun_contend_args *args, struct gorun_mark *marks, struct gorun_contend_result *result);

#endif
