#!/bin/sh
# SPDX-License-Identifier: MIT
# What is installed must be enough to build on, with what pkg-config says and
# nothing else: installs into a scratch folder, and there builds and runs a
# program, once with the shared library and once with the static one.
#
# Usage: installed.sh BUILD_DIR PREFIX SOURCE COMPILER...
set -eu

build=$1
prefix=$2
source=$3
shift 3

for tool in meson pkg-config; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped: no $tool"
		exit 77
	fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
meson install -C "$build" --destdir "$scratch" --no-rebuild --quiet

pc=$(find "$scratch" -name wsrt.pc)
library=$(dirname "$(find "$scratch" -name libwsrt.so)")
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
flags() {
	pkg-config "--define-variable=prefix=$scratch$prefix" "$@" wsrt
}

# shellcheck disable=SC2046 # lists of words
"$@" -std=c11 -Wall -Werror "$source" -o "$scratch/shared" \
	$(flags --cflags --libs)
LD_LIBRARY_PATH=$library "$scratch/shared"

# shellcheck disable=SC2046 # lists of words
"$@" -std=c11 -Wall -Werror "$source" -o "$scratch/static" \
	$(flags --static --cflags --libs |
		sed 's/-lwsrt\>/-l:libwsrt.a/')
"$scratch/static"
