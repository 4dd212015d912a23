#!/bin/sh
# Visits hosts by ssh, all at the same time, and collects the visits in ./visits:
#
#   sh FILE HOST...
#   gorun fleet judge visits
#
# A HOST is one of ssh's configuration, or USER@NAME. gorun is copied into a new directory there, which is removed after the visit.
# Nothing else is needed there but a shell and tar. If a host was not visited, the exit code is 1.
set -eu

gorun=${GORUN:-$(command -v gorun)}                         # a static program, such as a release's
ssh=${GORUN_SSH:-ssh -o BatchMode=yes -o ConnectTimeout=10} # with its options
out=${GORUN_VISITS:-visits}
budget=${GORUN_BUDGET:-45s}
mkdir -p "$out"

# What a host does, with the program as its input. The visit counts as far as it came, also where gorun
# says that a CPU computes wrongly.
# shellcheck disable=SC2016 # it is for the host
there='dir=$(mktemp -d) || exit; trap "rm -rf $dir" EXIT; trap "exit 1" HUP INT TERM; cat >$dir/gorun && chmod 755 $dir/gorun || exit; \
$dir/gorun fleet node --out $dir/visits --node "$1" --budget "$2" >&2; cd $dir/visits && tar -cf - */*/*'

visit() {
	# shellcheck disable=SC2086 # the options of ssh
	$ssh "$1" "exec sh -c '$there' sh $2 $budget" <"$gorun" >"$out/$2.tar" 2>"$out/$2.log" && tar -C "$out" -xf "$out/$2.tar"
}

failed=0
visits=''
for host in "$@"; do
	node=${host#*@}
	case $host@$node in
	-* | *[!A-Za-z0-9@._:%-]* | *@ | *@.*)
		echo "$host: it is no name of a host" >&2
		failed=1
		continue
		;;
	esac
	(
		code=0
		visit "$host" "$node" || code=1
		rm -f "$out/$node.tar"
		if [ $code = 1 ]; then echo "$host: not visited, see $out/$node.log" >&2; fi
		exit $code
	) &
	visits="$visits $!"
done
for pid in $visits; do
	wait "$pid" || failed=1
done
exit $failed
