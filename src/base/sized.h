/* SPDX-License-Identifier: MIT */
/*
 * Size-versioned structs: the caller says in the first member, a size_t, how
 * large its header's struct is; we know how large ours is.
 */
#ifndef WSRT_BASE_SIZED_H
#define WSRT_BASE_SIZED_H

#include <stddef.h>

/*
 * Copies a caller's struct into ours, zero where the caller's is shorter.
 * 0, -EINVAL for a size under @size_first (the first release's), -E2BIG when
 * the caller's is longer and not zero there.
 */
int sized_copy_in(void *to, size_t size, const void *from, size_t size_first);

/*
 * The way back: fills the caller's @to, whose size member stays, from ours.
 * Errors as above; @to is untouched then. A longer @to must be zero there.
 */
int sized_copy_out(void *to, const void *from, size_t size, size_t size_first);

#endif
