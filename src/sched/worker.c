/* SPDX-License-Identifier: MIT */
/*
 * The worker loop: take what is at hand, else search far and wide, else sleep.
 *
 *	pick	own deque, own node's injector; now and then the other way up
 *	search	rounds over all queues from near to far, pausing in between
 *	park	park/idle.h
 */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/random.h"
#include "os/clock.h"
#include "os/cpus.h"
#include "os/futex.h"
#include "os/pause.h"
#include "os/thread.h"
#include "sched/call.h"
#include "sched/fork.h"
#include "sched/permits.h"
#include "sched/pool.h"

/*
 * One pick in so many looks from the bottom up: background tasks, what waits
 * in the injector and the old end of the deque cannot starve. A prime, so that
 * it does not fall in step with programs; Go uses the same.
 */
#define FAIR_PICKS 61u
#define TRIM_PICKS (16 * FAIR_PICKS)

_Thread_local struct worker *worker_self;

static struct wsrt_task *task_of(uintptr_t word)
{
	return (struct wsrt_task *)word;
}

static void run_task(struct worker *worker, struct wsrt_task *task)
{
	struct counters *counts = &worker->counts;
	int status = atomic_load_explicit(&worker->pool->task_status,
					  memory_order_relaxed);

	count_add(&counts->executed, 1);
	if (status)
		count_add(&counts->cancelled, 1);
	atomic_store_explicit(&counts->running, task, memory_order_relaxed);
	task->run(task, status);
}

static void run(struct worker *worker, uintptr_t word)
{
	if (word & DEQUE_SINGLE)
		fork_run_stolen(worker, word);
	else
		run_task(worker, task_of(word));
}

void worker_run_nested(struct worker *worker, uintptr_t word)
{
	const struct wsrt_task *outer = atomic_load_explicit(
		&worker->counts.running, memory_order_relaxed);
	struct boundary boundary;

	fork_publish(worker); /* what is private above is the inner task's */
	boundary_enter(worker, &boundary);
	if (setjmp(boundary.env) == 0)
		run(worker, word);
	boundary_leave(worker, &boundary);
	atomic_store_explicit(&worker->counts.running, outer,
			      memory_order_relaxed);
}

/*
 * Keeps what a batch brought beside its first, which is to run now, in an
 * order in which the owner goes on as it began. The deque was empty: there is
 * room. Returns the first.
 */
static uintptr_t keep_rest(struct worker *worker, const uintptr_t *words,
			   unsigned count)
{
	bool fifo = worker->pool->config.order == WSRT_ORDER_FIFO;

	if (count == 1)
		return words[0];
	deque_realign(&worker->deque);
	for (unsigned i = 1; i < count; i++) {
		bool room =
			deque_push(&worker->deque, words[fifo ? i : count - i]);

		assert(room);
		(void)room;
	}
	deque_publish(&worker->deque);
	/* They were nowhere to be seen for a moment, in which whoever looked
	 * fell asleep. */
	pool_notify(worker->pool, worker->node);
	return words[0];
}

static uintptr_t take_injected(struct worker *worker, unsigned node,
			       enum wsrt_priority priority, unsigned max)
{
	struct wsrt_pool *pool = worker->pool;
	uintptr_t words[BATCH_NEAR];
	unsigned count = injector_take(&pool->nodes[node]->shards[priority],
				       words, max, pool->worker_count);

	if (count == 0)
		return 0;
	count_add(&worker->counts.injected, count);
	if (pool->config.capacity)
		submit_room_made(pool);
	return keep_rest(worker, words, count);
}

static inline bool uses(struct worker *worker, enum wsrt_priority priority)
{
	return atomic_load_explicit(&worker->pool->priorities_used,
				    memory_order_relaxed) &
	       1u << priority;
}

/* One task from the injector, the own node's first. */
static uintptr_t take_one(struct worker *worker, enum wsrt_priority priority)
{
	unsigned node_count = worker->pool->node_count, node = worker->node;
	uintptr_t word = 0;

	for (unsigned i = 0; i < node_count && !word; i++) {
		word = take_injected(worker, node, priority, 1);
		if (++node == node_count)
			node = 0;
	}
	return word;
}

static inline uintptr_t take_priority(struct worker *worker,
				      enum wsrt_priority priority)
{
	return uses(worker, priority) ? take_one(worker, priority) : 0;
}

static uintptr_t pop_own(struct worker *worker)
{
	if (worker->pool->config.order == WSRT_ORDER_FIFO)
		return deque_pop_oldest(&worker->deque);
	return deque_pop(&worker->deque);
}

