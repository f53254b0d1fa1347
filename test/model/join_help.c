/* SPDX-License-Identifier: MIT */
/*
 * The thief of a fork forks in turn, and the owner, which waits, helps with
 * that; each may end up asleep until the other is done. Frames are freed after
 * their join, as in join.c. All code is the library's own.
 */
#include "pool.h"

struct frame {
	struct wsrt_fork fork;
	struct wsrt_worker *owner;
	unsigned depth, result;
};

static void frame_run(struct wsrt_worker *worker, struct wsrt_fork *fork);

static unsigned compute(struct wsrt_worker *worker, unsigned depth)
{
	struct frame *frame;
	unsigned result;

	if (depth == 0)
		return 1;
	frame = malloc(sizeof *frame);
	frame->owner = worker;
	frame->depth = depth - 1;
	wsrt_fork(worker, &frame->fork, frame_run);
	wsrt_join(worker, &frame->fork, frame_run);
	result = frame->result + 1;
	free(frame);
	return result;
}

static void frame_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct frame *frame = wsrt_container_of(fork, struct frame, fork);

	if (worker != frame->owner)
		model_met();
	frame->result = compute(worker, frame->depth);
}

static void setup(void)
{
	pool_setup(2);
	/* As if both had been asked before: the first fork is published. */
	workers[0].deque.end.limit = NULL;
	workers[1].deque.end.limit = NULL;
}

static void own(struct worker *worker)
{
	assert(compute(&worker->deque.end, 2) == 3);
	assert(deque_pop(&worker->deque) == 0);
}

static void rob(struct worker *worker)
{
	uintptr_t word;

	for (unsigned i = 0; i < MODEL_TRIES; i++) {
		if (deque_steal(&workers[0].deque, &word, 1) <= 0)
			continue;
		fork_run_stolen(worker, word);
		return;
	}
}

/* Thread 0 is not one that may sleep. */
static void play(unsigned thread)
{
	if (thread == 0)
		return;
	worker_self = &workers[thread - 1];
	if (thread == 1)
		own(worker_self);
	else
		rob(worker_self);
}

static void check(void)
{
	pool_fini();
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
