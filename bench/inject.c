/* SPDX-License-Identifier: MIT */
/* inject: threads outside the pool submit tasks as fast as they can. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "workloads.h"

struct producer {
	pthread_t thread;
	struct bench_run *run;
	uint64_t first, end;
	int error;
};

struct inject {
	struct bench_task *tasks;
	struct bench_totals expected;
	struct producer producers[];
};

static int start(struct bench_run *run)
{
	uint64_t n = run->options->n;
	uint32_t count = run->options->producers;
	struct inject *inject =
		calloc(1, sizeof *inject + count * sizeof(struct producer));

	run->state = inject;
	if (!inject)
		return bench_fail(run, -ENOMEM, "no memory for producers");
	for (uint32_t i = 0; i < count; i++) {
		inject->producers[i] = (struct producer){
			.run = run,
			.first = n * i / count,
			.end = n * (i + 1) / count,
		};
	}
	inject->tasks = bench_tasks_create(run);
	if (!inject->tasks)
		return -ENOMEM;
	inject->expected = bench_expected_totals(run);
	run->result->tasks = n;
	return 0;
}

static void *produce(void *arg)
{
	struct producer *producer = arg;
	struct inject *inject = producer->run->state;

	producer->error = bench_tasks_submit(producer->run, inject->tasks,
					     producer->first, producer->end,
					     bench_task_run);
	return NULL;
}

static int produce_in_threads(struct producer *producers, uint32_t count)
{
	uint32_t started = 0;
	int error = 0;

	while (started < count && !error) {
		struct producer *producer = &producers[started];

		error = -pthread_create(&producer->thread, NULL, produce,
					producer);
		if (!error)
			started++;
	}
	for (uint32_t i = 0; i < started; i++) {
		pthread_join(producers[i].thread, NULL);
		if (!error)
			error = producers[i].error;
	}
	return error;
}

static int repeat(struct bench_run *run, double *ret_seconds)
{
	struct inject *inject = run->state;
	struct producer *producers = inject->producers;
	struct bench_totals before = bench_totals(run);
	double begin = bench_now();
	int error;

	if (run->options->producers == 1) {
		produce(producers);
		error = producers->error;
	} else {
		error = produce_in_threads(producers, run->options->producers);
	}
	if (error)
		return bench_fail(run, error, "producing failed: %s",
				  strerror(-error));
	error = bench_wait_count(run, before, run->options->n);
	if (error)
		return error;
	*ret_seconds = bench_now() - begin;
	return bench_check_totals(run, before, inject->expected);
}

static void stop(struct bench_run *run)
{
	struct inject *inject = run->state;

	if (inject)
		free(inject->tasks);
	free(inject);
}

static void note(const struct bench_result *result, char *ret_text, size_t size)
{
	double ns = 1e9 * bench_result_median(result, "cpu_s");

	snprintf(ret_text, size, "%.3g ns CPU a task",
		 ns / (double)result->tasks);
}

const struct bench_workload bench_inject = {
	.name = "inject",
	.summary = "outside producers submit N tasks of W steps",
	.api = "submit",
	.uses = BENCH_N | BENCH_WORK | BENCH_PRODUCERS | BENCH_REPS,
	.n_max = UINT64_C(10000000000),
	.defaults = {.n = 1000000, .producers = 1, .reps = 5},
	.start = start,
	.repeat = repeat,
	.stop = stop,
	.note = note,
};
