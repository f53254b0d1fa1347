/* SPDX-License-Identifier: MIT */
/*
 * Chase-Lev deque with a private end, after Lace (van Dijk, van de Pol, 2014),
 * and with a tag beside the top index, so that a thief claims a batch by one
 * CAS. A circular buffer of words, grown by doubling, shrunk when drained;
 * replaced buffers are freed through RCU.
 *
 *	index space:	top ........... split ........... bottom
 *			 └─ public: thieves ─┘└─ private: owner ─┘
 *
 * Which calls may overlap:
 *
 *			owner's		steal	look	ask
 *	owner's		no		yes	yes	yes
 *	steal		yes		yes	yes	yes
 *
 * where "owner's" are push, pop, publish and the rest. init and fini overlap
 * with nothing.
 *
 * Indices count from 0 for ever and wrap at 2^32. All that follows relies on
 *	- top <= split <= bottom, and bottom - top < capacity;
 *	- the private part never spans the end of the buffer, so that bottom
 *	  and floor (the slot of split) can be plain pointers;
 *	- only the owner writes slots, split and the buffer; thieves and the
 *	  owner write top, each success changing it.
 *
 * A thief that sleeps between its load of top and its CAS while the owner
 * reclaims exactly 2^32 times with the index unchanged would be fooled; at
 * 5 ns a reclaim that is a pause of over 20 s that ends on the very one.
 */
#ifndef WSRT_QUEUE_DEQUE_H
#define WSRT_QUEUE_DEQUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <wsrt/fork.h>

#include "os/alloc.h"

#ifndef DEQUE_CAPACITY_MIN
#define DEQUE_CAPACITY_MIN 256u /* models make it tiny */
#endif
#define DEQUE_CAPACITY_MAX (1u << 30)

/*
 * A word with this bit is stolen singly, never as part of a batch. And it may
 * be private for as long as the owner likes, while a word without it must not
 * be hidden again once published: who runs one task for long must not keep
 * others from running the next.
 */
#define DEQUE_SINGLE 1u

#define DEQUE_RETRY (-1)

struct deque_buffer;

/* I: set at init, O: owner's alone, A: atomic */
struct deque {
	/* O bottom and floor; on a pair of lines of its own: A limit, set by
	 * the owner, zeroed by thieves that want the private part */
	struct wsrt_worker end;

	_Alignas(CACHE_PAIR) uint32_t lap; /* O index of slots[0] */
	struct deque_buffer *buffer_own;   /* O */
	bool grown;			   /* O since the last trim */

	_Alignas(CACHE_PAIR) _Atomic uint32_t split;
	_Atomic(struct deque_buffer *) buffer;

	_Alignas(CACHE_PAIR) _Atomic uint64_t top; /* tag << 32 | index */
};

/* 0 or -ENOMEM. */
int deque_init(struct deque *deque);
/* The first index, for tests that start near the wrap. */
int deque_init_at(struct deque *deque, uint32_t index, uint32_t capacity);
void deque_fini(struct deque *deque);

/*
 * The slow half of a push that reached the limit: makes room for the next
 * one, and takes back a thief's wish: publish after it. False without memory:
 * the push is undone.
 */
bool deque_make_room(struct deque *deque);

/*
 * Takes back the newest word of the public part, or several, but of words with
 * DEQUE_SINGLE only; false when it is empty.
 */
bool deque_reclaim(struct deque *deque);

/* Owner: adds a word (not 0), private for now. False without memory. */
static inline bool deque_push(struct deque *deque, uintptr_t word)
{
	uintptr_t *slot = deque->end.bottom;

	__atomic_store_n(slot, word, __ATOMIC_RELAXED);
	deque->end.bottom = slot + 1;
	if (__builtin_expect(slot + 1 < __atomic_load_n(&deque->end.limit,
							__ATOMIC_RELAXED),
			     1))
		return true;
	return deque_make_room(deque);
}

/* Owner: takes the newest word; 0 when there is none. */
static inline uintptr_t deque_pop(struct deque *deque)
{
	if (deque->end.bottom == deque->end.floor && !deque_reclaim(deque))
		return 0;
	return __atomic_load_n(--deque->end.bottom, __ATOMIC_RELAXED);
}

/* Owner: index of the next push. */
uint32_t deque_bottom(const struct deque *deque);

/*
 * Owner: lets thieves take all. Seq_cst, so that who publishes and then finds
 * nobody asleep has been seen by whoever falls asleep (park/idle.h).
 */
void deque_publish(struct deque *deque);

/* Owner: takes the oldest word, all being public; 0 when there is none. */
uintptr_t deque_pop_oldest(struct deque *deque);

/*
 * Owner, of an empty deque, now and then: keeps the bottom away from the end
 * of the buffer, where pushes and pops take slow paths.
 */
void deque_realign(struct deque *deque);

/*
 * Owner, of an empty deque: gives back memory, half of it, unless the deque
 * grew since the last call; down to the minimum with @all.
 */
void deque_trim(struct deque *deque, bool all);

/*
 * Thief: takes up to half of the public part, at most @max words, oldest
 * first, into @ret_words. How many, or 0 when it was empty, or DEQUE_RETRY
 * when another thief or the owner came between. Asks for more when it leaves
 * or finds the public part empty.
 */
int deque_steal(struct deque *deque, uintptr_t *ret_words, unsigned max);

/*
 * Thief: takes the oldest word if it has DEQUE_SINGLE, its index is not before
 * @base, and *@state was still @expected once all that was known.
 */
int deque_steal_single(struct deque *deque, uint32_t base,
		       const uint32_t *state, uint32_t expected,
		       uintptr_t *ret_word);

/* Any thread: whether thieves could take something. Seq_cst. Asks if not. */
bool deque_look(struct deque *deque);

#endif
