/* Starts programs that wait, after the fork and before the exec, and then begin at the same time. */
#ifndef GORUN_START_H
#define GORUN_START_H

#include <sys/types.h>

#include "pair.h"

/* Memory that the waiting processes share with this one. */
struct gorun_start {
	struct gorun_shared gate;
	struct gorun_started {
		uint32_t pid; /* futex; 0: not forked yet */
		int32_t failed; /* the errno of its fork or exec; 0: none */
	} processes[];
};

/* Returns memory for this number of processes, or NULL with errno. munmap(2) with gorun_start_bytes frees it. */
struct gorun_start *gorun_start_new(int processes);
size_t gorun_start_bytes(int processes);

struct gorun_start_args {
	int number; /* of the process, from 0 */
	const char *path;
	char *const *argv;
	char *const *shell; /* argv of /bin/sh, for a file that the kernel does not know how to run (ENOEXEC) */
	char *const *env;
	const int *files; /* become the descriptors from 0 on */
	int file_count;
};

/*
 * Forks the calling thread. The process has the thread's setting, is killed when the thread ends, and waits for
 * gorun_shared_open of the gate. Then it becomes the program, or ends with exit code 127. The thread sleeps until then, so
 * that the process can use this one's memory, which is not copied (CLONE_VFORK of clone(2)).
 */
void gorun_start_run(struct gorun_start *start, const struct gorun_start_args *args);

/* Waits until gorun_start_run of a process has forked. Returns its PID, or a negative errno. */
pid_t gorun_start_forked(struct gorun_start *start, int number);

#endif
