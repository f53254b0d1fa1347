/* SPDX-License-Identifier: MIT */
/* What the workloads share; see support.h. */
#include "support.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double bench_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double bench_cpu_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       1e-6 * (double)(usage->ru_utime.tv_usec +
			       usage->ru_stime.tv_usec);
}

static uint64_t exact_rss_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	uint64_t kilobytes = 0;
	char line[256];

	if (!file)
		return 0;
	while (!kilobytes && fgets(line, sizeof line, file)) {
		if (sscanf(line, "Rss: %" SCNu64 " kB", &kilobytes) != 1)
			kilobytes = 0;
	}
	(void)fclose(file); /* it was only read */
	return 1024 * kilobytes;
}

uint64_t bench_rss_bytes(void)
{
	uint64_t bytes = exact_rss_bytes(), pages = 0;
	FILE *file;

	if (bytes)
		return bytes;
	file = fopen("/proc/self/statm", "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	(void)fclose(file); /* it was only read */
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void bench_latch_init(struct bench_latch *latch)
{
	atomic_init(&latch->left, 0);
	sem_init(&latch->open, 0, 0);
}

void bench_latch_fini(struct bench_latch *latch)
{
	sem_destroy(&latch->open);
}

void bench_latch_set(struct bench_latch *latch, uint64_t count)
{
	atomic_store_explicit(&latch->left, count, memory_order_relaxed);
}

void bench_latch_done(struct bench_latch *latch)
{
	/*
	 * (L) Pairs with itself: release for what this thread did, acquire
	 * for the last one, whose sem_post() passes all of it on.
	 */
	if (atomic_fetch_sub_explicit(&latch->left, 1, memory_order_acq_rel) ==
	    1)
		sem_post(&latch->open);
}

void bench_latch_wait(struct bench_latch *latch)
{
	bench_sem_wait(&latch->open);
}

void bench_sem_wait(sem_t *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		;
}

int bench_result_init(struct bench_result *ret_result, uint32_t reps)
{
	/* Seconds, each metric, and room to sort one. */
	double *memory = calloc(BENCH_METRICS_MAX + 2, reps * sizeof *memory);

	*ret_result = (struct bench_result){.memory = memory};
	if (!memory)
		return -ENOMEM;
	ret_result->seconds = (struct bench_metric){
		.name = "seconds",
		.values = memory + reps,
	};
	for (size_t i = 0; i < BENCH_METRICS_MAX; i++)
		ret_result->metrics[i].values = memory + (i + 2) * reps;
	return 0;
}

void bench_result_fini(struct bench_result *result)
{
	free(result->memory);
	result->memory = NULL;
}

const struct bench_metric *
bench_result_metric(const struct bench_result *result, const char *name)
{
	for (size_t i = 0; i < result->metric_count; i++) {
		if (!strcmp(result->metrics[i].name, name))
			return &result->metrics[i];
	}
	return NULL;
}

double bench_result_median(const struct bench_result *result, const char *name)
{
	const struct bench_metric *metric = bench_result_metric(result, name);

	return metric ? metric->median : NAN;
}

void bench_metric_add(struct bench_run *run, const char *name, double value)
{
	struct bench_result *result = run->result;
	struct bench_metric *metric = result->metrics;
	struct bench_metric *end = metric + result->metric_count;

	while (metric != end && strcmp(metric->name, name) != 0)
		metric++;
	if (metric == end) {
		metric->name = name;
		result->metric_count++;
	}
	metric->values[metric->count++] = value;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

void bench_metric_latencies(struct bench_run *run, double *ns, size_t count)
{
	qsort(ns, count, sizeof *ns, compare_doubles);
	bench_metric_add(run, "p50_ns", ns[count / 2]);
	bench_metric_add(run, "p99_ns", ns[count * 99 / 100]);
	bench_metric_add(run, "p999_ns", ns[count * 999 / 1000]);
	bench_metric_add(run, "max_ns", ns[count - 1]);
}

static void summarize(struct bench_metric *metric, double *sorted)
{
	size_t count = metric->count;

	if (!count)
		return;
	memcpy(sorted, metric->values, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare_doubles);
	metric->min = sorted[0];
	metric->median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

void bench_result_summarize(struct bench_result *result)
{
	summarize(&result->seconds, result->memory);
	for (size_t i = 0; i < result->metric_count; i++)
		summarize(&result->metrics[i], result->memory);
}

int bench_fail(struct bench_run *run, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(run->result->message, sizeof run->result->message, format,
		  args);
	va_end(args);
	return error;
}

int bench_fail_submit(struct bench_run *run, int error)
{
	return bench_fail(run, error, "a submit failed: %s", strerror(-error));
}

void bench_fail_in_task(struct bench_run *run, int error)
{
	int none = 0;

	atomic_compare_exchange_strong_explicit(&run->task_error, &none, error,
						memory_order_relaxed,
						memory_order_relaxed);
}

int bench_check_tasks(struct bench_run *run)
{
	int error =
		atomic_load_explicit(&run->task_error, memory_order_relaxed);

	if (!error)
		return 0;
	return bench_fail(run, error, "a task failed: %s", strerror(-error));
}
