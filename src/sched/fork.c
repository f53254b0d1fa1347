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

#include <wsrt/fail.h>
#include <wsrt/fork.h>
#include <wsrt/task.h>

#include "os/clock.h"
#include "sched/call.h"
#include "sched/pool.h"
#include "sched/wait.h"

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

struct stolen {
	struct call call;
	struct wsrt_fork *fork;
};

static void finish(struct wsrt_fork *fork)
{
	struct worker *owner = worker_of(fork->owner);

	/*
	 * (D) Release: pairs with (J) in state_of(), for the results. Acquire: the
	 * owner has prepared its parker before AWAITED (A). The fork may be
	 * gone after this.
	 */
	if (__atomic_exchange_n(&fork->state, FORK_DONE, __ATOMIC_ACQ_REL) ==
	    FORK_AWAITED)
		parker_notify(&owner->parker);
}

static void fail_stolen(struct call *call, int code, const char *why)
{
	struct stolen *stolen = wsrt_container_of(call, struct stolen, call);

	(void)why;
	stolen->fork->error = code;
	finish(stolen->fork);
}

static void stolen_scope_end(struct stolen *stolen)
{
	call_scope_end(&stolen->call);
}

void fork_run_stolen(struct worker *worker, uintptr_t word)
{
	struct stolen stolen __attribute__((cleanup(stolen_scope_end))) = {
		.call.fail = fail_stolen,
		.fork = fork_of(word),
	};
	struct wsrt_fork *fork = stolen.fork;

	count_add(&worker->counts.forks_stolen, 1);
	fork->base = deque_bottom(&worker->deque);
	__atomic_store_n(&fork->state, FORK_STOLEN, __ATOMIC_RELAXED);
	/* (B) Release: pairs with (H) in help(), for base and state. */
	__atomic_store_n(&fork->thief, &worker->deque.end, __ATOMIC_RELEASE);
	call_enter(&stolen.call);
	fork->run(&worker->deque.end, fork);
	call_leave(&stolen.call);
	finish(fork);
}

/*
 * Fills in what thieves need of the private forks, which are public right
 * after, and puts them in the list of those. What lies below a submitted task
 * is public already.
 */
void fork_prepare(struct worker *worker)
{
	struct wsrt_worker *end = &worker->deque.end;
	struct wsrt_fork *older = worker->forks, **link = &worker->forks;

	for (uintptr_t *slot = end->bottom; slot != end->floor; slot--) {
		uintptr_t word = __atomic_load_n(slot - 1, __ATOMIC_RELAXED);

		if (!(word & DEQUE_SINGLE))
			break;

		struct wsrt_fork *fork = fork_of(word);

		fork->owner = end;
		fork->thief = NULL;
		fork->state = FORK_FORKED;
		fork->error = 0;
		*link = fork;
		link = &fork->older;
	}
	*link = older;
}

/* Lets thieves take all that was forked and prepared. */
static void publish_prepared(struct worker *worker)
{
	deque_publish(&worker->deque);
	pool_notify(worker->pool, worker->node);
}

void fork_publish(struct worker *worker)
{
	fork_prepare(worker);
	publish_prepared(worker);
}

/* Forks that were public are private again: they leave the list. */
static void unlist_private(struct worker *worker)
{
	struct wsrt_worker *end = &worker->deque.end;

	for (uintptr_t *slot = end->bottom; slot != end->floor; slot--)
		if (__atomic_load_n(slot - 1, __ATOMIC_RELAXED) & DEQUE_SINGLE)
			worker->forks = worker->forks->older;
}

uintptr_t fork_pop(struct worker *worker)
{
	uintptr_t word = deque_pop(&worker->deque);

	if (word & DEQUE_SINGLE)
		worker->forks = worker->forks->older;
	unlist_private(worker);
	return word;
}

/*
 * No memory, so no parallelism: the fork runs at once, and is not in the deque.
 * Until it is joined it hides older forks, so nothing may be private: join's
 * fast path takes the newest private fork for the one to be joined.
 */
