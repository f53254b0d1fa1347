/* SPDX-License-Identifier: MIT */
/* Runs a workload: pool, repetitions, the CPU time each took. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "support.h"

/* What a repetition costs beside time. */
struct usage {
	struct rusage process;
	struct wsrt_stats pool;
};

static void read_usage(struct bench_run *run, struct usage *ret_usage)
{
	getrusage(RUSAGE_SELF, &ret_usage->process);
	ret_usage->pool = (struct wsrt_stats){.size = sizeof ret_usage->pool};
	wsrt_pool_stats(run->pool, &ret_usage->pool);
}

static void add_difference(struct bench_run *run, const char *name,
			   uint64_t before, uint64_t after)
{
	bench_metric_add(run, name, (double)(after - before));
}

static void record_pool(struct bench_run *run, const struct wsrt_stats *before,
			const struct wsrt_stats *after)
{
	static const char *const steals[WSRT_TIER_COUNT] = {
		[WSRT_TIER_L3] = "steals_l3",
		[WSRT_TIER_NODE] = "steals_node",
		[WSRT_TIER_FAR] = "steals_far",
	};

	for (int tier = 0; tier < WSRT_TIER_COUNT; tier++)
		add_difference(run, steals[tier], before->steals[tier],
			       after->steals[tier]);
	add_difference(run, "forks_stolen", before->forks_stolen,
		       after->forks_stolen);
	add_difference(run, "parks", before->parks, after->parks);
}

static void record(struct bench_run *run, double elapsed,
		   const struct usage *before, const struct usage *after)
{
	struct bench_metric *seconds = &run->result->seconds;

	seconds->values[seconds->count++] = elapsed;
	bench_metric_add(run, "cpu_s",
			 bench_cpu_seconds(&after->process) -
				 bench_cpu_seconds(&before->process));
	record_pool(run, &before->pool, &after->pool);
}

static int repeat(struct bench_run *run)
{
	const struct bench_workload *workload = run->workload;
	struct usage before, after;
	double elapsed = 0;
	int error = 0;

	if (workload->baseline)
		error = workload->baseline(run);
	if (error)
		return error;
	read_usage(run, &before);
	error = workload->repeat(run, &elapsed);
	if (error)
		return error;
	read_usage(run, &after);
	record(run, elapsed, &before, &after);
	return 0;
}

static int repeat_all(struct bench_run *run)
{
	const struct bench_options *options = run->options;
	int error = 0;

	for (uint32_t rep = 0; rep < options->reps && !error; rep++) {
		error = repeat(run);
		if (!error && options->progress)
			options->progress(options->progress_arg, rep + 1);
	}
	return error;
}

static int start(struct bench_run *run)
{
	int error = bench_pool_start(run);

	run->result->threads = run->worker_count;
	if (!error && run->workload->start)
		error = run->workload->start(run);
	return error;
}

int bench_measure(const struct bench_workload *workload,
		  const struct bench_options *options,
		  struct bench_result *ret_result)
{
	struct bench_run run = {
		.workload = workload,
		.options = options,
		.result = ret_result,
	};
	int error = bench_result_init(ret_result, options->reps);

	if (error)
		return bench_fail(&run, error, "no memory for the results");
	/* Sleeps of 100 us should not take 150; threads inherit it. */
	prctl(PR_SET_TIMERSLACK, 1000UL);
	error = start(&run);
	if (!error)
		error = repeat_all(&run);
	wsrt_pool_destroy(run.pool);
	if (workload->stop)
		workload->stop(&run);
	bench_result_summarize(ret_result);
	return error;
}