/*
 * Background tasks have every second turn, lest they take all; the injector and
 * the old end share the others, and what background leaves.
 */
static uintptr_t pick_fair(struct worker *worker)
{
	unsigned turn = ++worker->fair_turns;
	bool old_first = turn & 2;
	uintptr_t word = 0;

	worker->picks = turn & 1; /* two turns in FAIR_PICKS, which is odd */
	if (turn & 1)
		word = take_priority(worker, WSRT_PRIORITY_BACKGROUND);
	if (!word && old_first)
		word = deque_pop_oldest(&worker->deque);
	if (!word)
		word = take_one(worker, WSRT_PRIORITY_NORMAL);
	if (!word && !old_first)
		word = deque_pop_oldest(&worker->deque);
	return word;
}

/* The next word to run of what is at hand; 0 when that is nothing. */
static uintptr_t pick(struct worker *worker)
{
	uintptr_t word = 0;

	if (__builtin_expect(++worker->picks > FAIR_PICKS / 2, 0))
		word = pick_fair(worker);
	if (!word)
		word = take_priority(worker, WSRT_PRIORITY_HIGH);
	if (!word)
		word = pop_own(worker);
	if (!word)
		word = take_injected(worker, worker->node, WSRT_PRIORITY_NORMAL,
				     BATCH_NEAR);
	return word;
}

static uintptr_t steal_from(struct worker *worker, unsigned victim,
			    enum wsrt_tier kind, bool *ret_retry)
{
	struct wsrt_pool *pool = worker->pool;
	uintptr_t words[BATCH_FAR];
	int count = deque_steal(&pool->workers[victim]->deque, words,
				kind == WSRT_TIER_FAR ? BATCH_FAR : BATCH_NEAR);

	if (count == DEQUE_RETRY)
		*ret_retry = true;
	if (count <= 0)
		return 0;
	count_add(&worker->counts.steals[kind], 1);
	count_add(&worker->counts.stolen_tasks[kind], (uint64_t)count);
	return keep_rest(worker, words, (unsigned)count);
}

/* The one robbed last, then all from a random start. */
static uintptr_t steal_in_tier(struct worker *worker, unsigned tier_index,
			       bool *ret_retry)
{
	struct victim_tier *tier = &worker->victims.tiers[tier_index];
	unsigned count = tier->end - tier->begin;
	unsigned *last = &worker->last_victims[tier_index];
	unsigned at = *last;

	for (unsigned i = 0; i <= count; i++) {
		unsigned victim = worker->victims.workers[tier->begin + at];
		uintptr_t word =
			steal_from(worker, victim, tier->kind, ret_retry);

		if (word) {
			*last = at;
			return word;
		}
		if (i == 0)
			at = random_below(&worker->random, count);
		else if (++at == count)
			at = 0;
	}
	return 0;
}

/* Injectors of other nodes come between near and far victims. */
static uintptr_t take_far_injected(struct worker *worker)
{
	unsigned node_count = worker->pool->node_count, node = worker->node;
	uintptr_t word = 0;

	for (unsigned i = 1; i < node_count && !word; i++) {
		if (++node == node_count)
			node = 0;
		word = take_injected(worker, node, WSRT_PRIORITY_NORMAL,
				     BATCH_NEAR);
	}
	return word;
}

/* Spare workers and guests, and for these the worker they are placed like. */
static uintptr_t steal_from_others(struct worker *worker, bool *ret_retry)
{
	unsigned count = pool_slots(worker->pool);
	uintptr_t word = 0;

	if (worker->home != worker->index)
		word = steal_from(worker, worker->home, WSRT_TIER_L3,
				  ret_retry);
	for (unsigned i = worker->pool->worker_count; i < count && !word; i++)
		if (i != worker->index)
			word = steal_from(worker, i, WSRT_TIER_NODE, ret_retry);
	return word;
}

static uintptr_t steal_near_to_far(struct worker *worker, bool *ret_retry)
{
	struct victims *victims = &worker->victims;
	bool far = false;
	uintptr_t word = 0;

	for (unsigned i = 0; i < victims->tier_count && !word; i++) {
		if (!far && victims->tiers[i].kind == WSRT_TIER_FAR) {
			far = true;
			word = take_far_injected(worker);
		}
		if (!word)
			word = steal_in_tier(worker, i, ret_retry);
	}
	if (!word && !far)
		word = take_far_injected(worker);
	if (!word)
		word = steal_from_others(worker, ret_retry);
	return word;
}

