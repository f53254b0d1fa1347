#!/bin/sh
# SPDX-License-Identifier: MIT
# Explores the protocol of parking with Spin: it must hold, and each mutant
# must fail, or the model proves nothing.
#
# Usage: park.sh PARK.PML
#
# Exits 77 without spin.
set -eu

command -v spin >/dev/null || { echo "no spin here" >&2; exit 77; }

model=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# The number of errors, 0 or 1, and what the search was like.
explore() {
	spin -a "$@" "$model" >spin.log || { cat spin.log >&2; exit 1; }
	"${CC:-cc}" -O2 -w -DSAFETY -o pan pan.c
	./pan -m1000000 -w24 >pan.log
	if ! grep -q 'errors: [01]$' pan.log || grep -q 'too small' pan.log; then
		cat pan.log >&2
		exit 1
	fi
	sed -n 's/.*errors: //p' pan.log
}

status=0
for mutant in '' NO_LOOK LOOK_FIRST NO_CHAIN CHAIN_FIRST NO_TOKEN BIT_LAST \
	NOTIFY_FIRST; do
	errors=$(explore ${mutant:+-D"$mutant"})
	states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
	echo "${mutant:-protocol}: $errors errors in $states states"
	expected=1
	[ -n "$mutant" ] || expected=0
	[ "$errors" -eq "$expected" ] || status=1
done
exit $status
