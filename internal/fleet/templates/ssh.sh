#!/bin/sh
# Visits hosts by ssh, all at the same time, and collects the visits in ./visits:
#
#   sh FILE HOST...
#   gorun fleet judge visits
#
# gorun is copied to a new directory of each host, and removed with it. Nothing else is needed there but a shell and tar.
set -eu

gorun=${GORUN:-$(command -v gorun)}             # a static program, such as a release's
ssh=${GORUN_SSH:-ssh -o BatchMode=yes}          # with its options
out=${GORUN_VISITS:-visits}
mkdir -p "$out"

# visit HOST. The visit counts as far as it came, also where gorun says that a CPU computes wrongly.
visit() {
	dir=$($ssh "$1" mktemp -d)
	$ssh "$1" "cat >'$dir/gorun' && chmod 755 '$dir/gorun'" <"$gorun"
	$ssh "$1" "'$dir/gorun' fleet node --out '$dir/visits' --node '$1' --budget ${GORUN_BUDGET:-45s} >&2; tar -C '$dir/visits' -cf - ." | tar -C "$out" -xf -
	$ssh "$1" "rm -rf '$dir'"
}

for host in "$@"; do
	visit "$host" >"$out/$host.log" 2>&1 || echo "$host: not visited, see $out/$host.log" >&2 &
done
wait
