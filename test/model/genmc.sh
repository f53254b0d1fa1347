#!/bin/sh
# SPDX-License-Identifier: MIT
# Explores all executions of one model with GenMC
# (https://github.com/MPI-SWS/genmc).
#
# Usage: genmc.sh PROGRAM.c [SRC [GENMC OPTION]...]
#
# SRC is the library's src/, or a changed copy. Exits 0 when no execution goes
# wrong, 42 when one does, 77 without genmc.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
src=${2:-$here/../../src}
shift
[ $# -eq 0 ] || shift

command -v genmc >/dev/null || { echo "no genmc here" >&2; exit 77; }

# With its cache of instructions, version 0.10.3 gives two allocations of a
# thread the same address, and reports an access to freed memory.
exec genmc --disable-estimation --disable-instruction-caching "$@" -- \
	-DMODEL_CHECKER -D_GNU_SOURCE -std=gnu17 \
	-I "$here/stubs" -I "$here" -I "$src" -I "$here/../../include" \
	"$program"
