/*
 * What the system calls of `gorun pair` are measured against: the same as one writes it in an afternoon.
 *
 *	cc -O2 -pthread -o rival rival.c -lm
 *	rival LOOPS CPU_A CPU_B    getppid(2) calls a second of a parent on CPU A and a child on CPU B together
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct shared {
	pthread_barrier_t start;
	double begin[2], end[2];
} *shared;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(int side, int cpu, uint64_t loops)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0) {
		perror("sched_setaffinity");
		exit(1);
	}
	pthread_barrier_wait(&shared->start);
	shared->begin[side] = now();
	for (uint64_t i = 0; i < loops; i++)
		getppid();
	shared->end[side] = now();
}

int main(int argc, char **argv)
{
	pthread_barrierattr_t attr;
	uint64_t loops;
	pid_t child;

	if (argc != 4)
		return 2;
	loops = strtoull(argv[1], NULL, 10);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->start, &attr, 2);
	child = fork();
	if (child < 0)
		return 1;
	if (child == 0) {
		work(1, atoi(argv[3]), loops);
		_exit(0);
	}
	work(0, atoi(argv[2]), loops);
	if (waitpid(child, NULL, 0) != child)
		return 1;
	printf("%.0f\n", 2 * (double)loops / (fmax(shared->end[0], shared->end[1]) - fmin(shared->begin[0], shared->begin[1])));
	return 0;
}
