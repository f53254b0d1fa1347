/* SPDX-License-Identifier: MIT */
/*
 * Memory on cache lines of its own. Large pieces are mapped, and go back to the
 * system when freed, whatever lies around them: after a burst of tasks the
 * process must shrink again.
 */
#ifndef WSRT_OS_ALLOC_H
#define WSRT_OS_ALLOC_H

#include <stddef.h>

#define CACHE_LINE 64
/* What two cores write lies this far apart: x86 fetches lines in pairs. */
#define CACHE_PAIR 128

/* What each piece has in front, for who wants to fill pages exactly. */
#define OS_ALLOC_HEADER CACHE_PAIR
/* Pieces of this size and more, with the header, are mapped. */
#define OS_ALLOC_MAPPED ((size_t)64 << 10)

/* Aligned to CACHE_PAIR, zeroed; NULL when there is none. */
void *os_alloc(size_t size);

/*
 * The same, in whole pages from a NUMA node if it has any to spare, from
 * anywhere for a negative @node_id.
 */
void *os_alloc_on_node(size_t size, int node_id);

/* Ends either. NULL does nothing. */
void os_free(void *memory);

#endif
