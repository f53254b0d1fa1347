/* SPDX-License-Identifier: MIT */
/*
 * memory: what the runtime adds to each queued task, and what it keeps after
 * they have run. The tasks themselves are the caller's and not counted.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"
#include "workloads.h"

struct memory {
	struct bench_latch closed; /* once every worker waits at the gate */
	sem_t gate;
	struct bench_task *tasks;
	struct bench_totals expected;
	struct wsrt_task blockers[];
};

static int start(struct bench_run *run)
{
	struct memory *memory =
		calloc(1, sizeof *memory +
				  run->worker_count * sizeof(struct wsrt_task));

	if (!memory)
		return bench_fail(run, -ENOMEM, "no memory for the gate");
	run->state = memory;
	run->result->tasks = run->options->n;
	bench_latch_init(&memory->closed);
	sem_init(&memory->gate, 0, 0);
	memory->tasks = bench_tasks_create(run);
	if (!memory->tasks)
		return -ENOMEM;
	memory->expected = bench_expected_totals(run);
	return 0;
}

static void block(struct wsrt_task *task, int status)
{
	struct memory *memory = bench_counter->run->state;

	(void)task;
	(void)status; /* pools drain here */
	bench_latch_done(&memory->closed);
	bench_sem_wait(&memory->gate);
}

static int close_gate(struct bench_run *run)
{
	struct memory *memory = run->state;
	int error = 0;

	bench_latch_set(&memory->closed, run->worker_count);
	for (uint32_t i = 0; i < run->worker_count && !error; i++) {
		memory->blockers[i].run = block;
		error = wsrt_pool_submit(run->pool, &memory->blockers[i], NULL);
	}
	if (error)
		return bench_fail_submit(run, error);
	bench_latch_wait(&memory->closed);
	return 0;
}

static void open_gate(struct bench_run *run)
{
	struct memory *memory = run->state;

	for (uint32_t i = 0; i < run->worker_count; i++)
		sem_post(&memory->gate);
}

/* Gate closed: submits all, and tells how long that took. */
static int fill(struct bench_run *run, double *ret_seconds)
{
	struct memory *memory = run->state;
	double begin = bench_now();
	int error = bench_tasks_submit(run, memory->tasks, 0, run->options->n,
				       bench_task_run);

	*ret_seconds = bench_now() - begin;
	return error ? bench_fail_submit(run, error) : 0;
}

/* Opens the gate, and tells how long the tasks took. */
static int drain(struct bench_run *run, struct bench_totals before,
		 double *ret_seconds)
{
	double begin = bench_now();
	int error;

	open_gate(run);
	error = bench_wait_count(run, before, run->options->n);
	*ret_seconds = bench_now() - begin;
	return error;
}

static double rss_since(uint64_t before)
{
	return (double)bench_rss_bytes() - (double)before;
}

static int repeat(struct bench_run *run, double *ret_seconds)
{
	struct memory *memory = run->state;
	struct bench_totals before = bench_totals(run);
	double submit_s, drain_s, bytes;
	uint64_t rss;
	int error = close_gate(run);

	rss = bench_rss_bytes();
	if (!error)
		error = fill(run, &submit_s);
	bytes = rss_since(rss);
	if (error) {
		open_gate(run);
		return error;
	}
	error = drain(run, before, &drain_s);
	if (error)
		return error;
	*ret_seconds = submit_s + drain_s;
	bench_metric_add(run, "bytes_per_task",
			 bytes / (double)run->options->n);
	bench_metric_add(run, "submit_s", submit_s);
	bench_metric_add(run, "drain_s", drain_s);
	sleep(1);
	bench_metric_add(run, "rss_after_bytes", rss_since(rss));
	return bench_check_totals(run, before, memory->expected);
}

static void stop(struct bench_run *run)
{
	struct memory *memory = run->state;

	if (!memory)
		return;
	bench_latch_fini(&memory->closed);
	sem_destroy(&memory->gate);
	free(memory->tasks);
	free(memory);
}

static void note(const struct bench_result *result, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%.1f bytes a task, %.1f MB kept",
		 bench_result_median(result, "bytes_per_task"),
		 bench_result_median(result, "rss_after_bytes") / 1e6);
}

const struct bench_workload bench_memory = {
	.name = "memory",
	.summary = "bytes that N waiting tasks take in the runtime, once",
	.api = "submit",
	.uses = BENCH_N,
	.n_max = UINT64_C(10000000000),
	.defaults = {.n = 1000000, .producers = 1, .reps = 1},
	.start = start,
	.repeat = repeat,
	.stop = stop,
	.note = note,
};
