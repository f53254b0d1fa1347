/* SPDX-License-Identifier: MIT */
/*
 * Waiting inside a worker: the right to run goes to a spare one meanwhile, so
 * that the pool loses nothing and whatever is waited for can run.
 */
#ifndef WSRT_SCHED_WAIT_H
#define WSRT_SCHED_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct worker;
struct wsrt_task;

/* In wsrt_worker_info.waiting. */
enum wait_kind {
	WAIT_NONE = 0,
	WAIT_FUTURE,
	WAIT_GROUP,
	WAIT_FORK,
	WAIT_BLOCKING,
};

/*
 * Before the calling thread sleeps, or blocks. On a worker: publishes what it
 * holds, settles its tally, hands over its right to run. Other threads only
 * get 0. 0, or -EDEADLK: nobody would be left to run tasks; then no wait_end().
 */
int wait_begin(enum wait_kind kind, const void *object);
void wait_end(void);

/*
 * Runs @task now if it lies at the bottom of this worker's own deque, or else
 * some task there for which belongs() says yes, as long as there is one. One
 * task a call; false when there is none, or this is no worker.
 */
bool wait_run_own(bool (*belongs)(const struct wsrt_task *task, void *arg),
		  void *arg);

#endif
