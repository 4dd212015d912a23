/*
 * The operations of arm64, in Arm's names: a part of contend.c. Atomics exist twice: as one instruction of the Large
 * System Extensions (LSE, Armv8.1), and as a loop of an exclusive load and a store that fails when the line was taken
 * away in between (LL/SC, Armv8.0). All order as x86-64's do (acquire and release), but for inc: that is the kernel's
 * atomic_inc(), which orders nothing.
 */

#include <sys/auxv.h>
#include <sys/syscall.h>

#define LSE __attribute__((target("arch=armv8-a+lse"))) /* chosen at run time: no flag for the whole file */

/* Counts down one a turn: the only loop that is not unrolled, since it is itself the operation. */
static void op_idle(struct gorun_loop *loop)
{
	uint64_t n = loop->count;

	if (n != 0)
		__asm__ volatile("1:\tsub %0, %0, #1\n\tcbnz %0, 1b" : "+r"(n));
}

OPERATION(op_test_bit, uint64_t seen; __asm__ volatile("ldr %0, %1\n\ttst %0, #1" : "=r"(seen) : "m"(*word) : "cc"))

LSE OPERATION(op_set_bit_lse, uint64_t old, bit = 1;
	      __asm__ volatile("ldsetal %2, %0, %1" : "=r"(old), "+Q"(*word) : "r"(bit) : "memory"))
LSE OPERATION(op_inc_lse, uint64_t one = 1; __asm__ volatile("stadd %1, %0" : "+Q"(*word) : "r"(one)))
LSE OPERATION(op_xadd_lse, uint64_t old, one = 1;
	      __asm__ volatile("ldaddal %2, %0, %1" : "=r"(old), "+Q"(*word) : "r"(one) : "memory"))
LSE OPERATION(op_xchg_lse, uint64_t old;
	      __asm__ volatile("swpal %2, %0, %1" : "=&r"(old), "+Q"(*word) : "r"(value) : "memory"); value = old)

/* Expects what it has last seen or stored, and stores one more. */
LSE OPERATION(op_cmpxchg_lse, uint64_t next = value + 1, seen = value;
	      __asm__ volatile("casal %0, %4, %1\n\t"
			       "cmp %0, %2\n\t"
			       "cinc %3, %3, ne\n\t"
			       "csel %2, %4, %0, eq"
			       : "+&r"(seen), "+Q"(*word), "+&r"(value), "+&r"(failures) : "r"(next) : "cc", "memory"))

LSE OPERATION(op_cas_loop_lse, uint64_t next, seen;
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

/* old = *word; *word = what change makes of it, tried again until no other CPU has taken the line in between. */
#define EXCLUSIVE(load, change, store)										\
	uint64_t old, new;											\
	uint32_t lost;												\
	__asm__ volatile("1:\t" load " %0, %3\n\t" change "\n\t" store " %w2, %1, %3\n\tcbnz %w2, 1b"		\
			 : "=&r"(old), "=&r"(new), "=&r"(lost), "+Q"(*word) : "r"(value) : "memory")

OPERATION(op_set_bit_llsc, EXCLUSIVE("ldaxr", "orr %1, %0, #1", "stlxr"))
OPERATION(op_inc_llsc, EXCLUSIVE("ldxr", "add %1, %0, #1", "stxr"))
OPERATION(op_xadd_llsc, EXCLUSIVE("ldaxr", "add %1, %0, #1", "stlxr"))
OPERATION(op_xchg_llsc, EXCLUSIVE("ldaxr", "mov %1, %4", "stlxr"); value = old)

/* One attempt, which also fails when another CPU took the line in between. */
OPERATION(op_cmpxchg_llsc, uint64_t next = value + 1, seen; uint32_t failed = 1;
	  __asm__ volatile("ldaxr %0, %1\n\t"
			   "cmp %0, %4\n\t"
			   "b.ne 1f\n\t"
			   "stlxr %w2, %5, %1\n"
			   "1:\tcmp %w2, #0\n\t"
			   "csel %4, %5, %0, eq\n\t"
			   "cinc %3, %3, ne"
			   : "=&r"(seen), "+Q"(*word), "+&r"(failed), "+&r"(failures), "+&r"(value) : "r"(next)
			   : "cc", "memory"))

OPERATION(op_cas_loop_llsc, uint64_t next, seen; uint32_t lost;
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

OPERATION(op_load, uint64_t seen; __asm__ volatile("ldr %0, %1" : "=r"(seen) : "m"(*word)))
OPERATION(op_store, uint64_t one = 1; __asm__ volatile("str %1, %0" : "=m"(*word) : "r"(one)))
OPERATION(op_mfence, __asm__ volatile("dmb ish" : : : "memory"))
OPERATION(op_mov_mfence, uint64_t one = 1;
	  __asm__ volatile("str %1, %0\n\tdmb ish" : "=m"(*word) : "r"(one) : "memory"))
OPERATION(op_lfence, __asm__ volatile("dmb ishld" : : : "memory"))
OPERATION(op_sfence, __asm__ volatile("dmb ishst" : : : "memory"))
OPERATION(op_isb, __asm__ volatile("isb" : : : "memory"))

/* The kernel's side of getppid is a few loads: what remains is the way in and out. */
OPERATION(op_syscall, register long number __asm__("x8") = SYS_getppid; register long result __asm__("x0");
	  __asm__ volatile("svc #0" : "=r"(result) : "r"(number) : "cc", "memory"))

bool gorun_has_lse(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
}

static const struct gorun_op ops[] = {
	ROW("idle", "", "sub", 0, op_idle),
	ROW("memset64", "", "blr memset", 64, op_memset64),
	ROW("memset128", "", "blr memset", 128, op_memset128),
	ROW("memset256", "", "blr memset", 256, op_memset256),
	ROW("test_bit", "", "ldr", 8, op_test_bit),
	ROW("set_bit", "lse", "ldsetal", 8, op_set_bit_lse),
	ROW("set_bit", "llsc", "ldaxr/stlxr", 8, op_set_bit_llsc),
	ROW("inc", "lse", "stadd", 8, op_inc_lse),
	ROW("inc", "llsc", "ldxr/stxr", 8, op_inc_llsc),
	ROW("xadd", "lse", "ldaddal", 8, op_xadd_lse),
	ROW("xadd", "llsc", "ldaxr/stlxr", 8, op_xadd_llsc),
	ROW("cmpxchg", "lse", "casal", 8, op_cmpxchg_lse),
	ROW("cmpxchg", "llsc", "ldaxr/stlxr", 8, op_cmpxchg_llsc),
	ROW("xchg", "lse", "swpal", 8, op_xchg_lse),
	ROW("xchg", "llsc", "ldaxr/stlxr", 8, op_xchg_llsc),
	ROW("mfence", "", "dmb ish", 0, op_mfence),
	ROW("mov+mfence", "", "str; dmb ish", 8, op_mov_mfence),
	ROW("lfence", "", "dmb ishld", 0, op_lfence),
	ROW("sfence", "", "dmb ishst", 0, op_sfence),
	ROW("syscall", "", "svc", 0, op_syscall),
	ROW("load", "", "ldr", 8, op_load),
	ROW("store", "", "str", 8, op_store),
	ROW("cas-loop", "lse", "casal", 8, op_cas_loop_lse),
	ROW("cas-loop", "llsc", "ldaxr/stlxr", 8, op_cas_loop_llsc),
	ROW("isb", "", "isb", 0, op_isb),
};
