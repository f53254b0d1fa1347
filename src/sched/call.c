/* SPDX-License-Identifier: MIT */
#include "sched/call.h"

#include <errno.h>

#include <wsrt/fail.h>

#include "sched/fork.h"
#include "sched/permits.h"
#include "sched/pool.h"

void call_enter(struct call *call)
{
	struct worker *worker = worker_self;

	call->worker = worker;
	call->left = false;
	if (!worker)
		return;
	call->outer = worker->call;
	worker->call = call;
}

void call_leave(struct call *call)
{
	call->left = true;
	if (call->worker)
		call->worker->call = call->outer;
}

/* The function did not return: its thread is ending. */
void call_scope_end(struct call *call)
{
	if (call->left)
		return;
	call_leave(call);
	call->fail(call, -EOWNERDEAD, "the task ended its thread");
}

struct call *call_current(void)
{
	return worker_self ? worker_self->call : NULL;
}

void call_count_failed(void)
{
	if (worker_self)
		count_add(&worker_self->counts.failed, 1);
}

void boundary_enter(struct worker *worker, struct boundary *boundary)
{
	boundary->outer = worker->boundary;
	boundary->call = worker->call;
	boundary->cleanups = worker->cleanups;
	boundary->forks = worker->forks;
	boundary->inline_forks = worker->inline_forks;
	worker->boundary = boundary;
}

void boundary_leave(struct worker *worker, struct boundary *boundary)
{
	worker->boundary = boundary->outer;
}

void worker_reset(struct worker *worker)
{
	count_add(&worker->counts.failed, 1);
	worker->call = NULL;
	worker->boundary = NULL;
	worker->cleanups = NULL;
	worker->spare = false;
	fork_forget(worker);
	if (worker->blocked)
		permits_take(worker);
	worker->blocked = false;
}

void wsrt_cleanup_push(struct wsrt_cleanup *cleanup, void (*run)(void *arg),
		       void *arg)
{
	cleanup->run = run;
	cleanup->arg = arg;
	if (!worker_self)
		return;
	cleanup->older = worker_self->cleanups;
	worker_self->cleanups = cleanup;
}

void wsrt_cleanup_pop(struct wsrt_cleanup *cleanup, int execute)
{
	if (worker_self)
		worker_self->cleanups = cleanup->older;
	if (execute)
		cleanup->run(cleanup->arg);
}

static void clean_up(struct worker *worker)
{
	while (worker->cleanups != worker->boundary->cleanups) {
		struct wsrt_cleanup *cleanup = worker->cleanups;

		worker->cleanups = cleanup->older;
		cleanup->run(cleanup->arg);
	}
}

static void fail_calls(struct worker *worker, int code, const char *why)
{
	while (worker->call != worker->boundary->call) {
		struct call *call = worker->call;

		call_leave(call);
		call->fail(call, code, why);
	}
}

int wsrt_fail(int code, const char *why)
{
	struct worker *worker = worker_self;

	if (!worker || !worker->boundary)
		return -EPERM;
	if (code >= 0)
		code = -EINVAL;
	clean_up(worker);
	fork_abandon(worker, worker->boundary->forks,
		     worker->boundary->inline_forks);
	fail_calls(worker, code, why);
	count_add(&worker->counts.failed, 1);
	longjmp(worker->boundary->env, 1);
}
