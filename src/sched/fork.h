/* SPDX-License-Identifier: MIT */
/* Fork/join: what the worker loop needs of it. */
#ifndef WSRT_SCHED_FORK_H
#define WSRT_SCHED_FORK_H

#include <stdint.h>

struct worker;

struct wsrt_fork;

/* Right before what is private becomes public. */
void fork_prepare(struct worker *worker);

/* Takes the newest word of the own deque, nothing there being private. */
uintptr_t fork_pop(struct worker *worker);

/* Drops all forks that were not joined, or waits for those that run elsewhere,
 * down to @outside, of
 * which @inline_outside ran at once. */
void fork_abandon(struct worker *worker, struct wsrt_fork *outside,
		  unsigned inline_outside);

/* The same when the stack they were on is gone. */
void fork_forget(struct worker *worker);

/* Lets thieves take all that was forked, and wakes one if need be. */
void fork_publish(struct worker *worker);

/* Runs a fork that was stolen, @word being as in the deque. */
void fork_run_stolen(struct worker *worker, uintptr_t word);

#endif
