/* Watches the settings of threads during a measurement. */
#ifndef GORUN_WATCH_H
#define GORUN_WATCH_H

#include "gate.h"

/* the compared part of struct sched_attr (include/uapi/linux/sched/types.h, SCHED_ATTR_SIZE_VER0). */
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

/* The settings of a thread. */
struct gorun_state {
	bool ended;
	unsigned char mask[GORUN_MASK_BYTES];
	struct gorun_attributes attributes;
};

/* A thread to watch. */
struct gorun_watched {
	int32_t tid;
	bool attributes; /* watch the policy and the nice value in addition to the affinity */
	uint64_t looks;  /* made by a watch */
	int64_t used;    /* CPU time of the process at the last look, if this is its main thread, ns */
	bool idle;       /* used has not grown since the previous look */
	struct gorun_state was;
};

/* Reads the settings of a thread, with which later ones are compared. */
void gorun_watched_look(struct gorun_watched *thread);

/*
 * Sleeps until one of n threads has changed, and returns its index; -1 when stop, a futex, is set. It looks every
 * period ns, at up to 64 threads at a time. A thread that has ended does not change any more. -EINVAL: stop is NULL.
 *
 * It is in C because waking 20 times a second costs a Go program 0.8% of a CPU, nearly all of it in threads that the Go
 * runtime wakes too; this costs 0.1%.
 */
int64_t gorun_watch(struct gorun_watched *const *threads, size_t n, int64_t period, int32_t *stop);

/* Ends a watch immediately. */
void gorun_watch_stop(int32_t *stop);

#endif
