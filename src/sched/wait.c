/* SPDX-License-Identifier: MIT */
#include "sched/wait.h"

#include <errno.h>

#include <wsrt/blocking.h>

#include "sched/call.h"
#include "sched/fork.h"
#include "sched/permits.h"
#include "sched/pool.h"

/* The worker whose permit the calling thread holds: a guest has none, but may
 * be a worker of another pool. */
static struct worker *permit_holder(void)
{
	struct worker *worker = worker_self;

	while (worker && worker->outer)
		worker = worker->outer;
	return worker && worker->working && !worker->blocked ? worker : NULL;
}

static void note(struct worker *worker, enum wait_kind kind, const void *object)
{
	atomic_store_explicit(&worker->counts.waiting_for, object,
			      memory_order_relaxed);
	atomic_store_explicit(&worker->counts.waiting, (uint32_t)kind,
			      memory_order_relaxed);
}

int wait_begin(enum wait_kind kind, const void *object)
{
	struct worker *holder = permit_holder();

	if (worker_self)
		fork_publish(worker_self);
	if (!holder)
		return 0;
	if (holder != worker_self)
		fork_publish(holder);
	if (!permits_give(holder))
		return -EDEADLK;
	holder->blocked = true;
	note(holder, kind, object);
	return 0;
}

void wait_end(void)
{
	struct worker *holder = worker_self;

	while (holder && holder->outer)
		holder = holder->outer;
	if (!holder || !holder->blocked)
		return;
	note(holder, WAIT_NONE, NULL);
	holder->blocked = false;
	permits_take(holder);
}

bool wait_run_own(bool (*belongs)(const struct wsrt_task *task, void *arg),
		  void *arg)
{
	struct worker *worker = worker_self;

	if (!worker)
		return false;
	fork_publish(worker);

	uintptr_t word = fork_pop(worker);

	if (!word)
		return false;
	if (!(word & DEQUE_SINGLE) && belongs((struct wsrt_task *)word, arg)) {
		worker_run_nested(worker, word);
		return true;
	}
	deque_push(&worker->deque, word); /* it came from there: has room */
	fork_publish(worker);
	return false;
}

int wsrt_blocking_begin(void)
{
	if (!permit_holder())
		return -EPERM;
	return wait_begin(WAIT_BLOCKING, NULL);
}

void wsrt_blocking_end(void)
{
	wait_end();
}
