#!/bin/sh
# SPDX-License-Identifier: MIT
# A public header must need no other before it, in any language that may
# include it: this compiles each alone, and twice, with all warnings on.
#
# Usage: headers.sh INCLUDE_DIR STANDARD COMPILER...
set -eu

include=$1
standard=$2
shift 2
case $standard in
c++*) language=c++ ;;
*) language=c ;;
esac

if ! command -v "$1" >/dev/null; then
	echo "skipped: no compiler for $language"
	exit 77
fi

failed=0
for header in "$include"/wsrt/*.h; do
	name=wsrt/${header##*/}
	printf '#include <%s>\n#include <%s>\nextern int unit;\n' \
		"$name" "$name" |
		"$@" -x "$language" "-std=$standard" -Wall -Wextra -Werror \
			-pedantic "-I$include" -fsyntax-only - || {
		echo "$name does not compile alone in $standard"
		failed=1
	}
done
exit "$failed"
