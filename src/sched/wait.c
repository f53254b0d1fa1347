/* SPDX-License-Identifier: MIT */
#include "sched/wait.h"

#include "sched/call.h"
#include "sched/fork.h"
#include "sched/pool.h"

int wait_begin(enum wait_kind kind, const void *object)
{
	struct worker *worker = worker_self;

	(void)kind;
	(void)object;
	if (worker)
		fork_publish(worker);
	return 0;
}

void wait_end(void)
{
}

bool wait_run_own(bool (*belongs)(const struct wsrt_task *task, void *arg),
		  void *arg)
{
	struct worker *worker = worker_self;
	uintptr_t word = worker ? deque_pop(&worker->deque) : 0;

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
