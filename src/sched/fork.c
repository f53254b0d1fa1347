/* SPDX-License-Identifier: MIT */
/*
 * Fork/join, the slow half: publishing forks that thieves ask for, and joining
 * forks that were stolen.
 *
 * A fork lies in its owner's deque as a word of its own kind (DEQUE_SINGLE), so
 * that it is stolen alone and run at once. Its state:
 *
 *	FORKED ──thief──► STOLEN ──thief──► DONE
 *	                    │  owner sleeps   ▲
 *	                    └──► AWAITED ──thief, which wakes the owner
 *
 * While the owner waits it runs only what belongs to the fork it waits for:
 * a thief notes, before it begins, where its deque ends (base); all forks at
 * or above base are descendants of the stolen one until that is DONE, as the
 * thief itself, when it waits, helps only with descendants of what it waits
 * for. So a waiter can hold a lock, and its stack grows no deeper than the
 * program's own recursion.
 */
#include "sched/fork.h"

#include <wsrt/fork.h>
#include <wsrt/task.h>

#include "os/clock.h"
#include "sched/pool.h"

enum fork_state {
	FORK_FORKED = 0,
	FORK_STOLEN,
	FORK_AWAITED,
	FORK_DONE,
};

static struct worker *worker_of(struct wsrt_worker *worker)
{
	return (struct worker *)worker;
}

static struct wsrt_fork *fork_of(uintptr_t word)
{
	return (struct wsrt_fork *)(word & ~(uintptr_t)DEQUE_SINGLE);
}

static uintptr_t word_of(const struct wsrt_fork *fork)
{
	return (uintptr_t)fork | DEQUE_SINGLE;
}

struct wsrt_worker *wsrt_worker_with_layout(uint32_t layout)
{
	if (!worker_self || layout != WSRT_FORK_LAYOUT)
		return NULL;
	return &worker_self->deque.end;
}

void fork_run_stolen(struct worker *worker, uintptr_t word)
{
	struct wsrt_fork *fork = fork_of(word);
	struct worker *owner = worker_of(fork->owner);

	count_add(&worker->counts.forks_stolen, 1);
	fork->base = deque_bottom(&worker->deque);
	__atomic_store_n(&fork->state, FORK_STOLEN, __ATOMIC_RELAXED);
	/* (B) Release: pairs with (H) in help(), for base and state. */
	__atomic_store_n(&fork->thief, &worker->deque.end, __ATOMIC_RELEASE);
	fork->run(&worker->deque.end, fork);
	/*
	 * (D) Release: pairs with (J) in state_of(), for the results. Acquire: the
	 * owner has prepared its parker before AWAITED (A). The fork may be
	 * gone after this.
	 */
	if (__atomic_exchange_n(&fork->state, FORK_DONE, __ATOMIC_ACQ_REL) ==
	    FORK_AWAITED)
		parker_notify(&owner->parker);
}

/*
 * Fills in what thieves need of the private forks, which may soon be public.
 * Those below a submitted task have been public, and have it.
 */
void fork_prepare(struct worker *worker)
{
	struct wsrt_worker *end = &worker->deque.end;

	for (uintptr_t *slot = end->bottom; slot != end->floor; slot--) {
		uintptr_t word = __atomic_load_n(slot - 1, __ATOMIC_RELAXED);

		if (!(word & DEQUE_SINGLE))
			break;

		struct wsrt_fork *fork = fork_of(word);

		fork->owner = end;
		fork->thief = NULL;
		fork->state = FORK_FORKED;
	}
}

void fork_publish(struct worker *worker)
{
	fork_prepare(worker);
	deque_publish(&worker->deque);
	pool_notify(worker->pool, worker->node);
}

/*
 * No memory, so no parallelism: the fork runs at once, and is not in the deque.
 * Until it is joined it hides older forks, so nothing may be private: join's
 * fast path takes the newest private fork for the one to be joined.
 */
static void run_inline(struct worker *worker, struct wsrt_fork *fork)
{
	fork_publish(worker);
	worker->inline_forks++;
	fork->run(&worker->deque.end, fork);
	__atomic_store_n(&fork->state, FORK_DONE, __ATOMIC_RELAXED);
}

void wsrt_fork_slow(struct wsrt_worker *end, struct wsrt_fork *fork)
{
	struct worker *worker = worker_of(end);

	fork_prepare(worker);
	if (deque_make_room(&worker->deque))
		fork_publish(worker);
	else
		run_inline(worker, fork);
}

