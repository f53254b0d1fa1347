/* SPDX-License-Identifier: MIT */
/* Sleeping on a 32-bit word of this process. */
#ifndef WSRT_OS_FUTEX_H
#define WSRT_OS_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/*
 * Sleeps while *@word is @expected. Returns -ETIMEDOUT once @deadline
 * (absolute, CLOCK_MONOTONIC; NULL: none) has passed, else 0, which may be for
 * no reason at all: callers loop on the word.
 */
int os_futex_wait(_Atomic uint32_t *word, uint32_t expected,
		  const struct timespec *deadline);

/* Wakes up to @count sleepers. The memory may be gone: nothing is read. */
void os_futex_wake(_Atomic uint32_t *word, int count);

#endif
