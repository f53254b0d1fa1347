/* SPDX-License-Identifier: MIT */
#include "sched/guest.h"

#include <errno.h>

static bool take(struct worker *guest)
{
	/* (G) Seq_cst: pairs with close_pool(): guests_inside() sees us, or we
	 * see that it closes. Acquire: pairs with (V) in guest_leave(). */
	return !atomic_exchange_explicit(&guest->taken, true,
					 memory_order_seq_cst);
}

static unsigned guest_count(const struct wsrt_pool *pool)
{
	/* Acquire: pairs with the release in add(). */
	return atomic_load_explicit(&pool->guest_count, memory_order_acquire);
}

static struct worker *find_free(struct wsrt_pool *pool)
{
	unsigned count = guest_count(pool);

	for (unsigned i = 0; i < count; i++) {
		struct worker *guest = pool->guests[i];

		if (!atomic_load_explicit(&guest->taken,
					  memory_order_relaxed) &&
		    take(guest))
			return guest;
	}
	return NULL;
}

/* One more, taken; it is placed like worker 0. */
static struct worker *add(struct wsrt_pool *pool)
{
	struct worker *guest = NULL;

	pthread_mutex_lock(&pool->permit_lock);

	unsigned count = guest_count(pool);

	if (count < GUESTS_MAX)
		guest = worker_add(pool, 0);
	if (guest) {
		take(guest);
		pool->guests[count] = guest;
		/* Release: pairs with the acquire in guest_count(). */
		atomic_store_explicit(&pool->guest_count, count + 1,
				      memory_order_release);
	}
	pthread_mutex_unlock(&pool->permit_lock);
	return guest;
}

struct worker *guest_enter(struct wsrt_pool *pool, int *ret_error)
{
	struct worker *guest = find_free(pool);

	if (!guest)
		guest = add(pool);
	if (!guest) {
		*ret_error = -EAGAIN;
		return NULL;
	}
	guest->outer = worker_self;
	worker_self = guest;
	/* Seq_cst: pairs with (C) in close_pool(). */
	if (!atomic_load_explicit(&pool->closing, memory_order_seq_cst))
		return guest;
	guest_leave(guest);
	*ret_error =
		atomic_load_explicit(&pool->owner_dead, memory_order_relaxed)
			? -EOWNERDEAD
			: -ESHUTDOWN;
	return NULL;
}

void guest_leave(struct worker *guest)
{
	struct wsrt_pool *pool = guest->pool;

	worker_self = guest->outer;
	/* (V) Release: pairs with (G). Seq_cst: pairs with (C) in
	 * close_pool(): who waits for quiet sees that we left, or we see that
	 * it waits. */
	atomic_store_explicit(&guest->taken, false, memory_order_seq_cst);
	pool_check_quiet(pool);
}

bool guests_inside(struct wsrt_pool *pool)
{
	unsigned count = guest_count(pool);

	for (unsigned i = 0; i < count; i++)
		/* Seq_cst: pairs with (G) and (V). */
		if (atomic_load_explicit(&pool->guests[i]->taken,
					 memory_order_seq_cst))
			return true;
	return false;
}
