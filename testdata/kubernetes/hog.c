// Takes the given number of microseconds of each millisecond of its CPU, before all others: to them, the CPU is slower.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv) {
	long busy = argc == 2 ? atol(argv[1]) * 1000 : 0;
	struct sched_param first = {.sched_priority = 1};
	struct timespec idle = {.tv_nsec = 1000000 - busy};
	if (busy <= 0 || busy >= 1000000 || sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
		perror("hog");
		return 1;
	}
	for (;;) {
		for (long until = now() + busy; now() < until;)
			;
		nanosleep(&idle, NULL);
	}
}
