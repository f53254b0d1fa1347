/* SPDX-License-Identifier: MIT */
#include "park/idle.h"

#include <errno.h>
#include <stdlib.h>

#include "os/futex.h"

#define BITS 64u

/* How many words the workers of each node need, a node's own. */
static unsigned count_words(const unsigned *nodes, unsigned worker_count,
			    unsigned node_count, unsigned spare_count,
			    unsigned *ret_first)
{
	unsigned spares = (spare_count + node_count - 1) / node_count;
	unsigned words = 0;

	for (unsigned node = 0; node < node_count; node++) {
		unsigned workers = spares;

		for (unsigned i = 0; i < worker_count; i++)
			workers += nodes[i] == node;
		ret_first[node] = words;
		words += (workers + BITS - 1) / BITS;
	}
	/* The last nodes may be without workers: there any word will do. */
	for (unsigned node = 0; node < node_count; node++)
		if (ret_first[node] == words)
			ret_first[node] = 0;
	return words;
}

int idle_init(struct idle_set *set, const unsigned *nodes,
	      unsigned worker_count, unsigned node_count, unsigned spare_count)
{
	atomic_init(&set->counts, 0);
	set->worker_count = worker_count;
	set->words = NULL;
	set->parkers = NULL;
	set->node_words = calloc(node_count, sizeof *set->node_words);
	if (!set->node_words)
		return -ENOMEM;
	set->word_count = count_words(nodes, worker_count, node_count,
				      spare_count, set->node_words);
	set->words = os_alloc(set->word_count * sizeof *set->words);
	set->parkers = calloc(set->word_count * BITS, sizeof *set->parkers);
	if (set->words && set->parkers)
		return 0;
	idle_fini(set);
	return -ENOMEM;
}

void idle_fini(struct idle_set *set)
{
	free(set->node_words);
	os_free(set->words);
	free(set->parkers);
	/* Whoever builds a pool ends all of it when a part fails. */
	set->node_words = NULL;
	set->words = NULL;
	set->parkers = NULL;
}

void idle_add(struct idle_set *set, struct parker *parker, unsigned node)
{
	unsigned bit = set->node_words[node] * BITS;

	while (set->parkers[bit])
		if (++bit == set->word_count * BITS)
			bit = 0;
	atomic_init(&parker->word, PARKER_RUNNING);
	parker->bit = bit;
	set->parkers[bit] = parker;
}

/*
 * (X) Release: what the waker did is seen after (Y), in idle_sleep(). The word
 * may be PARKED or, when its worker has just announced itself, about to be
 * slept on: the kernel compares it once more.
 */
void parker_notify(struct parker *parker)
{
	if (atomic_exchange_explicit(&parker->word, PARKER_NOTIFIED,
				     memory_order_acq_rel) == PARKER_PARKED)
		os_futex_wake(&parker->word, 1);
}

void parker_prepare(struct parker *parker)
{
	atomic_store_explicit(&parker->word, PARKER_PARKED,
			      memory_order_relaxed);
}

void parker_cancel(struct parker *parker)
{
	atomic_store_explicit(&parker->word, PARKER_RUNNING,
			      memory_order_relaxed);
}

void idle_sleep(struct parker *parker)
{
	/* (Y) Acquire: pairs with (X) in parker_notify(). */
	while (atomic_load_explicit(&parker->word, memory_order_acquire) ==
	       PARKER_PARKED)
		os_futex_wait(&parker->word, PARKER_PARKED, NULL);
	atomic_store_explicit(&parker->word, PARKER_RUNNING,
			      memory_order_relaxed);
}

/* Whoever clears the bit wakes the worker, or is the worker. */
static bool clear_bit(struct idle_set *set, unsigned bit)
{
	uint64_t mask = 1ull << bit % BITS;
	_Atomic uint64_t *word = &set->words[bit / BITS].asleep;

	/* Acq_rel: pairs with (Z) in add_sleeper(): the parker was PARKED
	 * before the bit was set, and must not be NOTIFIED before that. */
	return atomic_fetch_and_explicit(word, ~mask, memory_order_acq_rel) &
	       mask;
}

