/* SPDX-License-Identifier: MIT */
/*
 * The inline paths, one in a function of its own, for fast_path to read as
 * instructions; and one that has what it must find.
 */
#include <stdatomic.h>

#include <wsrt/fork.h>

#include "queue/deque.h"

bool fast_push(struct deque *deque, uintptr_t word);
uintptr_t fast_pop(struct deque *deque);
void fast_fork(struct wsrt_worker *worker, struct wsrt_fork *fork,
	       wsrt_fork_fn *run);
void fast_join(struct wsrt_worker *worker, struct wsrt_fork *fork,
	       wsrt_fork_fn *run);
void slow_add(_Atomic int *number);
void slow_store(_Atomic int *number);

bool fast_push(struct deque *deque, uintptr_t word)
{
	return deque_push(deque, word);
}

uintptr_t fast_pop(struct deque *deque)
{
	return deque_pop(deque);
}

void fast_fork(struct wsrt_worker *worker, struct wsrt_fork *fork,
	       wsrt_fork_fn *run)
{
	wsrt_fork(worker, fork, run);
}

void fast_join(struct wsrt_worker *worker, struct wsrt_fork *fork,
	       wsrt_fork_fn *run)
{
	wsrt_join(worker, fork, run);
}

void slow_add(_Atomic int *number)
{
	atomic_fetch_add_explicit(number, 1, memory_order_relaxed);
}

void slow_store(_Atomic int *number)
{
	atomic_store_explicit(number, 1, memory_order_seq_cst);
}
