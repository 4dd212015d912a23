#pragma once

// gorun_refused_exit is the exit code of a process that the kernel refuses what the Go runtime needs.
extern int gorun_refused_exit;
