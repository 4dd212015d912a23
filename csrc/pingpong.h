/* The latency between two CPUs: a cache line is handed back and forth. */
#ifndef GORUN_PINGPONG_H
#define GORUN_PINGPONG_H

#include "gate.h"

/*
 * What two threads hand over: a word that counts the hand-overs, so that an even one is the first thread's to add to,
 * and an odd one the other's. It must be zero when they begin, and have its cache line for itself.
 */
struct gorun_line {
	uint64_t turn;
	uint64_t over; /* set by the first thread when it ends */
};

/* Returns the name of a method of handing over; NULL behind the last one. */
const char *gorun_pingpong_method(int row);

struct gorun_pingpong_args {
	int method;              /* row of the table */
	bool first;              /* hands over first, and measures */
	struct gorun_line *line; /* aligned to 64 bytes */
	int64_t time;            /* ns from the common start, or until there is a batch; the other ends with the first */
	int64_t batch;           /* ns that a batch of round trips should take at least */
	uint64_t capacity;       /* of batches, at least 1; the first thread ends when they are full */
	struct gorun_gate *gate; /* may be NULL */
	const int32_t *stop;     /* set to nonzero by another thread to end the call within 10 ms; may be NULL */
};

struct gorun_pingpong_result {
	uint64_t batches;         /* measured by the first thread */
	uint64_t trips_per_batch; /* of the first thread */
	uint64_t trips;           /* hand-overs of this thread, with those that found trips_per_batch */
	int cpu;                  /* at the end */
	bool stopped;             /* by the flag */
};

/*
 * Hands the line over until time or capacity is used up. The first thread writes the ns of a round trip, a mean for
 * each batch, to batches. Returns 0, or -EINVAL for an unknown method, a line that is NULL or not aligned, and a first
 * thread without time or batch, or with a time above 2^62.
 */
int gorun_pingpong(const struct gorun_pingpong_args *args, double *batches, struct gorun_pingpong_result *result);

#endif
