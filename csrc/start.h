/* Starts programs that wait, after the fork and before the exec, and then begin at the same time. */
#ifndef GORUN_START_H
#define GORUN_START_H

#include <sys/types.h>

#include "pair.h"

/* Memory that the waiting processes share with this one. */
struct gorun_start {
	struct gorun_shared gate;
	int32_t failed[]; /* of each process: the errno of its exec; 0: none */
};

/* Returns memory for this number of processes, or NULL with errno. munmap(2) with gorun_start_bytes frees it. */
struct gorun_start *gorun_start_new(int processes);
size_t gorun_start_bytes(int processes);

/* Returns the errno of the exec of a process that has ended; 0: it became its program. */
int gorun_start_failed(const struct gorun_start *start, int number);

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
 * gorun_shared_open of the gate. Then it becomes the program, or ends with exit code 127. Returns its PID, or a negative errno.
 */
pid_t gorun_start_fork(struct gorun_start *start, const struct gorun_start_args *args);

#endif
