#!/bin/bash
# Visits a node while it is idle, as Slurm's health check. In slurm.conf:
#
#   HealthCheckProgram=FILE
#   HealthCheckInterval=3600
#   HealthCheckNodeState=IDLE
#
# Slurm runs it on all idle nodes at the same time, without an environment, and ends it after 60 seconds: write your paths below.
# slurmd runs it when it starts, too, before it takes jobs. The visit ends when a job comes, and what it measured counts. An error is
# in slurmd's log. No node is drained: that is for a person who has read what `gorun fleet judge --format slurm` prints.
set -euo pipefail

# Who can write into the directory as this user can write visits of any node: gorun help fleet.
out=${GORUN_VISITS:-/shared/visits} # a directory that all nodes write to, and
gorun=${GORUN:-gorun}               # the program, on all nodes
budget=${GORUN_BUDGET:-45s}

job() { pgrep -f '^slurmstepd: \[' >/dev/null; }

if job; then exit 0; fi
timeout 58 "$gorun" fleet node --out "$out" --node "${SLURMD_NODENAME:-$(hostname -s)}" --budget "$budget" >/dev/null &
visit=$!
while kill -0 $visit 2>/dev/null; do
	if job; then
		kill $visit
		exit 0
	fi
	sleep 0.5
done
wait $visit
