/* SPDX-License-Identifier: MIT */
#include "queue/injector.h"

#include <errno.h>
#include <stddef.h>

#include "os/rcu.h"

#define CLOSED 1u
#define ONE 2u /* one index, in tail */

struct injector_block {
	struct rcu_deferred deferred;
	uint64_t base; /* I index of slots[0] */
	_Atomic(struct injector_block *) next;
	_Atomic uintptr_t slots[INJECTOR_BLOCK_SLOTS]; /* 0: not filled */
};

/* Mapped, so that a burst's memory goes back to the system; no page wasted. */
_Static_assert(INJECTOR_BLOCK_SLOTS < 100 ||
		       sizeof(struct injector_block) + OS_ALLOC_HEADER ==
			       OS_ALLOC_MAPPED,
	       "a block is not what is mapped");

static struct injector_block *block_create(uint64_t base)
{
	struct injector_block *block = os_alloc(sizeof *block);

	if (block)
		block->base = base;
	return block;
}

static void block_release(struct rcu_deferred *deferred)
{
	os_free(deferred);
}

int injector_init(struct injector *injector, uint64_t capacity, uint64_t first)
{
	struct injector_block *block = block_create(first);

	if (!block)
		return -ENOMEM;
	atomic_init(&injector->tail, first * ONE);
	atomic_init(&injector->head, first);
	atomic_init(&injector->tail_block, block);
	atomic_init(&injector->head_block, block);
	injector->capacity = capacity;
	return 0;
}

void injector_fini(struct injector *injector)
{
	struct injector_block *block = atomic_load_explicit(
		&injector->head_block, memory_order_relaxed);

	while (block) {
		struct injector_block *next = atomic_load_explicit(
			&block->next, memory_order_relaxed);

		os_free(block);
		block = next;
	}
}

/* The block after @block, made if there is none; NULL without memory. */
static struct injector_block *next_block(struct injector_block *block)
{
	/* (N) Acquire: pairs with (L), to see base and empty slots. */
	struct injector_block *next =
		atomic_load_explicit(&block->next, memory_order_acquire);

	if (next)
		return next;

	struct injector_block *new =
		block_create(block->base + INJECTOR_BLOCK_SLOTS);

	if (!new)
		return NULL;
	/* (L) Release: pairs with (N). Acquire, as (N), when another was first;
	 * C17 wants the success no weaker. */
	if (atomic_compare_exchange_strong_explicit(&block->next, &next, new,
						    memory_order_acq_rel,
						    memory_order_acquire))
		return new;
	os_free(new);
	return next;
}

/*
 * The block of @index, in a read section that began before tail was read. In
 * its second half the next block is made, so that nobody waits for it later.
 */
static struct injector_block *block_for_push(struct injector *injector,
					     struct injector_block *block,
					     uint64_t index)
{
	while (index - block->base >= INJECTOR_BLOCK_SLOTS) {
		struct injector_block *next = next_block(block);
		struct injector_block *seen = block;

		if (!next)
			return NULL;
		/* (F) Release: pairs with (G) in claim_push(). */
		atomic_compare_exchange_strong_explicit(
			&injector->tail_block, &seen, next,
			memory_order_release, memory_order_relaxed);
		block = next;
	}
	/* Without memory it is tried again when needed. */
	if (index - block->base >= INJECTOR_BLOCK_SLOTS / 2 &&
	    !atomic_load_explicit(&block->next, memory_order_relaxed))
		next_block(block);
	return block;
}

static unsigned room(struct injector *injector, uint64_t index, unsigned count)
{
	/* Seq_cst: pairs with (B), as submit_room_made() says. */
	uint64_t head =
		atomic_load_explicit(&injector->head, memory_order_seq_cst);
	/* Head may have passed an old tail: then the CAS on tail will fail. */
	int64_t room = (int64_t)(injector->capacity - (index - head));

	if (room <= 0)
		return 0;
	return room < count ? (unsigned)room : count;
}

/* Claims up to @count indices from *@ret_block's slot *@ret_offset on. */
static int claim_push(struct injector *injector, unsigned count, bool inside,
		      struct injector_block **ret_block, unsigned *ret_offset)
{
	for (;;) {
		/* (G) Acquire: pairs with (F), for base; and since it is read
		 * before tail, its base is not beyond tail's index. */
		struct injector_block *block = atomic_load_explicit(
			&injector->tail_block, memory_order_acquire);
		uint64_t tail = atomic_load_explicit(&injector->tail,
						     memory_order_relaxed);
		unsigned claimed = count;

		if ((tail & CLOSED) && !inside)
			return -ESHUTDOWN;
		if (injector->capacity && !inside)
			claimed = room(injector, tail / ONE, count);
		if (claimed == 0)
			return -EAGAIN;
		block = block_for_push(injector, block, tail / ONE);
		if (!block)
			return -ENOMEM;

		unsigned offset = (unsigned)(tail / ONE - block->base);

		if (claimed > INJECTOR_BLOCK_SLOTS - offset)
			claimed = INJECTOR_BLOCK_SLOTS - offset;
		/* (E) Seq_cst: pairs with (D) in injector_drained(). */
		if (atomic_compare_exchange_weak_explicit(
			    &injector->tail, &tail, tail + claimed * ONE,
			    memory_order_seq_cst, memory_order_relaxed)) {
			*ret_block = block;
			*ret_offset = offset;
			return (int)claimed;
		}
	}
}

