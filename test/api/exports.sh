#!/bin/sh
# SPDX-License-Identifier: MIT
# What the library exports is a promise: it must be what the map names, with
# our prefix, under the soname that programs will look for.
#
# Usage: exports.sh LIBRARY MAP SONAME
set -eu

library=$1
map=$2
soname=$3

for tool in nm readelf; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped: no $tool"
		exit 77
	fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Absolute symbols are the names of the versions.
nm -D --defined-only "$library" |
	awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
	sort >"$scratch/exported"
sed -n '/global:/,/local:/s/^[[:space:]]*\([a-zA-Z0-9_]*\);.*/\1/p' "$map" |
	sort >"$scratch/named"

failed=0
[ -s "$scratch/named" ] || {
	echo "the map names nothing"
	failed=1
}
diff -u "$scratch/named" "$scratch/exported" || {
	echo "the map (-) and the library (+) differ"
	failed=1
}
if grep -v '^wsrt_' "$scratch/exported"; then
	echo "these lack the prefix wsrt_"
	failed=1
fi
readelf -d "$library" | grep -F "soname: [$soname]" || {
	echo "the soname is not $soname"
	failed=1
}
exit "$failed"
