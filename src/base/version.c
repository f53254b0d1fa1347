/* SPDX-License-Identifier: MIT */
#include <wsrt/base.h>

#define STRING(x) #x
#define DOTTED(a, b, c) STRING(a) "." STRING(b) "." STRING(c)

const char *wsrt_version(void)
{
	return DOTTED(WSRT_VERSION_MAJOR, WSRT_VERSION_MINOR,
		      WSRT_VERSION_PATCH);
}
