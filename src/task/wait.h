/* SPDX-License-Identifier: MIT */
/*
 * Waiting for something that many may wait for: a future or a group. On a
 * worker the right to run is handed over meanwhile (sched/wait.h), and a
 * cancelled task does not wait on.
 */
#ifndef WSRT_TASK_WAIT_H
#define WSRT_TASK_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "sched/wait.h"

struct waitable_ops {
	enum wait_kind kind;
	/* Whether the wait is over. If not, announces a sleeper, so that the
	 * end wakes it, and tells what the word is while it may sleep. */
	bool (*over)(void *object, uint32_t *ret_word);
	/* Changes the word, so that sleepers look again. */
	void (*nudge)(void *object);
	/* The word to sleep on; whoever ends the wait wakes all there. */
	_Atomic uint32_t *(*word)(void *object);
};

/*
 * Sleeps until over(). @deadline: absolute, CLOCK_MONOTONIC, or NULL. 0,
 * -ETIMEDOUT, -ECANCELED when the calling task was cancelled, -EDEADLK when no
 * worker would be left (sched/wait.h).
 */
int task_wait(const struct waitable_ops *ops, void *object,
	      const struct timespec *deadline);

#endif
