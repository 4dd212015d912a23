/*
 * The operations of arm64, in Arm's names. contend.c makes loops and a table from them. Atomics exist in two variants:
 * as one instruction of the Large System Extensions (LSE, Armv8.1), and as a loop of an exclusive load and a store that
 * fails when the line was taken away in between (LL/SC, Armv8.0). All have acquire and release ordering, close to
 * x86-64's, except inc: that is the kernel's atomic_inc(), which is relaxed.
 */

COUNTDOWN(idle, "sub %0, %0, #1", "cbnz %0,")
MEMSET(memset64, 64)
MEMSET(memset128, 128)
MEMSET(memset256, 256)

OPERATION(test_bit, uint64_t seen; __asm__ volatile("ldr %0, %1\n\ttst %0, #1" : "=r"(seen) : "m"(*word) : "cc"))

LSE(set_bit, uint64_t old, bit = 1;
    __asm__ volatile("ldsetal %2, %0, %1" : "=r"(old), "+Q"(*word) : "r"(bit) : "memory"))
LSE(inc, uint64_t one = 1; __asm__ volatile("stadd %1, %0" : "+Q"(*word) : "r"(one)))
LSE(xadd, uint64_t old, one = 1;
    __asm__ volatile("ldaddal %2, %0, %1" : "=r"(old), "+Q"(*word) : "r"(one) : "memory"))
LSE(xchg, uint64_t old;
    __asm__ volatile("swpal %2, %0, %1" : "=&r"(old), "+Q"(*word) : "r"(value) : "memory"); value = old)

/* Expects the value that it last saw or stored, and stores that plus one. */
LSE(cmpxchg, uint64_t next = value + 1, seen = value;
    __asm__ volatile("casal %0, %4, %1\n\t"
		     "cmp %0, %2\n\t"
		     "cinc %3, %3, ne\n\t"
		     "csel %2, %4, %0, eq"
		     : "+&r"(seen), "+Q"(*word), "+&r"(value), "+&r"(failures) : "r"(next) : "cc", "memory"))

/*
 * Expects a value that the word never has: the inverse of its last value. Only the first attempt can succeed, on a word
 * of ones, and stores the same value: the word never changes.
 */
LSE(cmpxchg_fail, uint64_t expected = ~value, seen = expected;
    __asm__ volatile("casal %0, %3, %1\n\t"
		     "cmp %0, %3\n\t"
		     "cinc %2, %2, ne"
		     : "+&r"(seen), "+Q"(*word), "+&r"(failures) : "r"(expected) : "cc", "memory"); value = seen)

LSE(cas_loop, uint64_t next, seen;
    __asm__ volatile("1:\tadd %3, %0, #1\n\t"
		     "mov %4, %0\n\t"
		     "casal %4, %3, %1\n\t"
		     "cmp %4, %0\n\t"
		     "b.eq 2f\n\t"
		     "add %2, %2, #1\n\t"
		     "mov %0, %4\n\t"
		     "b 1b\n"
		     "2:\tmov %0, %3"
		     : "+&r"(value), "+Q"(*word), "+&r"(failures), "=&r"(next), "=&r"(seen)
		     : : "cc", "memory"))

/* old = *word; *word = change(old), repeated until no other CPU has taken the line in between. */
#define EXCLUSIVE(load, change, store)										\
	uint64_t old, new;											\
	uint32_t lost;												\
	__asm__ volatile("1:\t" load " %0, %3\n\t" change "\n\t" store " %w2, %1, %3\n\tcbnz %w2, 1b"		\
			 : "=&r"(old), "=&r"(new), "=&r"(lost), "+Q"(*word) : "r"(value) : "memory")

LLSC(set_bit, EXCLUSIVE("ldaxr", "orr %1, %0, #1", "stlxr"))
LLSC(inc, EXCLUSIVE("ldxr", "add %1, %0, #1", "stxr"))
LLSC(xadd, EXCLUSIVE("ldaxr", "add %1, %0, #1", "stlxr"))
LLSC(xchg, EXCLUSIVE("ldaxr", "mov %1, %4", "stlxr"); value = old)

/* One attempt, which also fails when another CPU took the line in between. */
LLSC(cmpxchg, uint64_t next = value + 1, seen; uint32_t failed = 1;
     __asm__ volatile("ldaxr %0, %1\n\t"
		      "cmp %0, %4\n\t"
		      "b.ne 1f\n\t"
		      "stlxr %w2, %5, %1\n"
		      "1:\tcmp %w2, #0\n\t"
		      "csel %4, %5, %0, eq\n\t"
		      "cinc %3, %3, ne"
		      : "=&r"(seen), "+Q"(*word), "+&r"(failed), "+&r"(failures), "+&r"(value) : "r"(next)
		      : "cc", "memory"))

LLSC(cmpxchg_fail, uint64_t expected = ~value, seen; uint32_t failed = 1;
     __asm__ volatile("ldaxr %0, %1\n\t"
		      "cmp %0, %4\n\t"
		      "b.ne 1f\n\t"
		      "stlxr %w2, %4, %1\n"
		      "1:\tcmp %w2, #0\n\t"
		      "cinc %3, %3, ne"
		      : "=&r"(seen), "+Q"(*word), "+&r"(failed), "+&r"(failures) : "r"(expected)
		      : "cc", "memory"); value = seen)

LLSC(cas_loop, uint64_t next, seen; uint32_t lost;
     __asm__ volatile("1:\tadd %3, %0, #1\n\t"
		      "ldaxr %4, %1\n\t"
		      "cmp %4, %0\n\t"
		      "b.ne 2f\n\t"
		      "stlxr %w5, %3, %1\n\t"
		      "cbz %w5, 3f\n"
		      "2:\tadd %2, %2, #1\n\t"
		      "mov %0, %4\n\t"
		      "b 1b\n"
		      "3:\tmov %0, %3"
		      : "+&r"(value), "+Q"(*word), "+&r"(failures), "=&r"(next), "=&r"(seen), "=&r"(lost)
		      : : "cc", "memory"))

OPERATION(load, uint64_t seen; __asm__ volatile("ldr %0, %1" : "=r"(seen) : "m"(*word)))
OPERATION(store, uint64_t one = 1; __asm__ volatile("str %1, %0" : "=m"(*word) : "r"(one)))
OPERATION(mfence, __asm__ volatile("dmb ish" : : : "memory"))
OPERATION(mov_mfence, uint64_t one = 1;
	  __asm__ volatile("str %1, %0\n\tdmb ish" : "=m"(*word) : "r"(one) : "memory"))
OPERATION(lfence, __asm__ volatile("dmb ishld" : : : "memory"))
OPERATION(sfence, __asm__ volatile("dmb ishst" : : : "memory"))
OPERATION(isb, __asm__ volatile("isb" : : : "memory"))

/* In the kernel, getppid is a few loads, so this measures the entry and the exit. */
OPERATION(syscall, register long number __asm__("x8") = SYS_getppid; register long result __asm__("x0");
	  __asm__ volatile("svc #0" : "=r"(result) : "r"(number) : "cc", "memory"))

/* No system call has this number, so the kernel returns ENOSYS at once. */
OPERATION(syscall_enosys, register long number __asm__("x8") = 1 << 20; register long result __asm__("x0");
	  __asm__ volatile("svc #0" : "=r"(result) : "r"(number) : "cc", "memory"))