/* Takes a sleeper out of a word, and changes the counts; NULL: none there. */
static struct parker *take_out(struct idle_set *set, unsigned word,
			       uint64_t change)
{
	uint64_t asleep;

	/* Seq_cst: pairs with (Z), for those who wake without (2): after what
	 * they stored, either they find the bit or its owner saw the store. */
	while ((asleep = atomic_load_explicit(&set->words[word].asleep,
					      memory_order_seq_cst))) {
		unsigned bit = word * BITS + (unsigned)__builtin_ctzll(asleep);

		if (!clear_bit(set, bit))
			continue;
		/* Seq_cst, as (3): pairs with (2) in idle_counts(). */
		atomic_fetch_add_explicit(&set->counts, change,
					  memory_order_seq_cst);
		return set->parkers[bit];
	}
	return NULL;
}

bool idle_wake(struct idle_set *set, unsigned node)
{
	unsigned word = set->node_words[node];

	for (unsigned i = 0; i < set->word_count; i++) {
		struct parker *parker =
			take_out(set, word, IDLE_SEARCHER - IDLE_SLEEPER);

		if (parker) {
			parker_notify(parker);
			return true;
		}
		if (++word == set->word_count)
			word = 0;
	}
	return false;
}

bool idle_search_begin(struct idle_set *set)
{
	uint64_t counts =
		atomic_load_explicit(&set->counts, memory_order_relaxed);

	if (2 * idle_searchers(counts) >= set->worker_count &&
	    set->worker_count > 1)
		return false;
	/* Seq_cst, as (3): pairs with (2) in idle_counts(). */
	atomic_fetch_add_explicit(&set->counts, IDLE_SEARCHER,
				  memory_order_seq_cst);
	return true;
}

bool idle_search_end(struct idle_set *set)
{
	/* Seq_cst, as (3): the look that follows pairs with (1) in park/idle.h. */
	uint64_t counts = atomic_fetch_sub_explicit(&set->counts, IDLE_SEARCHER,
						    memory_order_seq_cst);

	return idle_searchers(counts) == 1 && idle_sleepers(counts);
}

static bool add_sleeper(struct idle_set *set, struct parker *parker,
			uint64_t change)
{
	uint64_t mask = 1ull << parker->bit % BITS;

	/* (Z) Release: pairs with clear_bit(). Seq_cst, for a producer that
	 * counts a sleeper finds its bit. Who clears it at once may take a
	 * sleeper off the counts before (3) adds it; the sums come right. */
	atomic_fetch_or_explicit(&set->words[parker->bit / BITS].asleep, mask,
				 memory_order_seq_cst);
	/* (3) Pairs with (2) in idle_counts(). */
	uint64_t counts = atomic_fetch_add_explicit(&set->counts, change,
						    memory_order_seq_cst) +
			  change;

	return idle_searchers(counts) == 0;
}

bool idle_fall_asleep(struct idle_set *set, struct parker *parker,
		      bool searching)
{
	uint64_t change = IDLE_FALL + IDLE_SLEEPER;

	if (searching)
		change -= IDLE_SEARCHER;
	parker_prepare(parker);
	return add_sleeper(set, parker, change);
}

bool idle_admit(struct idle_set *set, struct parker *parker)
{
	return add_sleeper(set, parker, IDLE_FALL + IDLE_SLEEPER);
}

struct parker *idle_withdraw(struct idle_set *set)
{
	struct parker *parker = NULL;

	for (unsigned i = set->word_count; i > 0 && !parker; i--)
		parker = take_out(set, i - 1, -IDLE_SLEEPER);
	return parker;
}

void idle_get_up(struct idle_set *set, struct parker *parker)
{
	if (!clear_bit(set, parker->bit)) {
		idle_sleep(parker);
		return;
	}
	/* Seq_cst, as (3): pairs with (2) in idle_counts(). */
	atomic_fetch_add_explicit(&set->counts, IDLE_SEARCHER - IDLE_SLEEPER,
				  memory_order_seq_cst);
	parker_cancel(parker);
}
