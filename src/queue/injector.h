/* SPDX-License-Identifier: MIT */
/*
 * One shard of the injector: an unbounded (or bounded, by count) FIFO for any
 * number of producers and consumers, in blocks of slots linked to a list.
 *
 *	head_block ─► block ─► … ─► block ◄─ tail_block
 *	               ▲ head           ▲ tail
 *
 * Producers claim indices with one CAS on tail, many at once for a batch, then
 * fill the slots. Consumers look how many slots from head on are filled and
 * claim these with one CAS on head: they never wait for a slot. A block with a
 * claimed slot not yet filled cannot be passed, so it stays; else who walks
 * blocks does so in a read section, and passed blocks are freed through RCU.
 * Indices are of 64 bits and never wrap.
 *
 * All calls may overlap but init and fini. FIFO per producer: a later push
 * claims a later index, and consumers take indices in order. A producer that
 * sleeps between claiming and filling delays what lies behind it.
 */
#ifndef WSRT_QUEUE_INJECTOR_H
#define WSRT_QUEUE_INJECTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/alloc.h"

#ifndef INJECTOR_BLOCK_SLOTS /* models make it tiny */
#define INJECTOR_BLOCK_SLOTS 8172u
#endif

struct injector_block;

/* I: set at init, A: atomic */
struct injector {
	_Alignas(CACHE_PAIR) _Atomic uint64_t tail;  /* index << 1 | closed */
	_Atomic(struct injector_block *) tail_block; /* not behind head_block */

	_Alignas(CACHE_PAIR) _Atomic uint64_t head;
	_Atomic(struct injector_block *) head_block;

	_Alignas(CACHE_PAIR) uint64_t capacity; /* I 0: none */
};

/* 0 or -ENOMEM. @first: index to start at, 0 but in tests. */
int injector_init(struct injector *injector, uint64_t capacity, uint64_t first);
void injector_fini(struct injector *injector);

/*
 * Adds up to @count words, none of them 0: as many as fit in a block and the
 * capacity. How many, or -ESHUTDOWN when closed, -EAGAIN at capacity, -ENOMEM.
 * With @inside the closed mark and the capacity do not matter. It claims before
 * it fills, and claims by a seq_cst read-modify-write (park/idle.h).
 */
int injector_push(struct injector *injector, uintptr_t const *words,
		  unsigned count, bool inside);

/*
 * Takes up to @max words, at most a fair share for one of @takers; 0 when
 * there are none, or the next is not filled yet.
 */
unsigned injector_take(struct injector *injector, uintptr_t *ret_words,
		       unsigned max, unsigned takers);

/*
 * Whether every index claimed has been taken. Seq_cst: exact once closed, and
 * what a worker asks before it sleeps. A claim not yet filled counts: who
 * claimed it has perhaps looked for sleepers already, since a processor may
 * perform that load before its store to the slot.
 */
bool injector_drained(struct injector *injector);

/* No push succeeds from now on, but with @inside. */
void injector_close(struct injector *injector);

/* Words added since the start. */
uint64_t injector_pushed(struct injector *injector);

#endif
