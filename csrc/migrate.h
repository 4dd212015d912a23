/* Measures moves of a thread between two CPUs, and its accesses to memory after each move. */
#ifndef GORUN_MIGRATE_H
#define GORUN_MIGRATE_H

#include <stdbool.h>

#include "probe.h"

/* A walk of probe.h. */
typedef int gorun_walk_fn(const struct gorun_probe_args *args, struct gorun_probe_result *result);

struct gorun_migrate_args {
	gorun_walk_fn *walk;
	bool chase;		       /* the walk is a chase, which continues from the line where it ended */
	struct gorun_probe_args probe; /* its buffer, words, seed and stop */
	int cpus[2];		       /* targets of the moves, in turn; both may be the same CPU */
	uint64_t moves;
	int64_t every; /* ns from the start of one move to the start of the next; at least one piece is in between */

	uint64_t pass;	 /* accesses on each CPU before the moves, to fill its caches */
	uint64_t piece;	 /* accesses per timed piece */
	uint64_t batch;	 /* accesses at once after the timed pieces */
	uint64_t pieces; /* timed pieces after each move */
	uint64_t steady; /* timed pieces on each CPU before the moves */
	uint64_t calls;	 /* timed calls on each CPU before the moves; each requests the current CPU */
};

/* Output arrays of times in ns. Times that were not measured are left unchanged. */
struct gorun_migrate_times {
	double *move;	/* one per move: args.moves */
	double *piece;	/* timed pieces after each move: args.moves times args.pieces */
	double *steady; /* timed pieces on each CPU: 2 times args.steady */
	double *call;	/* timed calls on each CPU: 2 times args.calls */
};

struct gorun_migrate_result {
	uint64_t moves;	    /* made */
	uint64_t accesses;  /* made since the first move */
	int64_t ns;	    /* duration of these accesses including the moves, CLOCK_MONOTONIC ns */
	uint64_t next;	    /* start of a walk that continues from here: the accesses made in all; for a chase, the line */
	uint64_t looks;	    /* checks of the current CPU: after each move, and before the next one */
	uint64_t elsewhere; /* checks that found another CPU than the requested one */
	int asked, seen;    /* requested and found CPU of the first such check */
	bool stopped;
};

/*
 * Moves the calling thread by sched_setaffinity(2), and leaves it on its last CPU. A move takes from just before the call
 * until the thread runs on the other CPU, where the call returns. Returns 0, -EINVAL, or another negative errno of
 * sched_setaffinity(2).
 */
int gorun_migrate(const struct gorun_migrate_args *args, const struct gorun_migrate_times *times,
		  struct gorun_migrate_result *result);

#endif
