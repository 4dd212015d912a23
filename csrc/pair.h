/* What processes do that run beside each other, or talk to each other; they start together. */
#ifndef GORUN_PAIR_H
#define GORUN_PAIR_H

#include "gate.h"

/*
 * What the processes of one measurement share, zero at first. Whoever waits here sleeps (futex(2)): processes on one
 * CPU would keep each other from coming.
 */
struct gorun_shared {
	uint32_t open; /* futex; not 0: go, or stop */
	int32_t stop;
	int64_t start; /* CLOCK_MONOTONIC ns of the opening */
	char between[112];
	uint32_t turn; /* futex; an even one is the first side's, an odd one the other's */
	char after[124];
};

/* Lets all go who wait, and who come later. */
void gorun_shared_open(struct gorun_shared *shared);

/* Ends all that is done with it; one side of a pipe ends when the other one has closed its end. */
void gorun_shared_stop(struct gorun_shared *shared);

/* Waits until the others may go, and returns when that was; -1: stop. A shared of NULL holds nobody. */
int64_t gorun_shared_wait(struct gorun_shared *shared);

/* The works. In the last three, two sides hand a turn over; a loop is a round trip. */
enum gorun_work {
	GORUN_SYSCALL, /* getppid(2) */
	GORUN_SPIN,    /* a multiplication and an addition, which wait for those before */
	GORUN_SUM,     /* adds a word of the array */
	GORUN_PINGPONG_PIPE,
	GORUN_PINGPONG_FUTEX,
	GORUN_PINGPONG_SHM, /* spins, and offers its CPU to others when that took long */
	GORUN_WORKS,
};

/*
 * A histogram of ns. Below 2 * GORUN_STEPS a bucket is one ns; above, each power of two has GORUN_STEPS buckets, so that
 * one is narrower than 0.4% of what it holds.
 */
enum {
	GORUN_STEPS = 256,
	GORUN_BUCKETS = 56 * GORUN_STEPS, /* up to 2^63 - 1 */
};

struct gorun_work_args {
	enum gorun_work work;
	uint64_t loops;
	uint64_t *array;             /* of the sum */
	uint64_t words;              /* in the array */
	bool first;                  /* side, which begins, and measures */
	int in, out;                 /* of the pipes */
	struct gorun_shared *shared; /* may be NULL but for futex and shm */
};

struct gorun_work_result {
	uint64_t loops;     /* done */
	uint64_t sum;       /* of the words; of spin: its last value */
	int64_t start, end; /* CLOCK_MONOTONIC ns */
	int cpu;            /* at the end */
	bool stopped;
};

/*
 * Waits for the others and works. The array is filled before, word i with i. The first of two sides counts its round
 * trips in the histogram, of GORUN_BUCKETS that are 0. Returns 0, -EINVAL for arguments that do not go together, -EPIPE
 * when the other side of a pipe has left, or another negative errno of a pipe.
 */
int gorun_work(const struct gorun_work_args *args, uint64_t *histogram, struct gorun_work_result *result);

struct gorun_checks_args {
	int cpu; /* to be on; -1: on the one of the check before */
	uint64_t checks;
	int cpus; /* in seen */
	struct gorun_shared *shared;
};

struct gorun_checks_result {
	uint64_t checks; /* done */
	uint64_t deviations;
	bool stopped;
};

/*
 * Waits for the others and looks on which CPU it is. The deviations are counted by CPU in seen, which is 0 at first;
 * those to a CPU that it does not have count for its last one. Returns 0, -EINVAL, or the negative errno of getcpu(2).
 */
int gorun_checks(const struct gorun_checks_args *args, uint64_t *seen, struct gorun_checks_result *result);

#endif
