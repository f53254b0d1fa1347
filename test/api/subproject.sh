#!/bin/sh
# SPDX-License-Identifier: MIT
# wsrt promises to work as a meson subproject: this builds and runs a project
# that has it as one, and no other way to find it.
#
# Usage: subproject.sh WSRT_SOURCE CONSUMER
set -eu

if ! command -v meson >/dev/null || ! command -v ninja >/dev/null; then
	echo "skipped: no meson or ninja"
	exit 77
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -R "$2" "$scratch/consumer"
mkdir "$scratch/consumer/subprojects"
ln -s "$1" "$scratch/consumer/subprojects/wsrt"

cd "$scratch/consumer"
meson setup build --wrap-mode=forcefallback
meson test -C build --print-errorlogs
