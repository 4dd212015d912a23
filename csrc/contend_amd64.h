/* The operations of x86-64, in Intel's names: a part of contend.c. */

#include <sys/syscall.h>

/* Counts down one a turn: the only loop that is not unrolled, since it is itself the operation. */
static void op_idle(struct gorun_loop *loop)
{
	uint64_t n = loop->count;

	if (n != 0)
		__asm__ volatile("1:\tdecq %0\n\tjnz 1b" : "+r"(n) : : "cc");
}

OPERATION(op_test_bit, __asm__ volatile("btq $0, %0" : : "m"(*word) : "cc"))
OPERATION(op_set_bit, __asm__ volatile("lock btsq $0, %0" : "+m"(*word) : : "cc"))
OPERATION(op_inc, __asm__ volatile("lock incq %0" : "+m"(*word) : : "cc"))
OPERATION(op_xadd, uint64_t one = 1; __asm__ volatile("lock xaddq %0, %1" : "+r"(one), "+m"(*word) : : "cc"))
OPERATION(op_xchg, __asm__ volatile("xchgq %0, %1" : "+r"(value), "+m"(*word)))

/*
 * Expects what it has last seen or stored, and stores one more. A conditional move and not a branch: where two CPUs
 * compete a third of the attempts fail, a branch would be mispredicted at these, and take 20% more.
 */
OPERATION(op_cmpxchg, uint64_t next = value + 1, failed = 0;
	  __asm__ volatile("lock cmpxchgq %4, %1\n\t"
			   "setne %b2\n\t"
			   "cmoveq %4, %0\n\t"
			   "addq %2, %3"
			   : "+a"(value), "+m"(*word), "+&q"(failed), "+&r"(failures) : "r"(next) : "cc"))

OPERATION(op_cas_loop, uint64_t next;
	  __asm__ volatile("1:\tleaq 1(%0), %3\n\t"
			   "lock cmpxchgq %3, %1\n\t"
			   "je 2f\n\t"
			   "incq %2\n\t"
			   "jmp 1b\n"
			   "2:\tmovq %3, %0"
			   : "+a"(value), "+m"(*word), "+&r"(failures), "=&r"(next) : : "cc"))

OPERATION(op_load, uint64_t seen; __asm__ volatile("movq %1, %0" : "=r"(seen) : "m"(*word)))
OPERATION(op_store, __asm__ volatile("movq $1, %0" : "=m"(*word)))
OPERATION(op_mfence, __asm__ volatile("mfence" : : : "memory"))
OPERATION(op_mov_mfence, __asm__ volatile("movq $1, %0\n\tmfence" : "=m"(*word) : : "memory"))
OPERATION(op_lfence, __asm__ volatile("lfence" : : : "memory"))
OPERATION(op_sfence, __asm__ volatile("sfence" : : : "memory"))

/* The kernel's side of getppid is a few loads: what remains is the way in and out. */
OPERATION(op_syscall, long number = SYS_getppid;
	  __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "cc", "memory"))

bool gorun_has_lse(void)
{
	return false;
}

static const struct gorun_op ops[] = {
	ROW("idle", "", "dec", 0, op_idle),
	ROW("memset64", "", "call memset", 64, op_memset64),
	ROW("memset128", "", "call memset", 128, op_memset128),
	ROW("memset256", "", "call memset", 256, op_memset256),
	ROW("test_bit", "", "bt", 8, op_test_bit),
	ROW("set_bit", "", "lock bts", 8, op_set_bit),
	ROW("inc", "", "lock inc", 8, op_inc),
	ROW("xadd", "", "lock xadd", 8, op_xadd),
	ROW("cmpxchg", "", "lock cmpxchg", 8, op_cmpxchg),
	ROW("xchg", "", "xchg", 8, op_xchg),
	ROW("mfence", "", "mfence", 0, op_mfence),
	ROW("mov+mfence", "", "mov; mfence", 8, op_mov_mfence),
	ROW("lfence", "", "lfence", 0, op_lfence),
	ROW("sfence", "", "sfence", 0, op_sfence),
	ROW("syscall", "", "syscall", 0, op_syscall),
	ROW("load", "", "mov", 8, op_load),
	ROW("store", "", "mov", 8, op_store),
	ROW("cas-loop", "", "lock cmpxchg", 8, op_cas_loop),
};