static void run_inline(struct worker *worker, struct wsrt_fork *fork)
{
	worker->forks = fork->older;
	publish_prepared(worker);
	worker->inline_forks++;
	fork->run(&worker->deque.end, fork);
	__atomic_store_n(&fork->state, FORK_DONE, __ATOMIC_RELAXED);
}

void wsrt_fork_slow(struct wsrt_worker *end, struct wsrt_fork *fork)
{
	struct worker *worker = worker_of(end);

	fork_prepare(worker);
	if (deque_make_room(&worker->deque))
		publish_prepared(worker);
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

/* Puts words back, of a list off the deque, on top of what is there. */
static void put_back(struct worker *worker, uintptr_t above)
{
	fork_prepare(worker);
	while (above) {
		uintptr_t word = above;

		above = *link_of(word);
		*link_of(word) = 0;
		deque_push(&worker->deque, word); /* it was there: has room */
	}
	publish_prepared(worker);
}

/*
 * Takes @fork out of the own deque, if it is there. What lies above it was
 * submitted since: it stays.
 */
static bool take_back(struct worker *worker, const struct wsrt_fork *fork)
{
	uintptr_t above = 0, word;
	bool found = false;

	while (!found && (word = fork_pop(worker))) {
		found = word == word_of(fork);
		if (!found) {
			*link_of(word) = above;
			above = word;
		}
	}
	if (above)
		put_back(worker, above);
	return found;
}

static uint32_t state_of(const struct wsrt_fork *fork)
{
	/* (J) Acquire: pairs with (D) in finish(). */
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
	worker_run_nested(worker, word);
	return true;
}

/* Sleeps until the fork is done, unless it is by now. */
static void sleep_until_done(struct worker *worker, struct wsrt_fork *fork)
{
	uint32_t state = FORK_STOLEN;

	parker_prepare(&worker->parker);
	/*
	 * (A) Release: pairs with (D) in finish(), which wakes the
	 * parker. Fails when it is DONE, or not yet marked STOLEN.
	 */
	if (__atomic_compare_exchange_n(&fork->state, &state, FORK_AWAITED,
					false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		idle_sleep(&worker->parker);
	else
		parker_cancel(&worker->parker);
}

/*
 * Sleeps until the fork is done, while another worker has the permit. At the
 * limit of threads there is none: then whatever comes is done here, for what
 * the thief waits for may be among it.
 */
static void rest(struct worker *worker, struct wsrt_fork *fork)
{
	if (!wait_begin(WAIT_FORK, fork)) {
		sleep_until_done(worker, fork);
		wait_end();
	} else {
		worker_help(worker);
	}
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
			rest(worker, fork);
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
	publish_prepared(worker);
}

/* A fork that ran at once, or else is the newest of the list: public, or
 * stolen. False when it has run. */
static bool settle(struct worker *worker, struct wsrt_fork *fork)
{
	uint32_t state = state_of(fork);

	if (state == FORK_FORKED && take_back(worker, fork))
		return true;
	if (state == FORK_DONE && !fork->thief) {
		worker->inline_forks--;
		return false;
	}
	wait(worker, fork);
	worker->forks = fork->older;
	return false;
}

int wsrt_join_slow(struct wsrt_worker *end, struct wsrt_fork *fork)
{
	struct worker *worker = worker_of(end);

	if (end->bottom != end->floor) {
		grant(worker);
		return true;
	}

	bool found = settle(worker, fork);

	if (worker->inline_forks)
		fork_publish(worker);
	if (!found && fork->error)
		wsrt_fail(fork->error, "a fork failed");
	return found;
}

void fork_abandon(struct worker *worker, struct wsrt_fork *outside,
		  unsigned inline_outside)
{
	struct wsrt_worker *end = &worker->deque.end;

	end->bottom = end->floor;
	while (worker->forks != outside) {
		struct wsrt_fork *fork = worker->forks;

		/* What settling took back with it is dropped as well. */
		settle(worker, fork);
		end->bottom = end->floor;
	}
	worker->inline_forks = inline_outside;
}

void fork_forget(struct worker *worker)
{
	worker->deque.end.bottom = worker->deque.end.floor;
	worker->forks = NULL;
	worker->inline_forks = 0;
}