static uintptr_t search_round(struct worker *worker, bool *ret_retry)
{
	uintptr_t word = take_priority(worker, WSRT_PRIORITY_HIGH);

	*ret_retry = false;
	/* Who had retired may still have some. All that follows needs its
	 * deque empty. */
	if (!word)
		word = pop_own(worker);
	if (!word)
		word = take_injected(worker, worker->node, WSRT_PRIORITY_NORMAL,
				     BATCH_NEAR);
	if (!word)
		word = steal_near_to_far(worker, ret_retry);
	if (!word)
		word = take_priority(worker, WSRT_PRIORITY_BACKGROUND);
	return word;
}

/*
 * First it spins, then it yields its CPU, up to about 16 us: without that a
 * searcher keeps off the very thread it waits for, when that one was put on
 * the same CPU. What is injected on its node ends the rest.
 */
#define SPIN_STEPS 3u
#define YIELD_STEPS 4u

void worker_rest(struct worker *worker, unsigned step)
{
	struct injector *injector = &worker->pool->nodes[worker->node]
					     ->shards[WSRT_PRIORITY_NORMAL];

	if (step < SPIN_STEPS) {
		for (unsigned i = 0; i < 1u << step; i++)
			os_pause();
		return;
	}
	step -= SPIN_STEPS;
	if (step > YIELD_STEPS)
		step = YIELD_STEPS;
	/* At least once: a slot that is claimed may wait for this CPU. */
	for (unsigned i = 1u << step; i > 0; i--) {
		sched_yield();
		if (!injector_drained(injector))
			break;
	}
}

static bool stopping(struct worker *worker)
{
	/* (U) Seq_cst: pairs with (O) in stop_workers(): it finds our bit in
	 * the idle set, or we see that it is time to leave. */
	return atomic_load_explicit(&worker->pool->stopping,
				    memory_order_seq_cst);
}

/* Rounds until the worker's patience is gone; a lost race is no reason to stop. */
static uintptr_t search(struct worker *worker)
{
	uint64_t end = 0;

	for (unsigned step = 0;;) {
		bool retry;
		uintptr_t word = search_round(worker, &retry);

		if (word || (!retry && !worker->patience_ns))
			return word;
		if (retry)
			continue;

		uint64_t now = os_clock_ns();

		if (!end)
			end = now + worker->patience_ns;
		if (now >= end || stopping(worker))
			return 0;
		worker_rest(worker, step++);
	}
}

bool worker_look(struct wsrt_pool *pool)
{
	unsigned count = pool_slots(pool);
	bool found = false;

	if (!pool_drained(pool))
		return true;
	/* No early end: whoever has nothing public is asked for more. */
	for (unsigned i = 0; i < count; i++)
		found |= deque_look(&pool->workers[i]->deque);
	return found;
}

/*
 * Who slept for much longer than it would have searched, the time to wake up
 * apart, learns that work is rare, and goes back to sleep at once when next it
 * runs dry: the thread that waits for its result gets the CPU the sooner.
 */
#define RARE 4u

static void sleep_and_learn(struct worker *worker)
{
	uint32_t spin_ns = worker->pool->config.spin_ns;
	uint64_t begin = os_clock_ns();

	count_add(&worker->counts.parks, 1);
	idle_sleep(&worker->parker);
	count_add(&worker->counts.wakes, 1);
	bool rare = os_clock_ns() - begin > (uint64_t)RARE * spin_ns;

	worker->patience_ns = rare ? 0 : spin_ns;
}

/* Sleeps, unless there is work after all: false. A searcher when it returns. */
static bool park(struct worker *worker, bool searching)
{
	struct wsrt_pool *pool = worker->pool;

	deque_trim(&worker->deque, true);
	bool last = idle_fall_asleep(&pool->idle, &worker->parker, searching);

	if (stopping(worker) || (last && worker_look(pool))) {
		idle_get_up(&pool->idle, &worker->parker);
		return false;
	}
	if (last)
		pool_check_quiet(pool);
	sleep_and_learn(worker);
	return true;
}

/* Finds work or sleeps until there is some; 0 when it is time to leave. */
static uintptr_t find(struct worker *worker, bool searching)
{
	struct wsrt_pool *pool = worker->pool;
	bool slept = true;
	uintptr_t word = 0;

	count_add(&worker->counts.searches, 1);
	atomic_store_explicit(&worker->counts.running, NULL,
			      memory_order_relaxed);
	for (;;) {
		if (searching)
			word = search(worker);
		if (word || (searching && stopping(worker)))
			break;
		/* Work that was seen and not found: its producer needs a CPU. */
		if (!slept)
			worker_rest(worker, SPIN_STEPS);
		slept = park(worker, searching);
		searching = true;
	}
	if (searching && idle_search_end(&pool->idle) && worker_look(pool))
		pool_notify(pool, worker->node);
	return word;
}

