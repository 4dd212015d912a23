#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* The limit on open files before Go's runtime raised it, which programs must not see (go.dev/issue/46279). */
static struct rlimit open_files;

__attribute__((constructor)) static void before_go(void)
{
	getrlimit(RLIMIT_NOFILE, &open_files); /* cannot fail */
}

size_t gorun_start_bytes(int processes)
{
	return sizeof(struct gorun_start) + (size_t)processes * sizeof(int32_t);
}

struct gorun_start *gorun_start_new(int processes)
{
	void *memory = mmap(NULL, gorun_start_bytes(processes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int gorun_start_failed(const struct gorun_start *start, int number)
{
	return start->failed[number];
}

/* Gives caught signals their default actions, as execve(2) would: the handlers are for this process alone. */
static void forget_handlers(void)
{
	struct sigaction action;

	for (int number = 1; number < NSIG; number++) {
		if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
			continue;
		action.sa_handler = SIG_DFL;
		action.sa_flags = 0;
		sigaction(number, &action, NULL);
	}
}

/* Makes the files the descriptors from 0 on. Each first gets a number above those. Returns 0, or an errno. */
static int take_files(const int *files, int count)
{
	int copies[count > 0 ? count : 1];

	for (int i = 0; i < count; i++)
		if ((copies[i] = fcntl(files[i], F_DUPFD_CLOEXEC, count)) < 0)
			return errno;
	for (int i = 0; i < count; i++)
		if (dup2(copies[i], i) < 0)
			return errno;
	return 0;
}

/* The rest of the forked process. Only functions that are safe in a signal handler are called (fork(2)). */
static void become(struct gorun_start *start, const struct gorun_start_args *args, pid_t parent, const sigset_t *signals)
{
	int failed;

	forget_handlers();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	failed = take_files(args->files, args->file_count);
	setrlimit(RLIMIT_NOFILE, &open_files);
	pthread_sigmask(SIG_SETMASK, signals, NULL);
	if (gorun_shared_wait(&start->gate) < 0)
		_exit(127);
	if (failed == 0) {
		execve(args->path, args->argv, args->env);
		failed = errno;
	}
	if (failed == ENOEXEC) {
		execve("/bin/sh", args->shell, args->env);
		failed = errno;
	}
	start->failed[args->number] = failed;
	_exit(127);
}

pid_t gorun_start_fork(struct gorun_start *start, const struct gorun_start_args *args)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	err = errno;
	if (pid == 0)
		become(start, args, parent, &before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? -err : pid;
}
