/*
 * The loops of memory.c for x86-64, from the instruction set (Intel SDM, volume 2: MOVAPD, MOVNTPD, VMOVAPD, VMOVNTPD).
 * A line is one store of AVX-512, two of AVX2 or four of SSE2. A loop of non-temporal stores ends with SFENCE: the
 * stores are weakly ordered.
 */
#include <immintrin.h>

#define LOOPS(set, isa, vec, lanes, setzero, set1, load, store, stream, add, mul, sum) \
	__attribute__((target(isa), noinline)) static double read_##set(double *a, const double *b, const double *c, double q, uint64_t words) \
	{ \
		vec s[4] = { setzero(), setzero(), setzero(), setzero() }; /* an addition takes 4 cycles */ \
		uint64_t at = 0; \
		(void)b, (void)c, (void)q; \
		for (; at + 4 * lanes <= words; at += 4 * lanes) \
			_Pragma("GCC unroll 8") for (int i = 0; i < 4; i++) \
				s[i] = add(s[i], load(a + at + lanes * i)); \
		for (; at < words; at += lanes) \
			s[0] = add(s[0], load(a + at)); \
		s[0] = add(add(s[0], s[1]), add(s[2], s[3])); \
		return sum(s[0]); \
	} \
	STORES(set, isa, vec, lanes, set1, load, store, add, mul, , (void)0) \
	STORES(set, isa, vec, lanes, set1, load, stream, add, mul, nt_, _mm_sfence())

#define STORES(set, isa, vec, lanes, set1, load, put, add, mul, kind, fence) \
	__attribute__((target(isa), noinline)) static double write_##kind##set(double *a, const double *b, const double *c, \
									       double q, uint64_t words) \
	{ \
		const vec v = set1(q); \
		(void)b, (void)c; \
		for (uint64_t at = 0; at < words; at += 8) \
			_Pragma("GCC unroll 8") for (int i = 0; i < 8 / lanes; i++) \
				put(a + at + lanes * i, v); \
		fence; \
		return 0; \
	} \
	__attribute__((target(isa), noinline)) static double copy_##kind##set(double *a, const double *b, const double *c, \
									      double q, uint64_t words) \
	{ \
		(void)c, (void)q; \
		for (uint64_t at = 0; at < words; at += 8) \
			_Pragma("GCC unroll 8") for (int i = 0; i < 8 / lanes; i++) \
				put(a + at + lanes * i, load(b + at + lanes * i)); \
		fence; \
		return 0; \
	} \
	__attribute__((target(isa), noinline)) static double triad_##kind##set(double *a, const double *b, const double *c, \
									       double q, uint64_t words) \
	{ \
		const vec v = set1(q); \
		for (uint64_t at = 0; at < words; at += 8) \
			_Pragma("GCC unroll 8") for (int i = 0; i < 8 / lanes; i++) \
				put(a + at + lanes * i, add(load(b + at + lanes * i), mul(v, load(c + at + lanes * i)))); \
		fence; \
		return 0; \
	}

#define SUM2(v) ((v)[0] + (v)[1])
#define SUM4(v) ((v)[0] + (v)[1] + (v)[2] + (v)[3])

LOOPS(sse2, "sse2", __m128d, 2, _mm_setzero_pd, _mm_set1_pd, _mm_load_pd, _mm_store_pd, _mm_stream_pd, _mm_add_pd, _mm_mul_pd, SUM2)
LOOPS(avx2, "avx2", __m256d, 4, _mm256_setzero_pd, _mm256_set1_pd, _mm256_load_pd, _mm256_store_pd, _mm256_stream_pd,
      _mm256_add_pd, _mm256_mul_pd, SUM4)
LOOPS(avx512, "avx512f", __m512d, 8, _mm512_setzero_pd, _mm512_set1_pd, _mm512_load_pd, _mm512_store_pd, _mm512_stream_pd,
      _mm512_add_pd, _mm512_mul_pd, _mm512_reduce_add_pd)

#define KERNEL(set) \
	{ \
		#set, { read_##set, write_##set, copy_##set, triad_##set }, \
		{ \
			read_##set, write_nt_##set, copy_nt_##set, triad_nt_##set \
		} \
	}

static const struct kernel *best(void)
{
	static const struct kernel kernels[] = { KERNEL(avx512), KERNEL(avx2), KERNEL(sse2) };

	if (__builtin_cpu_supports("avx512f"))
		return &kernels[0];
	return &kernels[__builtin_cpu_supports("avx2") ? 1 : 2];
}
