/* SPDX-License-Identifier: MIT */
/*
 * What the library asks of the system, refused to order: memory, mappings and
 * threads. Link arguments (meson.build) send its calls through here; those of
 * other libraries go past. Keeps account of what it has and has not given back.
 */
#ifndef WSRT_TEST_INTERPOSE_H
#define WSRT_TEST_INTERPOSE_H

#include <stdbool.h>

/*
 * The allocation or mapping after @count others fails, and only that one, or
 * all from there on with @forever; -1 for none. Until fault_end() all that the
 * process allocates is kept account of: no asserts in between, they allocate.
 */
void fault_begin(int count, bool forever);

/* Nothing fails any more. Whether something did. */
bool fault_end(void);

/* Pieces of memory and mappings allocated since the first begin, not freed. */
unsigned fault_live(void);

/* The thread after @count others is refused with @error, @times times. */
void fault_threads(int count, unsigned times, int error);

/* How often that has happened. */
unsigned fault_threads_refused(void);

#endif
