/*
 * What gorun's contention and core-to-core figures are measured against: the same as one writes it in an afternoon.
 *
 *	cc -O2 -pthread -o rival rival.c
 *	rival OP COUNT CPU...                    mean ns per operation of a thread on each CPU; all use one word
 *	rival c2c METHOD ROUNDTRIPS CPU_A CPU_B  ns one way; METHOD is cas, write or faa
 *
 * COUNT is rounded up to a multiple of 16. Fences and bit operations are those of x86-64 only.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Alignas(128) volatile uint64_t line[32]; /* the word is its first; a memset takes up to all */
#define word (line[0])

static pthread_barrier_t barrier;
static uint64_t count;
static void *(*volatile set)(void *, int, size_t) = memset; /* volatile: or the compiler stores by itself */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define USE(value) __asm__ volatile("" : : "r"(value))

#define LOOP(name, setup, op)                                           \
	static void run_##name(void)                                    \
	{                                                               \
		setup;                                                  \
		for (uint64_t i = count / 16; i != 0; i--) {            \
			op; op; op; op; op; op; op; op;                 \
			op; op; op; op; op; op; op; op;                 \
		}                                                       \
	}

#define CAS(expected, new) \
	__atomic_compare_exchange_n(&word, &(expected), (new), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

static void run_idle(void)
{
	for (uint64_t i = count; i != 0; i--)
		__asm__ volatile("");
}

LOOP(memset64, , set((void *)line, 1, 64))
LOOP(memset128, , set((void *)line, 1, 128))
LOOP(memset256, , set((void *)line, 1, 256))
LOOP(xadd, , USE(__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST)))
LOOP(xchg, , USE(__atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST)))
LOOP(cmpxchg, uint64_t seen = 0, { uint64_t next = seen + 1; seen = CAS(seen, next) ? next : seen; })
LOOP(cas_loop, uint64_t seen = 0, { while (!CAS(seen, seen + 1)) ; seen++; })
LOOP(load, , (void)word)
LOOP(store, , word = 1)
#if defined(__x86_64__)
LOOP(test_bit, , __asm__ volatile("btq $0, %0" : : "m"(word) : "cc"))
LOOP(set_bit, , __asm__ volatile("lock btsq $0, %0" : "+m"(word) : : "cc"))
LOOP(inc, , __asm__ volatile("lock incq %0" : "+m"(word) : : "cc"))
LOOP(mfence, , __asm__ volatile("mfence" : : : "memory"))
LOOP(mov_mfence, , word = 1; __asm__ volatile("mfence" : : : "memory"))
LOOP(lfence, , __asm__ volatile("lfence" : : : "memory"))
LOOP(sfence, , __asm__ volatile("sfence" : : : "memory"))
LOOP(syscall, , { long n = SYS_getppid; __asm__ volatile("syscall" : "+a"(n) : : "rcx", "r11", "cc", "memory"); })
#else
LOOP(syscall, , syscall(SYS_getppid))
#endif

static const struct op {
	const char *name;
	void (*run)(void);
} ops[] = {
	{ "idle", run_idle },
	{ "memset64", run_memset64 },
	{ "memset128", run_memset128 },
	{ "memset256", run_memset256 },
	{ "xadd", run_xadd },
	{ "xchg", run_xchg },
	{ "cmpxchg", run_cmpxchg },
	{ "cas-loop", run_cas_loop },
	{ "load", run_load },
	{ "store", run_store },
#if defined(__x86_64__)
	{ "test_bit", run_test_bit },
	{ "set_bit", run_set_bit },
	{ "inc", run_inc },
	{ "mfence", run_mfence },
	{ "mov+mfence", run_mov_mfence },
	{ "lfence", run_lfence },
	{ "sfence", run_sfence },
#endif
	{ "syscall", run_syscall },
};

/* Each has its turn when the word is even (side 0) or odd (side 1), and hands over by adding 1. */
#define PASSES(name, pass) \
	static void name(uint64_t turn, uint64_t trips) \
	{ \
		for (; trips != 0; trips--, turn += 2) { \
			pass; \
		} \
	}
#define AWAIT \
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != turn) \
		;

PASSES(pass_cas, for (uint64_t expected = turn; !CAS(expected, turn + 1);) expected = turn)
PASSES(pass_write, AWAIT __atomic_store_n(&word, turn + 1, __ATOMIC_RELEASE))
PASSES(pass_faa, AWAIT USE(__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST)))

static const struct method {
	const char *name;
	void (*pass)(uint64_t turn, uint64_t trips);
} methods[] = { { "cas", pass_cas }, { "write", pass_write }, { "faa", pass_faa } };

struct thread {
	pthread_t id;
	int cpu, side;
	const struct op *op;
	const struct method *method;
	double ns;
};

static void *run(void *argument)
{
	struct thread *t = argument;
	cpu_set_t cpus;
	double start;

	CPU_ZERO(&cpus);
	CPU_SET(t->cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus) != 0) {
		fprintf(stderr, "rival: cannot run on CPU %d\n", t->cpu);
		exit(1);
	}
	for (start = now(); now() - start < 150e6;)
		; /* as gorun does: the clock settles, and a hypervisor gives both CPUs what busy CPUs get */
	pthread_barrier_wait(&barrier);
	start = now();
	if (t->op != NULL)
		t->op->run();
	else
		t->method->pass(t->side, count);
	t->ns = (now() - start) / (double)count;
	return NULL;
}

static void usage(void)
{
	fprintf(stderr, "usage: rival OP COUNT CPU... | rival c2c cas|write|faa ROUNDTRIPS CPU_A CPU_B\nOP:");
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		fprintf(stderr, " %s", ops[i].name);
	fprintf(stderr, "\n");
	exit(2);
}

int main(int argc, char **argv)
{
	bool pair = argc == 6 && strcmp(argv[1], "c2c") == 0;
	int first = pair ? 4 : 3, threads = argc - first;
	const struct method *method = NULL;
	const struct op *op = NULL;
	struct thread *t;
	double sum = 0;

	if (threads < 1)
		usage();
	for (size_t i = 0; pair && i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i].name, argv[2]) == 0)
			method = &methods[i];
	for (size_t i = 0; !pair && i < sizeof ops / sizeof *ops; i++)
		if (strcmp(ops[i].name, argv[1]) == 0)
			op = &ops[i];
	count = strtoull(argv[first - 1], NULL, 0);
	if ((op == NULL && method == NULL) || count == 0)
		usage();
	if (op != NULL)
		count = (count + 15) / 16 * 16;

	t = calloc(threads, sizeof *t);
	pthread_barrier_init(&barrier, NULL, threads);
	for (int i = 0; i < threads; i++) {
		t[i].cpu = atoi(argv[first + i]);
		t[i].side = i;
		t[i].op = op;
		t[i].method = method;
		pthread_create(&t[i].id, NULL, run, &t[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i].id, NULL);
		sum += t[i].ns;
	}
	printf("%.4f\n", pair ? t[0].ns / 2 : sum / threads);
	return 0;
}
