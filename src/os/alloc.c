/* SPDX-License-Identifier: MIT */
#include "os/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "os/numa.h"

/* In front of the memory that we give, so that freeing it needs no size. */
struct block {
	_Alignas(CACHE_PAIR) size_t mapped_bytes; /* 0: of the heap */
};

_Static_assert(sizeof(struct block) == OS_ALLOC_HEADER, "header size");

static struct block *map(size_t bytes)
{
	struct block *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		return NULL;
	block->mapped_bytes = bytes;
	return block;
}

static struct block *take(size_t bytes)
{
	struct block *block = aligned_alloc(CACHE_PAIR, bytes);

	if (block)
		memset(block, 0, bytes);
	return block;
}

/* With the header, in whole lines; 0 when there is no such size. */
static size_t whole(size_t size)
{
	if (size > PTRDIFF_MAX - OS_ALLOC_HEADER - CACHE_PAIR)
		return 0;
	return (size + OS_ALLOC_HEADER + CACHE_PAIR - 1) &
	       ~(size_t)(CACHE_PAIR - 1);
}

void *os_alloc(size_t size)
{
	size_t bytes = whole(size);
	struct block *block;

	if (!bytes)
		return NULL;
	block = bytes < OS_ALLOC_MAPPED ? take(bytes) : map(bytes);
	return block ? block + 1 : NULL;
}

void *os_alloc_on_node(size_t size, int node_id)
{
	size_t bytes = whole(size);
	struct block *block;

	if (!bytes || node_id < 0)
		return os_alloc(size);
	block = map(bytes);
	if (!block)
		return NULL;
	/* Refused, the memory is good all the same, only farther away. */
	os_numa_prefer(block, bytes, node_id);
	return block + 1;
}

void os_free(void *memory)
{
	if (!memory)
		return;

	struct block *block = (struct block *)memory - 1;

	if (block->mapped_bytes)
		munmap(block, block->mapped_bytes);
	else
		free(block);
}
