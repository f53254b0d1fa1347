/* SPDX-License-Identifier: MIT */
/* How a task fails from wherever it is, and what it cleans up on the way. */
#ifndef WSRT_FAIL_H
#define WSRT_FAIL_H

#include <wsrt/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A step of cleaning up, on the caller's stack; its members are the runtime's
 * own.
 */
struct wsrt_cleanup {
	void (*run)(void *arg);
	void *arg;
	struct wsrt_cleanup *older;
};

/**
 * wsrt_cleanup_push() - what to do if the task fails before the pop
 * @cleanup: stays valid until wsrt_cleanup_pop(), in reverse order of pushes
 * @run: called by wsrt_fail(), newest first; must not fail itself
 *
 * Outside of tasks it does nothing. What follows a pthread_exit() is not its
 * business: that runs what pthread_cleanup_push() has noted.
 *
 * Thread-safety: inside a task, for that task.
 * Since: 0.1
 */
WSRT_API void wsrt_cleanup_push(struct wsrt_cleanup *cleanup,
				void (*run)(void *arg), void *arg);

/**
 * wsrt_cleanup_pop() - forget the newest step
 * @execute: not 0 to do it now
 * Since: 0.1
 */
WSRT_API void wsrt_cleanup_pop(struct wsrt_cleanup *cleanup, int execute);

/**
 * wsrt_fail() - end the running task here, as failed
 * @code: what its future, group or loop is to report: a negative errno; 0 and
 *	positive ones become -EINVAL
 * @why: a string that stays valid, or NULL
 *
 * Runs the task's cleanups; forks not joined are dropped, or waited for if they
 * run elsewhere; then leaves the task as by longjmp(): destructors of C++ do
 * not run, so throw there instead (wsrt.hpp). A fork that fails on another
 * worker fails the task that joins it. The worker goes on.
 *
 * Return: not at all inside a task; -EPERM outside.
 * Since: 0.1
 */
WSRT_API int wsrt_fail(int code, const char *why);

#ifdef __cplusplus
}
#endif

#endif
