/* SPDX-License-Identifier: MIT */
/* Around calls that block, so that the pool goes on meanwhile. */
#ifndef WSRT_BLOCKING_H
#define WSRT_BLOCKING_H

#include <wsrt/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * wsrt_blocking_begin() - the calling task is about to block
 *
 * Another thread takes over the worker's right to run tasks, and all that the
 * worker holds, until wsrt_blocking_end(). Waits of the library do the same by
 * themselves.
 *
 * Thread-safety: inside a task, outside of all other such sections.
 * Return: 0, or, and then without wsrt_blocking_end(),
 *	-EPERM   not inside a task, or inside such a section;
 *	-EDEADLK  the pool is at its thread_max, and no other worker is left:
 *		to block now stops it meanwhile.
 * Since: 0.1
 */
WSRT_API int wsrt_blocking_begin(void);

/**
 * wsrt_blocking_end() - the call has returned
 *
 * The task goes on at once; the next worker to end a task rests instead.
 * Since: 0.1
 */
WSRT_API void wsrt_blocking_end(void);

#ifdef __cplusplus
}
#endif

#endif
