/* SPDX-License-Identifier: MIT */
#include "base/sized.h"

#include <errno.h>
#include <string.h>

/* No release has a struct so large; a size that was never set may be any. */
#define SIZE_LIMIT 4096

static size_t size_of(const void *sized)
{
	size_t size;

	memcpy(&size, sized, sizeof size);
	return size;
}

/* Whether the caller's struct, beyond what we know, says nothing. */
static int check(const void *theirs, size_t size, size_t size_first)
{
	size_t size_theirs = size_of(theirs);
	const unsigned char *byte = theirs;

	if (size_theirs < size_first || size_theirs > SIZE_LIMIT ||
	    size_theirs % sizeof(void *) != 0)
		return -EINVAL;
	for (size_t i = size; i < size_theirs; i++)
		if (byte[i] != 0)
			return -E2BIG;
	return 0;
}

int sized_copy_in(void *to, size_t size, const void *from, size_t size_first)
{
	int error = check(from, size, size_first);

	if (error)
		return error;

	size_t known = size_of(from) < size ? size_of(from) : size;

	memcpy(to, from, known);
	memset((char *)to + known, 0, size - known);
	return 0;
}

int sized_copy_out(void *to, const void *from, size_t size, size_t size_first)
{
	int error = check(to, size, size_first);

	if (error)
		return error;

	size_t known = size_of(to) < size ? size_of(to) : size;

	memcpy((char *)to + sizeof(size_t), (const char *)from + sizeof(size_t),
	       known - sizeof(size_t));
	return 0;
}
