// The container that holds a pod's namespaces: it waits for its end.
#include <signal.h>
#include <unistd.h>

int main(void) {
	signal(SIGTERM, _exit);
	for (;;)
		pause();
}
