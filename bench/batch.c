/* SPDX-License-Identifier: MIT */
/*
 * many_small, few_large, uneven: tasks with some work in them, until a latch
 * opens. They show balance rather than overhead.
 */
#include <errno.h>
#include <stdlib.h>

#include "support.h"
#include "workloads.h"

struct batch {
	struct bench_latch latch;
	struct bench_task *tasks;
	struct bench_totals expected;
};

static int start(struct bench_run *run)
{
	struct batch *batch = calloc(1, sizeof *batch);

	if (!batch)
		return bench_fail(run, -ENOMEM, "no memory for the batch");
	run->state = batch;
	run->result->tasks = run->options->n;
	bench_latch_init(&batch->latch);
	batch->tasks = bench_tasks_create(run);
	if (!batch->tasks)
		return -ENOMEM;
	batch->expected = bench_expected_totals(run);
	return 0;
}

static void run_and_count_down(struct wsrt_task *task, int status)
{
	struct batch *batch = bench_counter->run->state;

	bench_task_run(task, status);
	bench_latch_done(&batch->latch);
}

static int repeat(struct bench_run *run, double *ret_seconds)
{
	struct batch *batch = run->state;
	struct bench_totals before = bench_totals(run);
	double begin = bench_now();
	int error;

	bench_latch_set(&batch->latch, run->options->n);
	error = bench_tasks_submit(run, batch->tasks, 0, run->options->n,
				   run_and_count_down);
	if (error)
		return bench_fail_submit(run, error);
	bench_latch_wait(&batch->latch);
	*ret_seconds = bench_now() - begin;
	return bench_check_totals(run, before, batch->expected);
}

static void stop(struct bench_run *run)
{
	struct batch *batch = run->state;

	if (!batch)
		return;
	bench_latch_fini(&batch->latch);
	free(batch->tasks);
	free(batch);
}

const struct bench_workload bench_many_small = {
	.name = "many_small",
	.summary = "N tasks of W steps, some microseconds each",
	.api = "submit",
	.uses = BENCH_N | BENCH_WORK | BENCH_REPS,
	.n_max = UINT64_C(10000000000),
	.defaults = {.n = 2000, .work = 2000, .producers = 1, .reps = 5},
	.start = start,
	.repeat = repeat,
	.stop = stop,
};

const struct bench_workload bench_few_large = {
	.name = "few_large",
	.summary = "N tasks of W steps, some milliseconds each",
	.api = "submit",
	.uses = BENCH_N | BENCH_WORK | BENCH_REPS,
	.n_max = UINT64_C(10000000000),
	.defaults = {.n = 64, .work = 2000000, .producers = 1, .reps = 5},
	.start = start,
	.repeat = repeat,
	.stop = stop,
};

const struct bench_workload bench_uneven = {
	.name = "uneven",
	.summary = "N tasks of W steps, every tenth 100 times that",
	.api = "submit",
	.uses = BENCH_N | BENCH_WORK | BENCH_REPS,
	.n_max = UINT64_C(10000000000),
	.defaults = {.n = 500, .work = 20000, .producers = 1, .reps = 5},
	.uneven = true,
	.start = start,
	.repeat = repeat,
	.stop = stop,
};
