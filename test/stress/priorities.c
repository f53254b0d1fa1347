/* SPDX-License-Identifier: MIT */
/*
 * Under more work than there are workers nothing starves, and how long a task
 * waits is counted in the tasks that go before it.
 *
 *	game	B66: two tasks that wake each other; a third comes
 *	load	B69: high tasks without end; background and normal ones, now and
 *		then, and of neither kind is there ever more than a few waiting
 */
#include "stress.h"

#define FAIR 61u

static struct wsrt_pool *pool;
static _Atomic uint64_t turns; /* tasks of the load that have run */
static _Atomic bool playing;

struct player {
	struct wsrt_task task;
	struct player *other;
	enum wsrt_priority priority;
};

static void submit(struct wsrt_task *task, enum wsrt_priority priority)
{
	struct wsrt_submit_options options = {
		.size = sizeof options,
		.priority = priority,
	};
	int error = wsrt_pool_submit(pool, task, &options);

	check_msg(!error, "submit: %s", strerror(-error));
}

static void play(struct wsrt_task *task, int status)
{
	struct player *self = wsrt_container_of(task, struct player, task);

	(void)status;
	atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
	if (atomic_load_explicit(&playing, memory_order_relaxed))
		submit(&self->other->task, self->priority);
}

struct guest {
	struct wsrt_task task;
	uint64_t after; /* turns when it was in */
	_Atomic uint64_t at;
	struct latch latch;
};

static void guest_run(struct wsrt_task *task, int status)
{
	struct guest *guest = wsrt_container_of(task, struct guest, task);

	(void)status;
	atomic_store(&guest->at, atomic_load(&turns));
	latch_down(&guest->latch);
}

/* A guest runs before @limit more turns, and the one or two that were picked
 * before it could be seen. */
static void visit(enum wsrt_priority priority, uint64_t limit)
{
	struct guest guest = {.task.run = guest_run};
	uint64_t after;

	latch_init(&guest.latch, 1);
	submit(&guest.task, priority);
	/* A read-modify-write: what was submitted is visible before it. */
	after = atomic_fetch_add(&turns, 0);
	check_msg(latch_wait(&guest.latch, 10 * TEST_SLOWER),
		  "priority %d starves", (int)priority);
	check_msg(atomic_load(&guest.at) <= after + limit + 2,
		  "priority %d waited for %llu turns", (int)priority,
		  (unsigned long long)(atomic_load(&guest.at) - after));
}

static void start(struct player *players, unsigned count,
		  enum wsrt_priority priority, enum wsrt_order order,
		  unsigned workers)
{
	pool = stress_pool((struct wsrt_pool_config){
		.worker_count = workers,
		.order = order,
	});
	atomic_store(&turns, 0);
	atomic_store(&playing, true);
	for (unsigned i = 0; i < count; i++)
		players[i] = (struct player){
			{.run = play}, &players[i ^ 1], priority};
	/* Of each pair one is about. */
	for (unsigned i = 0; i < count; i += 2)
		submit(&players[i].task, priority);
}

static void end(void)
{
	atomic_store(&playing, false);
	check(wsrt_pool_destroy(pool) == 0);
}

static void game(void)
{
	struct player players[2];

	for (unsigned n = 0; n < stress_rounds(60); n++) {
		start(players, 2, WSRT_PRIORITY_NORMAL,
		      (enum wsrt_order)(n % 2), 1);
		for (unsigned i = 0; i < 50; i++) {
			visit(WSRT_PRIORITY_NORMAL, 2 * FAIR);
			visit(WSRT_PRIORITY_HIGH, 1); /* a fair pick */
			visit(WSRT_PRIORITY_BACKGROUND, FAIR);
			sleep_ns(random_below(&stress_random, MS));
		}
		end();
	}
}

static void load(void)
{
	struct player players[16];

	for (unsigned n = 0; n < stress_rounds(60); n++) {
		unsigned workers = 1 + n % 3;
		/* Of several one can lose its CPU with the guest in hand. */
		uint64_t slack = workers == 1 ? 1 : UINT32_MAX;

		start(players, 16, WSRT_PRIORITY_HIGH, (enum wsrt_order)(n % 2),
		      workers);
		for (unsigned i = 0; i < 50; i++) {
			visit(WSRT_PRIORITY_BACKGROUND, FAIR * slack);
			visit(WSRT_PRIORITY_NORMAL, 2 * FAIR * slack);
			sleep_ns(random_below(&stress_random, MS));
		}
		end();
	}
}

int main(void)
{
	stress_begin();
	stress_next("game");
	game();
	stress_next("load");
	load();
	stress_next("end");
	return 0;
}