/* What need not be done at every pick. */
static void tend(struct worker *worker)
{
	deque_realign(&worker->deque);
	if (random_below(&worker->random, TRIM_PICKS) == 0)
		deque_trim(&worker->deque, false);
}

static uintptr_t next(struct worker *worker)
{
	struct wsrt_pool *pool = worker->pool;

	if (__builtin_expect(permits_surplus(pool), 0) &&
	    permits_retire(worker))
		return find(worker, true);

	uintptr_t word = pick(worker);

	if (word)
		return word;
	tend(worker);
	return find(worker, idle_search_begin(&pool->idle));
}

static void run_all(struct worker *worker)
{
	uintptr_t word;

	while ((word = next(worker)))
		run(worker, word);
}

static void work(struct worker *worker)
{
	struct boundary boundary;

	boundary_enter(worker, &boundary);
	/* Who is spare has its first task found by whoever woke it. */
	if (setjmp(boundary.env) == 0 && worker->spare) {
		idle_sleep(&worker->parker);
		worker->spare = false;

		uintptr_t word = find(worker, true);

		if (!word)
			goto out;
		run(worker, word);
	}
	run_all(worker);
out:
	boundary_leave(worker, &boundary);
}

/* Own tasks, the injector's, anyone's; no forks of the own deque: they may
 * belong to the pieces of a loop whose body waits below. */
static uintptr_t take_any(struct worker *worker)
{
	unsigned count = pool_slots(worker->pool);
	uintptr_t word = 0;

	for (unsigned p = 0; p < PRIORITY_COUNT && !word; p++)
		word = take_one(worker, (enum wsrt_priority)p);
	for (unsigned i = 0; i < count && !word; i++)
		if (deque_steal(&worker->pool->workers[i]->deque, &word, 1) <=
		    0)
			word = 0;
	return word;
}

bool worker_help(struct worker *worker)
{
	uintptr_t word = take_any(worker);

	if (word)
		worker_run_nested(worker, word);
	return word != 0;
}

static void pin(struct worker *worker)
{
	struct wsrt_pool *pool = worker->pool;
	const struct wsrt_topology *topology = pool->topology;
	unsigned own = pool->cpus[worker->home], count = 0;
	int *ids;

	if (pool->config.pin == WSRT_PIN_NONE)
		return;
	ids = calloc(topology->cpu_count, sizeof *ids);
	for (unsigned i = 0; ids && i < topology->cpu_count; i++)
		if (i == own || (pool->config.pin == WSRT_PIN_NODE &&
				 topology->cpus[i].node == worker->node))
			ids[count++] = topology->cpus[i].os_id;
	if (topology->synthetic || !ids || os_thread_pin(ids, count) != 0)
		atomic_fetch_add_explicit(&pool->pin_failures, 1,
					  memory_order_relaxed);
	free(ids);
}

static void worker_live(struct worker *worker);

static void hook(struct worker *worker,
		 void (*call)(void *hook_arg, uint32_t worker_index))
{
	if (call)
		call(worker->pool->config.hook_arg, worker->index);
}

/* Without another thread to be had. */
static void resume(struct worker *worker)
{
	worker->replaces = false;
	worker->started = true;
	worker->thread = pthread_self();
	worker_live(worker);
}

/*
 * The end of a worker's thread: the pool's, or that of a task which ended its
 * thread. Then the worker gets another one; if there is none to be had, this
 * one goes on where it stands.
 */
static void end_thread(struct worker **argument)
{
	struct worker *worker = *argument;
	struct wsrt_pool *pool = worker->pool;
	bool done = !worker->working;

	worker->working = false;
	worker->leaving = true;
	hook(worker, pool->config.worker_stop);
	worker_self = NULL;
	if (done)
		return;
	worker_reset(worker);
	worker->leaving = false;
	worker->ended = pthread_self();
	worker->replaces = true;
	if (worker_start(worker))
		resume(worker);
}

static void worker_live(struct worker *worker)
{
	struct worker *ending __attribute__((cleanup(end_thread), unused)) =
		worker;

	worker_self = worker;
	hook(worker, worker->pool->config.worker_start);
	worker->working = true;
	work(worker);
	worker->working = false;
}

void *worker_main(void *argument)
{
	struct worker *worker = argument;

	os_thread_name(worker->pool->name, worker->index);
	if (worker->replaces)
		pthread_join(worker->ended, NULL);
	pin(worker);
	worker_live(worker);
	return NULL;
}