int injector_push(struct injector *injector, uintptr_t const *words,
		  unsigned count, bool inside)
{
	struct injector_block *block;
	unsigned offset;

	rcu_read_begin();
	int claimed = claim_push(injector, count, inside, &block, &offset);
	rcu_read_end();
	if (claimed <= 0)
		return claimed;

	/*
	 * (W) Release: pairs with (S) in read_slot(). The first slot comes
	 * last: until then no consumer passes, and the block is ours to use.
	 */
	for (int i = claimed - 1; i >= 0; i--)
		atomic_store_explicit(&block->slots[offset + (unsigned)i],
				      words[i], memory_order_release);
	return claimed;
}

/*
 * Steps over a block that has been taken whole; NULL when it is the last.
 * Whoever moves head_block frees the block, which tail_block has left by then.
 */
static struct injector_block *pass_block(struct injector *injector,
					 struct injector_block *block)
{
	/* Acquire, as (N): pairs with (L) in next_block(). */
	struct injector_block *next =
		atomic_load_explicit(&block->next, memory_order_acquire);
	struct injector_block *seen = block;

	if (!next)
		return NULL;
	/* Release, as (F): pairs with (G) in claim_push(). */
	atomic_compare_exchange_strong_explicit(&injector->tail_block, &seen,
						next, memory_order_release,
						memory_order_relaxed);
	seen = block;
	/* (H) Release: pairs with (J) in injector_take(), for base. */
	if (atomic_compare_exchange_strong_explicit(
		    &injector->head_block, &seen, next, memory_order_release,
		    memory_order_relaxed))
		rcu_defer(&block->deferred, block_release);
	return next;
}

static uintptr_t read_slot(struct injector_block *block, unsigned offset)
{
	/* (S) Acquire: pairs with (W) in injector_push(), so that the consumer
	 * sees what the word points to. */
	return atomic_load_explicit(&block->slots[offset],
				    memory_order_acquire);
}

/*
 * Reads filled slots from @offset on, up to @max, or a fair share of what
 * there is. Tail would tell how much, but its line belongs to the producers:
 * a slot far ahead that is filled says enough.
 */
static unsigned read_share(struct injector_block *block, unsigned offset,
			   uintptr_t *ret_words, unsigned max, unsigned takers)
{
	unsigned left = INJECTOR_BLOCK_SLOTS - offset, count = 0;
	uint64_t plenty = (uint64_t)max * takers;

	if (plenty > left)
		plenty = left;
	if (max > left)
		max = left;
	while (count < max &&
	       (ret_words[count] = read_slot(block, offset + count)))
		count++;
	if (count == 0 || read_slot(block, offset + (unsigned)plenty - 1))
		return count;

	unsigned share = count / takers + 1;

	return share < count ? share : count;
}

unsigned injector_take(struct injector *injector, uintptr_t *ret_words,
		       unsigned max, unsigned takers)
{
	unsigned count = 0;

	rcu_read_begin();
	/* (J) Acquire: pairs with (H). Read before head: base is not beyond. */
	struct injector_block *block = atomic_load_explicit(
		&injector->head_block, memory_order_acquire);
	/*
	 * (A) Acquire: pairs with (B), so that tail is known to be as far, and
	 * with it what pass_block() makes of tail_block.
	 */
	uint64_t head =
		atomic_load_explicit(&injector->head, memory_order_acquire);

	for (;;) {
		while (block && head - block->base >= INJECTOR_BLOCK_SLOTS)
			block = pass_block(injector, block);
		if (!block)
			break;

		count = read_share(block, (unsigned)(head - block->base),
				   ret_words, max, takers);
		if (count == 0)
			break;
		/* (B) Release: pairs with (A). Seq_cst: pairs with (D) in
		 * injector_drained(). */
		if (atomic_compare_exchange_strong_explicit(
			    &injector->head, &head, head + count,
			    memory_order_seq_cst, memory_order_acquire))
			break;
		count = 0;
	}
	rcu_read_end();
	return count;
}

bool injector_drained(struct injector *injector)
{
	/* (D) Seq_cst: pairs with (E) and (B); head first, never ahead. */
	uint64_t head =
		atomic_load_explicit(&injector->head, memory_order_seq_cst);
	uint64_t tail =
		atomic_load_explicit(&injector->tail, memory_order_seq_cst);

	return tail / ONE == head;
}

void injector_close(struct injector *injector)
{
	/* (C) Seq_cst: pairs with (E) in claim_push(): its CAS fails after. */
	atomic_fetch_or_explicit(&injector->tail, CLOSED, memory_order_seq_cst);
}

uint64_t injector_pushed(struct injector *injector)
{
	return atomic_load_explicit(&injector->tail, memory_order_relaxed) /
	       ONE;
}
