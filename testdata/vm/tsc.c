// Prints how many times a millisecond this machine's time stamp counter ticks, which is its frequency in kHz; an
// emulated CPU counts at the same frequency. Fails where there is no such counter.
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifdef __x86_64__
#include <x86intrin.h>

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct reading {
	int64_t nanoseconds;
	uint64_t ticks;
};

// Of many readings, the one whose two were closest together: on a busy machine some have a time slice between them.
static struct reading steady(void) {
	struct reading best = {0, 0};
	int64_t shortest = INT64_MAX;
	for (int i = 0; i < 1000; i++) {
		int64_t before = now();
		uint64_t ticks = __rdtsc();
		int64_t after = now();
		if (after - before < shortest) {
			shortest = after - before;
			best = (struct reading){before + shortest / 2, ticks};
		}
	}
	return best;
}

int main(void) {
	struct reading first = steady();
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	struct reading last = steady();
	printf("%.0f\n", (double)(last.ticks - first.ticks) * 1e6 / (double)(last.nanoseconds - first.nanoseconds));
	return 0;
}
#else
int main(void) { return 1; }
#endif
