/* Work for processes that start together, and run independently or talk to each other. */
#ifndef GORUN_PAIR_H
#define GORUN_PAIR_H

#include "gate.h"

/*
 * State that the processes of one measurement share, initially zero. A process waits here asleep (futex(2)): on the
 * same CPU, a spinning one would delay the others' arrival.
 */
struct gorun_shared {
	uint32_t open; /* futex; not 0: started or stopped */
	int32_t stop;
	int64_t start; /* CLOCK_MONOTONIC ns of the opening */
	int32_t waiting; /* number of arrivals */
	char between[104];
	uint32_t turn; /* futex; even: the first side's turn; odd: the other's */
	char after[124];
};

/* Sleeps while the word has the value, or wakes all that do (futex(2)). A sleeper may wake early. */
void gorun_futex_wait(uint32_t *word, uint32_t value);
void gorun_futex_wake(uint32_t *word);

/* Releases all that wait, and all that arrive later. */
void gorun_shared_open(struct gorun_shared *shared);

/* Ends all work that uses it. With a pipe, one side ends when the other has closed its end. */
void gorun_shared_stop(struct gorun_shared *shared);

/* Waits for the start and returns its time; -1: stopped. With a shared of NULL the start is now. */
int64_t gorun_shared_wait(struct gorun_shared *shared);

/* The kinds of work. In the last three, two sides pass a turn to each other; a loop is a round trip. */
enum gorun_work {
	GORUN_SYSCALL, /* getppid(2) */
	GORUN_SPIN,    /* a multiplication and an addition, which depend on the previous ones */
	GORUN_SUM,     /* adds a word of the array */
	GORUN_PINGPONG_PIPE,
	GORUN_PINGPONG_FUTEX,
	GORUN_PINGPONG_SHM, /* spins, and yields its CPU when that takes long */
	GORUN_WORKS,
};

/*
 * A histogram of ns. Below 2 * GORUN_STEPS a bucket is one ns; above, each power of two has GORUN_STEPS buckets, so
 * that a bucket is narrower than 0.4% of its values.
 */
enum {
	GORUN_STEPS = 256,
	GORUN_BUCKETS = 56 * GORUN_STEPS, /* up to 2^63 - 1 */
};

struct gorun_work_args {
	enum gorun_work work;
	uint64_t loops;
	uint64_t *array;             /* for sum */
	uint64_t words;              /* in the array */
	bool cold;                   /* for sum: filling the array is part of the work */
	bool first;                  /* this side begins and measures */
	int in, out;                 /* ends of the pipes */
	struct gorun_shared *shared; /* may be NULL except for futex and shm */
};

struct gorun_work_result {
	uint64_t loops;     /* completed */
	uint64_t sum;       /* sum of the words; spin: its last value */
	int64_t start, end; /* CLOCK_MONOTONIC ns */
	int cpu;            /* at the end */
	bool stopped;
};

/*
 * Waits for the start and works. It fills the array, word i with i, before the start or, if cold, as the first part of
 * the work. The first of two sides counts its round trips in the histogram of GORUN_BUCKETS, initially 0. Returns 0,
 * -EINVAL for inconsistent arguments, -EPIPE when the other side of a pipe has left, or another negative errno of a pipe.
 */
int gorun_work(const struct gorun_work_args *args, uint64_t *histogram, struct gorun_work_result *result);

struct gorun_checks_args {
	int mask_words; /* length of mask */
	uint64_t checks;
	int cpus; /* length of seen */
	struct gorun_shared *shared;
};

struct gorun_checks_result {
	uint64_t checks; /* completed */
	uint64_t deviations;
	bool stopped;
};

/*
 * Waits for the start and checks repeatedly which CPU it is on. If there is a mask, its CPUs are expected, and cpu does
 * not count: bit i of word w is CPU 64 w + i. Counts the deviations by CPU in seen, initially 0; a
 * deviation to a CPU beyond its length counts for the last one. Returns 0, -EINVAL, or the negative errno of getcpu(2).
 */
int gorun_checks(const struct gorun_checks_args *args, const uint64_t *mask, uint64_t *seen,
		 struct gorun_checks_result *result);

#endif
