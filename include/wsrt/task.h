/* SPDX-License-Identifier: MIT */
/* The intrusive task: embedded in the caller's struct, submitted by address. */
#ifndef WSRT_TASK_H
#define WSRT_TASK_H

#include <wsrt/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wsrt_task;

/**
 * wsrt_task_fn - body of a task
 * @task: the task that was submitted; wsrt_container_of() leads to the
 *	struct around it. The runtime no longer touches it, so the body may
 *	free it or submit it again.
 * @status: 0, or -ECANCELED when the pool is shutting down and cancels
 *	what it had queued: release what the task owns, and return.
 *
 * Called exactly once for each submit that returned success, on a worker. It
 * may leave by wsrt_fail(). If it ends its thread, by pthread_exit(), it has
 * failed as well, and its worker goes on with another thread; what it has forked
 * must be joined before. A child that it forks must _exit() or exec.
 */
typedef void wsrt_task_fn(struct wsrt_task *task, int status);

/**
 * A unit of work. Fill @run; the pool owns the struct from the submit until
 * @run is entered. Its size is part of the ABI.
 */
struct wsrt_task {
	wsrt_task_fn *run;
	struct wsrt_task *next; /**< the pool's own while it holds the task */
};

/** The struct of @type whose @member is at @ptr. */
#define wsrt_container_of(ptr, type, member)                                   \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#ifdef __cplusplus
}
#endif

#endif
