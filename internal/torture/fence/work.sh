#!/bin/sh
# One process of the work that is done under some keys, with descendants. It leaves a mark, and then looks for marks of another run on an
# overlapping key whose process still works: of two that work at once, one at least sees the other. What it sees stands in the file overlap.
#
#   sh work.sh ROLE SECONDS [wait SECONDS | leave SECONDS]...
#
# ROLE is command for the process that lease starts, child for the others. wait is a child that is waited for, leave a daemon that is
# left behind. WORK_DIR is where the marks are, WORK_RUN the number of the run, WORK_FORM its form, WORK_KEYS its keys. WORK_TREE says that the fence lasts for
# daemons too, WORK_HEED that a signal to end is heeded by an orderly exit, WORK_PARENT that the parent is the command, which alone has the
# fence: this work is only safe as long as it lives.
cd "${WORK_DIR:?}" || exit 1
exec 2>>errors >&2
role=$1 seconds=$2
shift 2

# look PID: reads what the kernel says of a process: its state, flags and the time of its start.
look() {
	{ read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
	# shellcheck disable=SC2086 # the fields after the name
	set -- ${line##*) }
	state=$1 flags=$7 began=${20}
}

# works PID BEGAN: whether that process has not ended, and is not about to end either (the flag PF_EXITING).
works() {
	[ -e "/proc/$1" ] && look "$1" && [ "$began" = "$2" ] && [ "$state" != Z ] && [ "$state" != X ] && [ $((flags & 4)) -eq 0 ]
}

# overlap KEY...: whether one of these keys covers one of this run's, or is covered.
overlap() {
	for theirs in "$@"; do
		for mine in $WORK_KEYS; do
			case $theirs/ in "$mine"/*) return 0 ;; esac
			case $mine/ in "$theirs"/*) return 0 ;; esac
		done
	done
	return 1
}

me=$$
[ "$role" = command ] && [ -n "$WORK_PARENT" ] && me=$PPID
[ "$me" -gt 1 ] || exit 1 # the command was killed before this work began
look "$me" || exit 1
mark=marks/$WORK_RUN.$me.$role
echo "$began $WORK_FORM $WORK_KEYS" >"$mark"

for other in marks/*; do
	name=${other#marks/}
	run=${name%%.*} rest=${name#*.}
	pid=${rest%.*}
	[ "$run" = "$WORK_RUN" ] && continue
	read -r since form keys <"$other" || continue # it is being written, and its process looks after us; or its work is done
	[ "${rest#*.}" = child ] && [ -e "ended/$run" ] && continue # left behind by a command that ended by itself
	# shellcheck disable=SC2086 # several keys
	overlap $keys || continue
	works "$pid" "$since" || continue
	[ "$role" = child ] && [ -e "ended/$WORK_RUN" ] && continue # left behind itself
	echo "run $WORK_RUN ($WORK_FORM: $role, pid $me, on $WORK_KEYS) beside run $run ($form: ${rest#*.}, pid $pid, on $keys)" >>overlap
done

[ "$role" = child ] && exec sleep "$seconds"

echo "$LEASE_KEYS" >"ran/$WORK_RUN"
sleep "$seconds" &
sleep=$!
# Who sent the signal is not known here: from outside, an orderly exit is an end by itself, unless the wrapper was told too.
heed() {
	kill $sleep 2>/dev/null
	[ -n "$WORK_TREE" ] || : >"ended/$WORK_RUN"
	: >"heeded/$WORK_RUN"
	exit 0
}
[ -n "$WORK_HEED" ] && trap heed TERM HUP INT
while [ $# -gt 0 ]; do
	case $1 in
	wait) sh "$WORK" child "$2" & ;;
	leave) (setsid sh "$WORK" child "$2" &) ;;
	esac
	shift 2
done
wait
[ -n "$WORK_TREE" ] || : >"ended/$WORK_RUN"
: >"$mark"
