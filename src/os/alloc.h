/* SPDX-License-Identifier: MIT */
/* Memory on cache lines of its own. */
#ifndef WSRT_OS_ALLOC_H
#define WSRT_OS_ALLOC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64
/* What two cores write lies this far apart: x86 fetches lines in pairs. */
#define CACHE_PAIR 128

/* Aligned to CACHE_PAIR, zeroed; NULL when there is none. End with free(). */
static inline void *os_alloc(size_t size)
{
	size_t rounded = (size + CACHE_PAIR - 1) & ~(size_t)(CACHE_PAIR - 1);
	void *memory = aligned_alloc(CACHE_PAIR, rounded);

	if (memory)
		memset(memory, 0, rounded);
	return memory;
}

#endif
