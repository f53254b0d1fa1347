/* SPDX-License-Identifier: MIT */
/* idle: what a pool with nothing to do costs. */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"
#include "workloads.h"

enum {
	SETTLE_US = 200000,
	IDLE_SECONDS = 3,
};

struct idle {
	struct wsrt_task task;
	sem_t done;
};

static void post(struct wsrt_task *task, int status)
{
	struct idle *idle = wsrt_container_of(task, struct idle, task);

	(void)status; /* pools drain here */
	sem_post(&idle->done);
}

static int start(struct bench_run *run)
{
	struct idle *idle = calloc(1, sizeof *idle);

	if (!idle)
		return bench_fail(run, -ENOMEM, "no memory for a task");
	idle->task.run = post;
	sem_init(&idle->done, 0, 0);
	run->state = idle;
	run->result->tasks = 1;
	return 0;
}

static void measure_idleness(struct bench_run *run)
{
	struct rusage before, after;

	usleep(SETTLE_US);
	getrusage(RUSAGE_SELF, &before);
	sleep(IDLE_SECONDS);
	getrusage(RUSAGE_SELF, &after);
	bench_metric_add(run, "idle_cpu_s",
			 bench_cpu_seconds(&after) -
				 bench_cpu_seconds(&before));
	bench_metric_add(run, "idle_vcsw",
			 (double)(after.ru_nvcsw - before.ru_nvcsw));
	bench_metric_add(run, "idle_ivcsw",
			 (double)(after.ru_nivcsw - before.ru_nivcsw));
}

static int repeat(struct bench_run *run, double *ret_seconds)
{
	struct idle *idle = run->state;
	double begin = bench_now();
	int error = wsrt_pool_submit(run->pool, &idle->task, NULL);

	if (error)
		return bench_fail_submit(run, error);
	bench_sem_wait(&idle->done);
	*ret_seconds = bench_now() - begin;
	measure_idleness(run);
	return 0;
}

static void stop(struct bench_run *run)
{
	struct idle *idle = run->state;

	if (idle)
		sem_destroy(&idle->done);
	free(idle);
}

static void note(const struct bench_result *result, char *ret_text, size_t size)
{
	double switches = bench_result_median(result, "idle_vcsw") +
			  bench_result_median(result, "idle_ivcsw");

	snprintf(ret_text, size, "%.4f s CPU, %.0f switches in %d s",
		 bench_result_median(result, "idle_cpu_s"), switches,
		 IDLE_SECONDS);
}

const struct bench_workload bench_idle = {
	.name = "idle",
	.summary = "CPU time and context switches of an idle pool, once",
	.api = "submit",
	.defaults = {.n = 1, .producers = 1, .reps = 1},
	.start = start,
	.repeat = repeat,
	.stop = stop,
	.note = note,
};
