/* SPDX-License-Identifier: MIT */
/* roundtrip: from outside, submit one task and sleep until it has run. */
#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"
#include "workloads.h"

struct roundtrip {
	struct wsrt_task task;
	sem_t done;
	uint64_t runs;
	double ns[];
};

static void post(struct wsrt_task *task, int status)
{
	struct roundtrip *trip =
		wsrt_container_of(task, struct roundtrip, task);

	(void)status; /* pools drain here */
	trip->runs++;
	sem_post(&trip->done);
}

static int start(struct bench_run *run)
{
	uint64_t n = run->options->n;
	struct roundtrip *trip = calloc(1, sizeof *trip + n * sizeof(double));

	if (!trip)
		return bench_fail(run, -ENOMEM, "no memory for latencies");
	trip->task.run = post;
	sem_init(&trip->done, 0, 0);
	run->state = trip;
	run->result->tasks = n;
	return 0;
}

static int go_and_return(struct bench_run *run, double *ret_ns)
{
	struct roundtrip *trip = run->state;
	double begin = bench_now();
	int error = wsrt_pool_submit(run->pool, &trip->task, NULL);

	if (error)
		return bench_fail_submit(run, error);
	bench_sem_wait(&trip->done);
	*ret_ns = 1e9 * (bench_now() - begin);
	return 0;
}

static int repeat(struct bench_run *run, double *ret_seconds)
{
	struct roundtrip *trip = run->state;
	uint64_t n = run->options->n, gap_us = run->options->gap_us;
	double begin = bench_now();
	int error = 0;

	trip->runs = 0;
	for (uint64_t i = 0; i < n && !error; i++) {
		if (gap_us)
			usleep((useconds_t)gap_us);
		error = go_and_return(run, &trip->ns[i]);
	}
	if (error)
		return error;
	*ret_seconds = bench_now() - begin;
	if (trip->runs != n)
		return bench_fail(run, -EBADMSG,
				  "%" PRIu64 " tasks ran, not %" PRIu64,
				  trip->runs, n);
	bench_metric_latencies(run, trip->ns, n);
	return 0;
}

static void stop(struct bench_run *run)
{
	struct roundtrip *trip = run->state;

	if (trip)
		sem_destroy(&trip->done);
	free(trip);
}

static void note(const struct bench_result *result, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "p50 %.1f p99 %.1f p99.9 %.1f us",
		 bench_result_median(result, "p50_ns") / 1e3,
		 bench_result_median(result, "p99_ns") / 1e3,
		 bench_result_median(result, "p999_ns") / 1e3);
}

const struct bench_workload bench_roundtrip = {
	.name = "roundtrip",
	.summary = "N times: pause G us, submit one task, wait for it",
	.api = "submit",
	.uses = BENCH_N | BENCH_GAP | BENCH_REPS,
	.n_max = UINT64_C(10000000000),
	.defaults = {.n = 20000, .producers = 1, .reps = 5},
	.start = start,
	.repeat = repeat,
	.stop = stop,
	.note = note,
};
