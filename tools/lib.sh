# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tools share: messages, clean-up that also happens when interrupted, and the number of
# jobs.
#
# A tool sources this file and then stands in the root of the checkout. Long commands go through
# `run`: bash handles a signal only between two commands, so they run in the background while the
# shell waits.

set -uo pipefail

PD_TOOL=${0##*/}
PD_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$PD_ROOT" || exit 1

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "tools/$PD_TOOL" "$*" >&2; exit 1; }

need_root() {
    [ "$(id -u)" = 0 ] ||
        die "must run as root (network namespaces and packages need it): sudo tools/$PD_TOOL $*"
}

# Jobs at a time: one for each processor that this process may use.
job_count() { nproc 2>/dev/null || echo 1; }

# ---- clean-up ------------------------------------------------------------------------------------

PD_CLEANUPS=()
PD_CHILD=''

# at_exit COMMAND: runs when the tool ends, however it ends short of SIGKILL; the last one
# registered runs first.
at_exit() { PD_CLEANUPS+=("$1"); }

# Signal 0 reaches a process group as long as anything in it lives.
group_gone() { ! kill -0 -- "-$1" 2>/dev/null; }

# Ends the process group of a command that `run` started: politely, then after 30 s for good.
stop_child() {
    local group=$1 n
    kill -TERM -- "-$group" 2>/dev/null || return 0
    for ((n = 0; n < 300; n++)); do
        group_gone "$group" && return 0
        sleep 0.1
    done
    kill -KILL -- "-$group" 2>/dev/null
}

clean_up() {
    local code=$? n
    trap '' INT TERM HUP
    trap - EXIT
    [ -n "$PD_CHILD" ] && stop_child "$PD_CHILD"
    for ((n = ${#PD_CLEANUPS[@]} - 1; n >= 0; n--)); do
        eval "${PD_CLEANUPS[n]}"
    done
    exit "$code"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# run COMMAND …: as in the foreground, but interruptible, in a process group of its own, reading
# nothing.
run() {
    local code
    set -m
    "$@" </dev/null 9>&- &
    PD_CHILD=$!
    set +m
    wait "$PD_CHILD"
    code=$?
    PD_CHILD=''
    return "$code"
}

# one_at_a_time: a second tool that builds in this checkout would pull the first one's files from
# under it.
one_at_a_time() {
    mkdir -p build || die "cannot write to $PD_ROOT"
    exec 9>build/.lock
    flock -n 9 || die "another tool is at work in $PD_ROOT/build"
}
