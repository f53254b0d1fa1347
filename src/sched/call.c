/* SPDX-License-Identifier: MIT */
#include "sched/call.h"

#include <errno.h>

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
