/* SPDX-License-Identifier: MIT */
/* Small fast random numbers: xorshift64* (Vigna, 2016). Not for secrets. */
#ifndef WSRT_BASE_RANDOM_H
#define WSRT_BASE_RANDOM_H

#include <stdint.h>

/* @state: anything but 0 */
static inline uint32_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1dull) >> 32);
}

/* Uniform enough in [0, limit), without a division (Lemire, 2019). */
static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)(((uint64_t)random_next(state) * limit) >> 32);
}

#endif
