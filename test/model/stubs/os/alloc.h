/* SPDX-License-Identifier: MIT */
/*
 * Memory for the model checker, in place of src/os/alloc.h: it knows malloc()
 * and free(), but not calloc(), and reads of memory never written are errors
 * to it. Zeroes words of the size that slots and pointers have, for it takes
 * one size of access a place.
 */
#ifndef MODEL_OS_ALLOC_H
#define MODEL_OS_ALLOC_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CACHE_LINE 64
#define CACHE_PAIR 128
#define OS_ALLOC_HEADER CACHE_PAIR
#define OS_ALLOC_MAPPED ((size_t)64 << 10)

static inline void *os_alloc(size_t size)
{
	size_t words = (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
	uint64_t *memory = malloc(words * sizeof(uint64_t));

	for (size_t i = 0; i < words; i++)
		memory[i] = 0;
	return memory;
}

static inline void os_free(void *memory)
{
	free(memory);
}

static inline void *model_calloc(size_t count, size_t size)
{
	return os_alloc(count * size);
}

#define calloc model_calloc

#endif
