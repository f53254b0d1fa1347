/* SPDX-License-Identifier: MIT */
/* Fork/join: what the worker loop needs of it. */
#ifndef WSRT_SCHED_FORK_H
#define WSRT_SCHED_FORK_H

#include <stdint.h>

struct worker;

/* Before anything private may become public. */
void fork_prepare(struct worker *worker);

/* Lets thieves take all that was forked, and wakes one if need be. */
void fork_publish(struct worker *worker);

/* Runs a fork that was stolen, @word being as in the deque. */
void fork_run_stolen(struct worker *worker, uintptr_t word);

#endif
