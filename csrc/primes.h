/* The prime-counting loops in C, against which the Go kernels of internal/primes are measured and tested. */
#ifndef GORUN_PRIMES_H
#define GORUN_PRIMES_H

#include <stdint.h>

/* The numbers first, first + step, ...: count of them, all below 2^63. */
struct gorun_primes_args {
	uint64_t first;
	uint64_t step; /* at least 1 */
	uint64_t count;
	const int32_t *stop; /* set to nonzero by another thread to end the call within about 1 ms; may be NULL */
};

struct gorun_primes_result {
	uint64_t numbers; /* fully tested: fewer than count if stopped */
	uint64_t primes;  /* of them */
	uint64_t trials;  /* divisibility tests */
};

/*
 * All three return 0, or -EINVAL for a step of 0 or numbers out of bounds; gorun_brute also -ENOMEM, and -ERANGE for
 * numbers of 2^32 and above.
 */

/* The original program's test: counts the i among 1...n with n % i == 0 on signed 64-bit integers; a prime has two. */
int gorun_modulo(const struct gorun_primes_args *args, struct gorun_primes_result *result);

/* Divides by 2 and the odd numbers up to the square root, until it finds a divisor. */
int gorun_trial(const struct gorun_primes_args *args, struct gorun_primes_result *result);

/*
 * Counts like gorun_modulo, but multiplies by a reciprocal instead of dividing: i divides n if and only if
 * n * c mod 2^64 < c for c = ceil(2^64 / i) and i, n < 2^32 (Lemire, Kaser and Kurz, "Faster remainder by direct
 * computation", 2019). It first computes the reciprocals, 8 bytes per divisor.
 */
int gorun_brute(const struct gorun_primes_args *args, struct gorun_primes_result *result);

#endif
