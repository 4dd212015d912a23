/* The operations of x86-64, in Intel's names. contend.c makes loops and a table from them. */

COUNTDOWN(idle, "decq %0", "jnz")
MEMSET(memset64, 64)
MEMSET(memset128, 128)
MEMSET(memset256, 256)

OPERATION(test_bit, __asm__ volatile("btq $0, %0" : : "m"(*word) : "cc"))
OPERATION(set_bit, __asm__ volatile("lock btsq $0, %0" : "+m"(*word) : : "cc"))
OPERATION(inc, __asm__ volatile("lock incq %0" : "+m"(*word) : : "cc"))
OPERATION(xadd, uint64_t one = 1; __asm__ volatile("lock xaddq %0, %1" : "+r"(one), "+m"(*word) : : "cc"))
OPERATION(xchg, __asm__ volatile("xchgq %0, %1" : "+r"(value), "+m"(*word)))

/*
 * Expects the value that it last saw or stored, and stores that plus one. It uses a conditional move because with two
 * competing CPUs a third of the attempts fail, and a branch mispredicted at these would cost 20% more.
 */
OPERATION(cmpxchg, uint64_t next = value + 1, failed = 0;
	  __asm__ volatile("lock cmpxchgq %4, %1\n\t"
			   "setne %b2\n\t"
			   "cmoveq %4, %0\n\t"
			   "addq %2, %3"
			   : "+a"(value), "+m"(*word), "+&q"(failed), "+&r"(failures) : "r"(next) : "cc"))

/*
 * Expects a value that the word never has: the inverse of its last value. Only the first attempt can succeed, on a word
 * of ones, and stores the same value: the word never changes.
 */
OPERATION(cmpxchg_fail, uint64_t seen = ~value, failed = 0;
	  __asm__ volatile("lock cmpxchgq %0, %1\n\t"
			   "setne %b2\n\t"
			   "addq %2, %3"
			   : "+a"(seen), "+m"(*word), "+&q"(failed), "+&r"(failures) : : "cc"); value = seen)

OPERATION(cas_loop, uint64_t next;
	  __asm__ volatile("1:\tleaq 1(%0), %3\n\t"
			   "lock cmpxchgq %3, %1\n\t"
			   "je 2f\n\t"
			   "incq %2\n\t"
			   "jmp 1b\n"
			   "2:\tmovq %3, %0"
			   : "+a"(value), "+m"(*word), "+&r"(failures), "=&r"(next) : : "cc"))

OPERATION(load, uint64_t seen; __asm__ volatile("movq %1, %0" : "=r"(seen) : "m"(*word)))
OPERATION(store, __asm__ volatile("movq $1, %0" : "=m"(*word)))
OPERATION(mfence, __asm__ volatile("mfence" : : : "memory"))
OPERATION(mov_mfence, __asm__ volatile("movq $1, %0\n\tmfence" : "=m"(*word) : : "memory"))
OPERATION(lfence, __asm__ volatile("lfence" : : : "memory"))
OPERATION(sfence, __asm__ volatile("sfence" : : : "memory"))

/* In the kernel, getppid is a few loads, so this measures the entry and the exit. */
OPERATION(syscall, long number = SYS_getppid;
	  __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "cc", "memory"))

/* No system call has this number, so the kernel returns ENOSYS at once. */
OPERATION(syscall_enosys, long number = 1 << 20;
	  __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "cc", "memory"))
