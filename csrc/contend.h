/* Loops of atomic instructions, fences and what they are compared with, on a word that other threads work on too. */
#ifndef GORUN_CONTEND_H
#define GORUN_CONTEND_H

#include "gate.h"

/* What a loop of operations works on. */
struct gorun_loop {
	void *word;
	uint64_t count;    /* operations to make */
	uint64_t value;    /* that is expected or exchanged next: what the operation before left in its register */
	uint64_t failures; /* compare-and-swaps that did not store: each loop adds its own */
};

struct gorun_op {
	const char *name;    /* an identifier: the operation's, with _ for what cannot stand in one */
	const char *variant; /* "lse" or "llsc" where arm64 has both, else "" */
	const char *symbol;  /* run's name: what to disassemble */
	void (*run)(struct gorun_loop *loop);
};

/* Returns a row of the table of operations; NULL behind the last one. */
const struct gorun_op *gorun_op(int row);

/* Reports whether the CPU has the LSE atomics of Armv8.1, without which an operation of that variant is a SIGILL. */
bool gorun_has_lse(void);

struct gorun_contend_args {
	int op;         /* row of the table */
	void *word;     /* aligned to 8 bytes */
	uint64_t count; /* operations to make; 0: by time */
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
	int64_t origin; /* the common start, CLOCK_MONOTONIC ns as all times here; 0 if stopped before it */
	int64_t start;  /* of this thread's first operation */
	int64_t end;    /* of its last one */
	uint64_t marks; /* made */
	int cpu;        /* at the end */
	bool stopped;   /* before all was done */
};

/*
 * Repeats an operation. In time, marks takes a mark for each of time / window windows at most. Returns 0; -EINVAL for
 * an unknown operation, a word that is NULL or not aligned, and neither a count nor a time and a window in bounds.
 */
int gorun_contend(const struct gorun_contend_args *args, struct gorun_mark *marks, struct gorun_contend_result *result);

#endif
