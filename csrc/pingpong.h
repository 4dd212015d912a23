/* Measures the latency between two CPUs: two threads pass a cache line back and forth. */
#ifndef GORUN_PINGPONG_H
#define GORUN_PINGPONG_H

#include "gate.h"

/*
 * The memory that two threads share: a word that counts the hand-overs. At an even count it is the first thread's turn,
 * at an odd one the other's. It must be zero at the start, and alone on its cache line.
 */
struct gorun_line {
	uint64_t turn;
	uint64_t over; /* set by the first thread when it ends */
};

/* Returns the name of a method of passing the line; NULL after the last one. */
const char *gorun_pingpong_method(int row);

struct gorun_pingpong_args {
	int method;              /* row of the table */
	bool first;              /* passes first, and measures */
	struct gorun_line *line; /* aligned to 64 bytes */
	int64_t time;            /* ns from the common start, extended until one batch is complete */
	int64_t batch;           /* shortest duration of a batch of round trips, ns */
	uint64_t capacity;       /* length of batches, at least 1; the first thread ends when it is full */
	struct gorun_gate *gate; /* may be NULL */
	const int32_t *stop;     /* set to nonzero by another thread to end the call within 10 ms; may be NULL */
};

struct gorun_pingpong_result {
	uint64_t batches;         /* measured by the first thread */
	uint64_t trips_per_batch; /* of the first thread */
	uint64_t trips;           /* hand-overs of this thread, including the ones to find trips_per_batch */
	int cpu;                  /* at the end */
	bool stopped;             /* by the flag */
};

/*
 * Passes the line until time or capacity is used up. The first thread writes the mean ns of a round trip in each batch
 * to batches. Returns 0, or -EINVAL for an unknown method, a line that is NULL or not aligned, and a first thread
 * without time or batch, or with a time above 2^62.
 */
int gorun_pingpong(const struct gorun_pingpong_args *args, double *batches, struct gorun_pingpong_result *result);

#endif
