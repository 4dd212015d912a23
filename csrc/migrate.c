#include "migrate.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>

#include "watch.h"

enum {
	WORD_BITS = CHAR_BIT * sizeof(unsigned long),
};

/* A thread that is moved. */
struct mover {
	const struct gorun_migrate_args *args;
	const struct gorun_migrate_times *times;
	struct gorun_migrate_result *result;
	uint64_t from; /* start of the next walk */
	int cpu;       /* the requested CPU */
};

/* Makes accesses, and returns their duration in ns, or a negative errno. */
static int64_t walk(struct mover *m, uint64_t accesses)
{
	struct gorun_probe_args args = m->args->probe;
	struct gorun_probe_result result;
	int err;

	args.accesses = accesses;
	args.from = m->from;
	if ((err = m->args->walk(&args, &result)) != 0)
		return err;
	m->from = m->args->chase ? result.sum : m->from + result.accesses;
	m->result->accesses += result.accesses;
	return result.ns;
}

/* Checks whether the thread is on the requested CPU. */
static void look(struct mover *m)
{
	struct gorun_migrate_result *r = m->result;
	int seen = sched_getcpu();

	r->looks++;
	if (seen == m->cpu)
		return;
	if (r->elsewhere++ == 0) {
		r->asked = m->cpu;
		r->seen = seen;
	}
}

/* Moves the thread to a CPU, and returns the ns until it runs there, or a negative errno. */
static int64_t move(struct mover *m, int cpu)
{
	unsigned long mask[GORUN_MASK_BYTES / sizeof(unsigned long)] = { 0 };
	int64_t begun, took;

	mask[cpu / WORD_BITS] |= 1UL << (cpu % WORD_BITS);
	begun = gorun_now(CLOCK_MONOTONIC);
	if (sched_setaffinity(0, sizeof mask, (const cpu_set_t *)mask) != 0)
		return -errno;
	took = gorun_now(CLOCK_MONOTONIC) - begun;
	m->cpu = cpu;
	look(m);
	return took > 0 ? took : 0; /* the clocks of two CPUs may differ by some ns */
}

/* Fills the caches of one of the two CPUs, and times pieces and calls there. */
static int settle(struct mover *m, int side)
{
	const struct gorun_migrate_args *args = m->args;
	int64_t ns = move(m, args->cpus[side]);

	if (ns >= 0)
		ns = walk(m, args->pass);
	for (uint64_t i = 0; i < args->steady && ns >= 0 && !gorun_stopped(args->probe.stop); i++)
		if ((ns = walk(m, args->piece)) >= 0)
			m->times->steady[(uint64_t)side * args->steady + i] = (double)ns;
	for (uint64_t i = 0; i < args->calls && ns >= 0 && !gorun_stopped(args->probe.stop); i++)
		if ((ns = move(m, args->cpus[side])) >= 0)
			m->times->call[(uint64_t)side * args->calls + i] = (double)ns;
	return ns < 0 ? (int)ns : 0;
}

/* Moves the thread, then makes accesses until the time of the next move. */
static int stay(struct mover *m)
{
	const struct gorun_migrate_args *args = m->args;
	uint64_t nth = m->result->moves, piece = 0;
	int64_t end = gorun_now(CLOCK_MONOTONIC) + args->every;
	int64_t ns = move(m, args->cpus[nth % 2]);

	if (ns < 0)
		return (int)ns;
	m->times->move[nth] = (double)ns;
	m->result->moves++;
	do {
		bool timed = piece < args->pieces;

		if ((ns = walk(m, timed ? args->piece : args->batch)) < 0)
			return (int)ns;
		if (gorun_stopped(args->probe.stop))
			break; /* perhaps within the piece */
		if (timed)
			m->times->piece[nth * args->pieces + piece++] = (double)ns;
	} while (gorun_now(CLOCK_MONOTONIC) < end);
	look(m);
	return 0;
}

static int check(const struct gorun_migrate_args *args, const struct gorun_migrate_times *times)
{
	for (int i = 0; i < 2; i++)
		if (args->cpus[i] < 0 || args->cpus[i] >= CHAR_BIT * GORUN_MASK_BYTES)
			return -EINVAL;
	if (args->walk == NULL || args->moves == 0 || args->pass == 0 || args->piece == 0 || args->batch == 0)
		return -EINVAL;
	return times->move == NULL || times->piece == NULL || times->steady == NULL || times->call == NULL ? -EINVAL : 0;
}

int gorun_migrate(const struct gorun_migrate_args *args, const struct gorun_migrate_times *times,
		  struct gorun_migrate_result *result)
{
	struct mover m = { .args = args, .times = times, .result = result };
	int err = check(args, times);
	int64_t start;

	*result = (struct gorun_migrate_result){ 0 };
	for (int side = 0; side < 2 && err == 0; side++)
		err = settle(&m, side);
	result->accesses = 0;
	start = gorun_now(CLOCK_MONOTONIC);
	while (err == 0 && result->moves < args->moves && !gorun_stopped(args->probe.stop))
		err = stay(&m);
	result->ns = gorun_now(CLOCK_MONOTONIC) - start;
	result->next = m.from;
	result->stopped = gorun_stopped(args->probe.stop);
	return err;
}
