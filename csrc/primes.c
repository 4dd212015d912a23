#include "primes.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { CHUNK = 1 << 16 }; /* tests between two looks at stop: 0.2 ms of divisions */

static bool stopped(const struct gorun_primes_args *args)
{
	return args->stop != NULL && __atomic_load_n(args->stop, __ATOMIC_RELAXED) != 0;
}

/* Reports whether all numbers are below the limit; true if there are none. */
static bool bounded(const struct gorun_primes_args *args, uint64_t limit)
{
	if (args->count == 0)
		return true;
	return args->first < limit && (limit - 1 - args->first) / args->step >= args->count - 1;
}

static int begin(const struct gorun_primes_args *args, struct gorun_primes_result *result)
{
	*result = (struct gorun_primes_result){ 0 };
	return args->step == 0 || !bounded(args, UINT64_C(1) << 63) ? -EINVAL : 0;
}

static void add(struct gorun_primes_result *result, bool prime, uint64_t trials)
{
	result->numbers++;
	result->primes += prime;
	result->trials += trials;
}

/* Counts the divisors of n among from...to. */
static uint64_t modulo_chunk(int64_t n, int64_t from, int64_t to)
{
	uint64_t divisors = 0;

	for (int64_t i = from; i <= to; i++)
		if (n % i == 0)
			divisors++;
	return divisors;
}

int gorun_modulo(const struct gorun_primes_args *args, struct gorun_primes_result *result)
{
	int err = begin(args, result);

	for (uint64_t k = 0; err == 0 && k < args->count; k++) {
		int64_t n = (int64_t)(args->first + k * args->step);
		uint64_t divisors = 0;

		for (int64_t done = 0; done < n;) {
			int64_t end = n - done < CHUNK ? n : done + CHUNK;

			if (stopped(args))
				return 0;
			divisors += modulo_chunk(n, done + 1, end);
			done = end;
		}
		add(result, divisors == 2, (uint64_t)n);
	}
	return err;
}

int gorun_trial(const struct gorun_primes_args *args, struct gorun_primes_result *result)
{
	int err = begin(args, result);

	for (uint64_t k = 0; err == 0 && k < args->count; k++) {
		uint64_t n = args->first + k * args->step;
		uint64_t trials = n >= 4;
		bool prime = n >= 2 && (n < 4 || n % 2 != 0);

		if (stopped(args))
			return 0;
		for (uint64_t d = 3; prime && d * d <= n; d += 2) {
			prime = n % d != 0;
			if (++trials % CHUNK == 0 && stopped(args))
				return 0;
		}
		add(result, prime, trials);
	}
	return err;
}

/*
 * Counts the divisors whose reciprocals are c[0]...c[count-1]. The reciprocal of 1 is 0 modulo 2^64, and still counts
 * since c - 1 is the greatest number.
 */
static uint64_t brute_chunk(uint64_t n, const uint64_t *c, uint64_t count)
{
	uint64_t divisors = 0;

	for (uint64_t i = 0; i < count; i++)
		divisors += n * c[i] <= c[i] - 1;
	return divisors;
}

int gorun_brute(const struct gorun_primes_args *args, struct gorun_primes_result *result)
{
	int err = begin(args, result);
	uint64_t last, *c;

	if (err != 0 || args->count == 0)
		return err;
	if (!bounded(args, UINT64_C(1) << 32))
		return -ERANGE;
	last = args->first + (args->count - 1) * args->step;
	c = malloc((last + 1) * sizeof *c);
	if (c == NULL)
		return -ENOMEM;
	for (uint64_t i = 1; i <= last && !(i % CHUNK == 0 && stopped(args)); i++)
		c[i] = UINT64_MAX / i + 1;

	for (uint64_t k = 0; k < args->count && !stopped(args); k++) {
		uint64_t n = args->first + k * args->step;
		uint64_t divisors = 0, done = 0;

		while (done < n && !stopped(args)) {
			uint64_t count = n - done < CHUNK ? n - done : CHUNK;

			divisors += brute_chunk(n, c + done + 1, count);
			done += count;
		}
		if (done == n)
			add(result, divisors == 2, n);
	}
	free(c);
	return 0;
}