/* The link by which a word waits in a list, off the deque. */
static uintptr_t *link_of(uintptr_t word)
{
	if (word & DEQUE_SINGLE)
		return (uintptr_t *)&(
			       (struct wsrt_fork *)(word &
						    ~(uintptr_t)DEQUE_SINGLE))
			->thief;
	return (uintptr_t *)&((struct wsrt_task *)word)->next;
}

/*
 * Takes @fork out of the own deque, if it is there. What lies above it was
 * submitted since, or is a fork to be joined later: it stays.
 */
static bool take_back(struct worker *worker, const struct wsrt_fork *fork)
{
	struct deque *deque = &worker->deque;
	uintptr_t above = 0, word;
	bool found = false;

	while (!found && (word = deque_pop(deque))) {
		found = word == word_of(fork);
		if (!found) {
			*link_of(word) = above;
			above = word;
		}
	}
	if (!above)
		return found;
	while ((word = above)) {
		above = *link_of(word);
		*link_of(word) = 0;
		deque_push(deque, word); /* it came from there: has room */
	}
	fork_publish(worker);
	return found;
}

static uint32_t state_of(const struct wsrt_fork *fork)
{
	/* (J) Acquire: pairs with (D) in fork_run_stolen(). */
	return __atomic_load_n(&fork->state, __ATOMIC_ACQUIRE);
}

/* Runs one descendant of the stolen @fork, if its thief has one to take. */
static bool help(struct worker *worker, struct wsrt_fork *fork)
{
	/* (H) Acquire: pairs with (B) in fork_run_stolen(). */
	struct wsrt_worker *thief =
		__atomic_load_n(&fork->thief, __ATOMIC_ACQUIRE);
	uintptr_t word;

	if (!thief || deque_steal_single(&worker_of(thief)->deque, fork->base,
					 &fork->state, FORK_STOLEN, &word) <= 0)
		return false;
	fork_run_stolen(worker, word);
	return true;
}

/* Sleeps until the fork is done, unless it is by now. */
static void sleep_until_done(struct worker *worker, struct wsrt_fork *fork)
{
	uint32_t state = FORK_STOLEN;

	parker_prepare(&worker->parker);
	/*
	 * (A) Release: pairs with (D) in fork_run_stolen(), which wakes the
	 * parker. Fails when it is DONE, or not yet marked STOLEN.
	 */
	if (__atomic_compare_exchange_n(&fork->state, &state, FORK_AWAITED,
					false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		idle_sleep(&worker->parker);
	else
		parker_cancel(&worker->parker);
}

/* Helps the thief for as long as it has something, then sleeps. */
static void wait(struct worker *worker, struct wsrt_fork *fork)
{
	unsigned step = 0;
	uint64_t end = 0;

	while (state_of(fork) != FORK_DONE) {
		if (help(worker, fork)) {
			step = 0;
			end = 0;
			continue;
		}

		uint64_t now = os_clock_ns();

		if (!end)
			end = now + worker->pool->config.spin_ns;
		if (now >= end)
			sleep_until_done(worker, fork);
		worker_rest(worker, step++);
	}
}

/*
 * Thieves ask while forks are private. The newest is the one to be joined; the
 * others they get, if there are any, else the wish stays for the next fork.
 */
static void grant(struct worker *worker)
{
	struct wsrt_worker *end = &worker->deque.end;

	end->bottom--;
	if (end->bottom == end->floor)
		return;
	fork_prepare(worker);
	deque_make_room(&worker->deque); /* there is: it forgets the wish */
	fork_publish(worker);
}

/* A fork that is not private: it was published, or ran at once. */
static bool join_published(struct worker *worker, struct wsrt_fork *fork)
{
	uint32_t state = state_of(fork);

	if (state == FORK_FORKED && take_back(worker, fork))
		return true;
	if (state != FORK_DONE)
		wait(worker, fork);
	else if (!fork->thief)
		worker->inline_forks--;
	return false;
}

int wsrt_join_slow(struct wsrt_worker *end, struct wsrt_fork *fork)
{
	struct worker *worker = worker_of(end);

	if (end->bottom != end->floor) {
		grant(worker);
		return true;
	}

	bool found = join_published(worker, fork);

	if (worker->inline_forks)
		fork_publish(worker);
	return found;
}
