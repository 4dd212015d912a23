/*
 * Commands whose best placement is known by construction, for `make exec-test` and the laboratory:
 *
 *   program share|apart|handover|together|spin|memory|remote COUNT
 *
 * share     two threads count in one word: every addition fetches the cache line from the other CPU, unless they share one
 * apart     two threads count, each in a line of its own: they need two CPUs
 * handover  two threads hand a byte back and forth through pipes: each wakes the other, on one CPU without an interrupt
 * together  two threads multiply, and for longer while they are on different nodes: what an emulated machine, whose nodes
 *           are all as near, does not do by itself
 * spin      one thread multiplies: any CPU is as good
 * memory    one thread walks over 64 MiB: any CPU is as good, where there is one node
 * remote    one thread walks over 32 MiB, and multiplies for longer while they are on another node, as together does
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getcpu */
#endif
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE 128 /* bytes: adjacent lines are fetched in pairs */

static struct {
	_Alignas(LINE) atomic_ulong word;
} counters[2];

static unsigned long count;
static int pipes[2][2]; /* to thread 0, to thread 1 */

static void *share(void *arg)
{
	(void)arg;
	for (unsigned long i = 0; i < count; i++)
		atomic_fetch_add(&counters[0].word, 1);
	return NULL;
}

static void *apart(void *arg)
{
	for (unsigned long i = 0; i < count; i++)
		atomic_fetch_add(&counters[(intptr_t)arg].word, 1);
	return NULL;
}

static void *handover(void *arg)
{
	int me = (int)(intptr_t)arg;
	char byte = 0;

	for (unsigned long i = 0; i < count; i++) {
		if (me == 0 && write(pipes[1][1], &byte, 1) != 1)
			err(1, "write");
		if (read(pipes[me][0], &byte, 1) != 1)
			err(1, "read");
		if (me == 1 && write(pipes[0][1], &byte, 1) != 1)
			err(1, "write");
	}
	return NULL;
}

static unsigned long multiply(unsigned long x, unsigned long times)
{
	for (unsigned long i = 0; i < times; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}

static void *spin(void *arg)
{
	(void)arg;
	atomic_store(&counters[0].word, multiply(1, count));
	return NULL;
}

static void *together(void *arg)
{
	enum { CHUNK = 1000, FAR = 5 };
	static atomic_uint nodes[2];
	intptr_t me = (intptr_t)arg;
	unsigned long x = 1;

	for (unsigned long i = 0; i < count; i++) {
		unsigned node;

		if (getcpu(NULL, &node))
			err(1, "getcpu");
		atomic_store(&nodes[me], node);
		x = multiply(x, atomic_load(&nodes[1 - me]) == node ? CHUNK : FAR * CHUNK);
	}
	atomic_store(&counters[me].word, x);
	return NULL;
}

/* Returns memory that this thread has written. */
static unsigned long *written(unsigned long size)
{
	unsigned long *words = malloc(size * sizeof *words);

	if (!words)
		err(1, "malloc");
	for (unsigned long i = 0; i < size; i++)
		words[i] = i;
	return words;
}

static void *memory(void *arg)
{
	enum { WORDS = 8 << 20 };
	unsigned long *words = written(WORDS), sum = 0;

	(void)arg;
	for (unsigned long i = 0; i < count; i++)
		sum += words[i * 5 % WORDS]++;
	atomic_store(&counters[0].word, sum);
	free(words);
	return NULL;
}

static void *remote(void *arg)
{
	enum { WORDS = 4 << 20, CHUNK = 1000, FAR = 5, NODE_OF_ADDRESS = 3 /* MPOL_F_NODE | MPOL_F_ADDR */ };
	unsigned long *words = written(WORDS), x = 1;

	(void)arg;
	for (unsigned long i = 0; i < count; i++) {
		unsigned long *word = &words[i * 4096 % WORDS];
		unsigned node;
		int at;

		if (getcpu(NULL, &node) || syscall(SYS_get_mempolicy, &at, NULL, 0, word, NODE_OF_ADDRESS))
			err(1, "node");
		x = multiply(x + *word, (unsigned)at == node ? CHUNK : FAR * CHUNK);
	}
	atomic_store(&counters[0].word, x);
	free(words);
	return NULL;
}

static const struct {
	const char *name;
	int threads;
	void *(*body)(void *);
} works[] = {
	{ "share", 2, share },	 { "apart", 2, apart },	  { "handover", 2, handover },
	{ "spin", 1, spin },	 { "memory", 1, memory }, { "together", 2, together },
	{ "remote", 1, remote },
};

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc != 3 || pipe(pipes[0]) || pipe(pipes[1]))
		errx(2, "usage: program WORK COUNT");
	count = strtoul(argv[2], NULL, 10);
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		if (strcmp(works[i].name, argv[1]) != 0)
			continue;
		if (works[i].threads == 2 && pthread_create(&other, NULL, works[i].body, (void *)1))
			errx(1, "no thread");
		works[i].body(NULL);
		if (works[i].threads == 2)
			pthread_join(other, NULL);
		printf("done: %lu\n", count);
		return 0;
	}
	errx(2, "no work %s", argv[1]);
}
