#!/bin/sh
# Visits hosts by ssh, all at the same time, and collects the visits in ./visits:
#
#   sh FILE HOST...
#   gorun fleet judge visits
#
# A HOST is one of ssh's configuration, or USER@NAME. gorun is copied into a new directory there, which is removed after the visit.
# Nothing else is needed there but a shell. If a host was not visited, the exit code is 1.
#
# A host sends one visit, which becomes one regular file in the folder of that host, of at most 1 MiB and under a new name, whatever the
# host sends: it can speak for no other.
set -eu
LC_ALL=C # of the ranges below

gorun=${GORUN:-$(command -v gorun)}                         # a static program, such as a release's
ssh=${GORUN_SSH:-ssh -o BatchMode=yes -o ConnectTimeout=10} # with its options
out=${GORUN_VISITS:-visits}
budget=${GORUN_BUDGET:-45s}
longest=${GORUN_LONGEST:-10m} # a host may take, with the copy of gorun
mkdir -p "$out"

# What a host does, with the program as its input: its output is the name of the visit's file, and the file. The visit counts as far as
# it came, also where gorun says that a CPU computes wrongly.
# shellcheck disable=SC2016 # it is for the host
there='dir=$(mktemp -d) || exit; trap "rm -rf $dir" EXIT; trap "exit 1" HUP INT TERM; cat >$dir/gorun && chmod 755 $dir/gorun || exit; \
$dir/gorun fleet node --out $dir/visits --node "$1" --budget "$2" >&2; cd $dir/visits/"$1" && for file in */*; do echo "$file"; cat "$file"; done'

# visit HOST NODE
visit() {
	sent=$out/$2.sent
	(
		ulimit -f 2048 # blocks of 512 bytes: the host ends with an error if it sends more
		# shellcheck disable=SC2086 # the options of ssh
		exec timeout "$longest" $ssh "$1" "exec sh -c '$there' sh $2 $budget" <"$gorun" >"$sent" 2>"$out/$2.log"
	) || return
	IFS= read -r file <"$sent" || file=''
	boot=${file%%/*}
	name=${file#*/}
	case $boot/$name in
	*/*/* | [!0-9A-Za-z]* | *[!0-9A-Za-z./-]* | */[!0-9]*) false ;;
	*/*.jsonl | */*.jsonl.part) mkdir -p "$out/$2/$boot" && (set -C && tail -n +2 "$sent" >"$out/$2/$boot/$name") ;;
	*) false ;;
	esac || {
		echo "what it sent is no new visit" >>"$out/$2.log"
		return 1
	}
}

failed=0
visits=''
nodes=' '
for host in "$@"; do
	node=${host#*@}
	case $host in -* | @* | *[!A-Za-z0-9@._:%-]*) node='' ;; esac
	case $node in
	'' | [.-]* | *@* | [Aa][Ll][Ll])
		echo "$host: it is no name of a host" >&2
		failed=1
		continue
		;;
	esac
	case $nodes in
	*" $node "*)
		echo "$host: $node is named more than once, and visited once" >&2
		continue
		;;
	esac
	nodes="$nodes$node "
	(
		code=0
		visit "$host" "$node" || code=1
		rm -f "$out/$node.sent"
		if [ $code = 1 ]; then echo "$host: not visited, see $out/$node.log" >&2; fi
		exit $code
	) &
	visits="$visits $!"
done
for pid in $visits; do
	wait "$pid" || failed=1
done
exit $failed
