#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
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
	return sizeof(struct gorun_start) + (size_t)processes * sizeof(struct gorun_started);
}

struct gorun_start *gorun_start_new(int processes)
{
	void *memory = mmap(NULL, gorun_start_bytes(processes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
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

/* What the forked process needs. */
struct beginning {
	struct gorun_start *start;
	const struct gorun_start_args *args;
	pid_t parent;
	sigset_t signals;
};

/* Publishes the PID of a process, and wakes the threads that wait for it. */
static void forked(struct gorun_started *process, pid_t pid)
{
	__atomic_store_n(&process->pid, (uint32_t)pid, __ATOMIC_RELEASE);
	gorun_futex_wake(&process->pid);
}

/* The rest of the forked process. Only functions that are safe in a signal handler are called (fork(2)). */
static int become(void *argument)
{
	const struct beginning *b = argument;
	const struct gorun_start_args *args = b->args;
	struct gorun_started *own = &b->start->processes[args->number];
	int failed;

	forget_handlers();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != b->parent)
		_exit(127);
	failed = take_files(args->files, args->file_count);
	setrlimit(RLIMIT_NOFILE, &open_files);
	pthread_sigmask(SIG_SETMASK, &b->signals, NULL);
	forked(own, getpid());
	if (gorun_shared_wait(&b->start->gate) < 0)
		_exit(127);
	if (failed == 0) {
		execve(args->path, args->argv, args->env);
		failed = errno;
	}
	if (failed == ENOEXEC) {
		execve("/bin/sh", args->shell, args->env);
		failed = errno;
	}
	own->failed = failed;
	_exit(127);
}

void gorun_start_run(struct gorun_start *start, const struct gorun_start_args *args)
{
	enum { STACK = 1 << 14 };
	char stack[STACK] __attribute__((aligned(16)));
	struct beginning b = { .start = start, .args = args, .parent = getpid() };
	struct gorun_started *own = &start->processes[args->number];
	sigset_t all;
	pid_t pid;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &b.signals);
	pid = clone(become, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &b);
	err = errno;
	pthread_sigmask(SIG_SETMASK, &b.signals, NULL);
	if (pid < 0)
		own->failed = err;
	if (own->pid == 0) /* there is none, or it was killed at once */
		forked(own, pid);
}

pid_t gorun_start_forked(struct gorun_start *start, int number)
{
	struct gorun_started *process = &start->processes[number];

	while (__atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) == 0)
		gorun_futex_wait(&process->pid, 0);
	return (pid_t)process->pid < 0 ? -process->failed : (pid_t)process->pid;
}
