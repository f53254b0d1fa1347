/* SPDX-License-Identifier: MIT */
/*
 * A fork that a thief runs, or not, and the join that waits for it: all the
 * library's own code. The frame of the fork is freed after the join, so a thief
 * that touches it once it said that it is done is an error; so is an owner that
 * sleeps on, or goes on before it sees the result.
 */
#include "pool.h"

struct frame {
	struct wsrt_fork fork;
	struct wsrt_worker *owner;
	unsigned argument, result;
};

static void frame_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct frame *frame = wsrt_container_of(fork, struct frame, fork);

	if (worker != frame->owner)
		model_met();
	frame->result = frame->argument + 1;
}

static void setup(void)
{
	pool_setup(2);
	/* As if the thief had asked before: the first fork is published. */
	workers[1].deque.end.limit = NULL;
}

static void own(struct worker *worker)
{
	struct frame *frame = malloc(sizeof *frame);

	frame->owner = &worker->deque.end;
	frame->argument = 1;
	wsrt_fork(&worker->deque.end, &frame->fork, frame_run);
	wsrt_join(&worker->deque.end, &frame->fork, frame_run);
	assert(frame->result == 2);
	free(frame);
	assert(deque_pop(&worker->deque) == 0);
}

static void rob(struct worker *worker)
{
	uintptr_t word;

	for (unsigned i = 0; i < MODEL_TRIES; i++) {
		if (deque_steal(&workers[1].deque, &word, 1) <= 0)
			continue;
		fork_run_stolen(worker, word);
		return;
	}
}

static void play(unsigned thread)
{
	worker_self = &workers[thread];
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
	return model_main(&(struct model){2, setup, play, check});
}
