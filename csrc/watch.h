/* A look at threads that goes on while something is measured. */
#ifndef GORUN_WATCH_H
#define GORUN_WATCH_H

#include "gate.h"

/* struct sched_attr up to what is compared (include/uapi/linux/sched/types.h, SCHED_ATTR_SIZE_VER0). */
struct gorun_attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t times[3];
};

/* Room for the largest mask of CPUs that Linux can be built with (NR_CPUS, 8192 on amd64). */
#define GORUN_MASK_BYTES 1024

/* What a thread has. */
struct gorun_state {
	bool ended;
	unsigned char mask[GORUN_MASK_BYTES];
	struct gorun_attributes attributes;
};

/* A thread that is watched. */
struct gorun_watched {
	int32_t tid;
	bool attributes; /* its policy and nice value are watched, and not only its affinity */
	uint64_t looks;  /* that a watch has made */
	int64_t used;    /* at the last look: CPU time of the process that it is the main thread of, ns */
	bool idle;       /* that had not grown since the look before */
	struct gorun_state was;
};

/* Reads what a thread has: what is a change from then on. */
void gorun_watched_look(struct gorun_watched *thread);

/*
 * Sleeps until one of n threads has changed, and returns its place; -1 when stop, a futex, is set. It looks every
 * period ns, at up to 64 threads in turns. A thread that has ended does not change any more. -EINVAL: there is no stop.
 *
 * It is in C because a Go program that wakes 20 times a second takes 0.8% of a CPU for that, nearly all of it in the
 * threads that the Go runtime wakes along; this takes 0.1%.
 */
int64_t gorun_watch(struct gorun_watched *const *threads, size_t n, int64_t period, int32_t *stop);

/* Ends a watch at once. */
void gorun_watch_stop(int32_t *stop);

#endif
