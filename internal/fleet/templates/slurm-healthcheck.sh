#!/bin/bash
# Visits a node while it is idle, as Slurm's health check. In slurm.conf:
#
#   HealthCheckProgram=FILE
#   HealthCheckInterval=3600
#   HealthCheckNodeState=IDLE
#
# IDLE, since it must not run beside jobs. Slurm ends the program after 60 seconds. It never drains a node: that is for a person
# who has read what `gorun fleet judge --format slurm` prints.
set -euo pipefail

out=${GORUN_VISITS:-/shared/visits} # a directory that all nodes write to, and
gorun=${GORUN:-gorun}               # the program, on all nodes

timeout 58 "$gorun" fleet node --out "$out" --node "${SLURMD_NODENAME:-$(hostname -s)}" --budget "${GORUN_BUDGET:-45s}" >/dev/null || true
