/* SPDX-License-Identifier: MIT */
/* Fork/join: what the worker loop needs of it. */
#ifndef WSRT_PARALLEL_FORK_H
#define WSRT_PARALLEL_FORK_H

#include <stdint.h>

struct worker;

/* Runs a fork that was stolen, @word being as in the deque. */
void fork_run_stolen(struct worker *worker, uintptr_t word);

#endif
