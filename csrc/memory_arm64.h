/*
 * The loops of memory.c for arm64, from the instruction set (Arm ARM, C6: LDP, STP, STNP of SIMD&FP registers). A line is
 * two pairs of 16 bytes. STNP only hints that the line will not be used again soon; some CPUs treat it as STP.
 */
#include <arm_neon.h>

static inline void load_line(const double *p, float64x2_t v[4])
{
	__asm__ volatile("ldp %q0, %q1, [%4]\n\tldp %q2, %q3, [%4, #32]"
			 : "=&w"(v[0]), "=&w"(v[1]), "=&w"(v[2]), "=&w"(v[3])
			 : "r"(p)
			 : "memory");
}

static inline void store_line(double *p, const float64x2_t v[4])
{
	__asm__ volatile("stp %q0, %q1, [%4]\n\tstp %q2, %q3, [%4, #32]" ::"w"(v[0]), "w"(v[1]), "w"(v[2]), "w"(v[3]), "r"(p)
			 : "memory");
}

static inline void stream_line(double *p, const float64x2_t v[4])
{
	__asm__ volatile("stnp %q0, %q1, [%4]\n\tstnp %q2, %q3, [%4, #32]" ::"w"(v[0]), "w"(v[1]), "w"(v[2]), "w"(v[3]), "r"(p)
			 : "memory");
}

__attribute__((noinline)) static double read_neon(double *a, const double *b, const double *c, double q, uint64_t words)
{
	float64x2_t s[4] = { vdupq_n_f64(0), vdupq_n_f64(0), vdupq_n_f64(0), vdupq_n_f64(0) }, v[4];

	(void)b, (void)c, (void)q;
	for (uint64_t at = 0; at < words; at += 8) {
		load_line(a + at, v);
		_Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
			s[i] = vaddq_f64(s[i], v[i]);
	}
	return vaddvq_f64(vaddq_f64(vaddq_f64(s[0], s[1]), vaddq_f64(s[2], s[3])));
}

#define STORES(kind, put) \
	__attribute__((noinline)) static double write_##kind##neon(double *a, const double *b, const double *c, double q, \
								   uint64_t words) \
	{ \
		const float64x2_t v[4] = { vdupq_n_f64(q), vdupq_n_f64(q), vdupq_n_f64(q), vdupq_n_f64(q) }; \
		(void)b, (void)c; \
		for (uint64_t at = 0; at < words; at += 8) \
			put(a + at, v); \
		return 0; \
	} \
	__attribute__((noinline)) static double copy_##kind##neon(double *a, const double *b, const double *c, double q, \
								  uint64_t words) \
	{ \
		float64x2_t v[4]; \
		(void)c, (void)q; \
		for (uint64_t at = 0; at < words; at += 8) { \
			load_line(b + at, v); \
			put(a + at, v); \
		} \
		return 0; \
	} \
	__attribute__((noinline)) static double triad_##kind##neon(double *a, const double *b, const double *c, double q, \
								   uint64_t words) \
	{ \
		const float64x2_t factor = vdupq_n_f64(q); \
		float64x2_t v[4], w[4]; \
		for (uint64_t at = 0; at < words; at += 8) { \
			load_line(b + at, v); \
			load_line(c + at, w); \
			_Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) \
				v[i] = vaddq_f64(v[i], vmulq_f64(factor, w[i])); \
			put(a + at, v); \
		} \
		return 0; \
	}

STORES(, store_line)
STORES(nt_, stream_line)

static const struct kernel *best(void)
{
	static const struct kernel neon = {
		"neon",
		{ read_neon, write_neon, copy_neon, triad_neon },
		{ read_neon, write_nt_neon, copy_nt_neon, triad_nt_neon },
	};

	return &neon;
}
