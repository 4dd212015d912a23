/* Moves of a thread between two CPUs, and what its accesses to memory take after each. */
#ifndef GORUN_MIGRATE_H
#define GORUN_MIGRATE_H

#include <stdbool.h>

#include "probe.h"

/* A walk of probe.h. */
typedef int gorun_walk_fn(const struct gorun_probe_args *args, struct gorun_probe_result *result);

struct gorun_migrate_args {
	gorun_walk_fn *walk;
	bool chase;		       /* the walk is a chase, which goes on from the line that it ended on */
	struct gorun_probe_args probe; /* its buffer, words, seed and stop */
	int cpus[2];		       /* the thread goes to the first, to the second, and so on; both may be the same CPU */
	uint64_t moves;
	int64_t every; /* ns from the begin of a move to the begin of the next; at least a piece is between them */

	uint64_t pass;	 /* accesses that fill the caches, made on each CPU before the moves begin */
	uint64_t piece;	 /* accesses that are timed together */
	uint64_t batch;	 /* accesses at once after the timed pieces */
	uint64_t pieces; /* that are timed after each move */
	uint64_t steady; /* pieces that are timed on each CPU before the moves begin */
	uint64_t calls;	 /* that ask for the CPU that the thread is on, timed on each CPU before the moves begin */
};

/* Where times are written, in ns. Times that were not taken are left as they are. */
struct gorun_migrate_times {
	double *move;	/* of each move: args.moves */
	double *piece;	/* after each move: args.moves times args.pieces */
	double *steady; /* of pieces on each CPU: 2 times args.steady */
	double *call;	/* on each CPU: 2 times args.calls */
};

struct gorun_migrate_result {
	uint64_t moves;	    /* made */
	uint64_t accesses;  /* from the first move to the end */
	int64_t ns;	    /* that these took, with the moves, by CLOCK_MONOTONIC */
	uint64_t next;	    /* where a walk that goes on begins: the accesses made in all; of a chase, the line */
	uint64_t looks;	    /* at the CPU: after each move, and before the next one */
	uint64_t elsewhere; /* looks that found the thread on another CPU than asked */
	int asked, seen;    /* of the first of them */
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
