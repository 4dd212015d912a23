#!/bin/bash
# Visits the nodes of a partition, one task on each, with nothing else on the node. Every night, for example, by scrontab:
#
#   sbatch --array=1-$(sinfo -h -o %D | head -n 1) FILE
#   gorun fleet judge /shared/visits
#
# Slurm decides on which node a task runs: a node that was busy may be left out, and another be visited twice. The next night is
# another chance, and judge counts one visit of a node in a slot. A task that is requeued begins a new file.
#
# The errors of a node are in gorun-fleet-NODE.err, in the directory in which sbatch was run. It is empty if there was none.
#SBATCH --job-name=gorun-fleet
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --time=00:02:00
#SBATCH --output=/dev/null
#SBATCH --error=gorun-fleet-%N.err
#SBATCH --open-mode=append
set -euo pipefail

# Who can write into the directory as this user can write visits of any node: gorun help fleet.
out=${GORUN_VISITS:-/shared/visits} # a directory that all nodes write to, and
gorun=${GORUN:-gorun}               # the program, on all nodes

exec "$gorun" fleet node --out "$out" --node "$SLURMD_NODENAME" --budget "${GORUN_BUDGET:-45s}"
