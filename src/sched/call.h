/* SPDX-License-Identifier: MIT */
/*
 * Calls: what runs on a worker, from the outermost to the innermost on its
 * stack. A future, a group's task or a piece of a loop enters one around the
 * user's function, so that all that happens in it knows what it belongs to,
 * and so that its failure finds somebody to report to. Plain tasks have none.
 */
#ifndef WSRT_SCHED_CALL_H
#define WSRT_SCHED_CALL_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

struct worker;
struct wsrt_token;
struct wsrt_cleanup;
struct wsrt_fork;

/* On the stack of the function that runs the user's. O: the worker's own */
struct call {
	/* Set before call_enter(): */
	struct wsrt_token *token; /* whose cancelling concerns it, or NULL */
	const void *group;	  /* the group whose task it is, or NULL */
	/* Ends what the call is for, in place of the user's function, when
	 * that failed or ended its thread. Called after call_leave(). */
	void (*fail)(struct call *call, int code, const char *why);

	struct call *outer;
	struct worker *worker;
	bool left;
};

/*
 * Around the user's function. A struct call is declared with CALL_SCOPED, so
 * that a thread that ends inside still reports the failure.
 */
void call_enter(struct call *call);
void call_leave(struct call *call);

void call_scope_end(struct call *call);
#define CALL_SCOPED __attribute__((cleanup(call_scope_end)))

/* The innermost call of this thread; NULL in a plain task or none. */
struct call *call_current(void);

/*
 * Where the code that fails is left for: the worker's loop, or a wait that runs
 * other tasks meanwhile. After boundary_enter() follows setjmp(env).
 */
struct boundary {
	jmp_buf env;
	struct boundary *outer;
	struct call *call;	       /* innermost outside */
	struct wsrt_cleanup *cleanups; /* newest outside */
	struct wsrt_fork *forks;       /* newest outside */
	unsigned inline_forks;	       /* those outside */
};

void boundary_enter(struct worker *worker, struct boundary *boundary);
void boundary_leave(struct worker *worker, struct boundary *boundary);

/* One more task that failed; it said so by what it returned. */
void call_count_failed(void);

/* What a task has left behind that ended its thread. */
void worker_reset(struct worker *worker);

/*
 * Runs a word of a deque inside the running task: its failure ends here and
 * not with the task around it.
 */
void worker_run_nested(struct worker *worker, uintptr_t word);

#endif
