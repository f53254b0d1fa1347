/* SPDX-License-Identifier: MIT */
/*
 * The workloads that wsbench measures, as a library that prints nothing:
 * what a program needs to list them, run one, and read its results.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_run;

/* Which options a workload looks at. It ignores the others. */
enum bench_uses {
	BENCH_N = 1 << 0,
	BENCH_WORK = 1 << 1,
	BENCH_PRODUCERS = 1 << 2,
	BENCH_GAP = 1 << 3,
	BENCH_DIR = 1 << 4,
	BENCH_REPS = 1 << 5, /* without it, one repetition */
};

#define BENCH_WORK_MAX UINT64_C(1000000000000)
#define BENCH_PRODUCERS_MAX 1024u
#define BENCH_GAP_US_MAX 1000000000u
#define BENCH_REPS_MAX 100000u

struct bench_options {
	uint64_t n;
	uint64_t work;	 /* steps of the work kernel a task, or a tenth of it */
	uint64_t gap_us; /* pause before each submit */
	uint32_t threads; /* workers; 0: the pool's default */
	uint32_t producers;
	uint32_t reps;
	const char *dir; /* the tree to read */
	/* Called after each repetition, on the caller's thread; may be NULL. */
	void (*progress)(void *progress_arg, uint32_t reps_done);
	void *progress_arg;
};

/* One figure of every repetition. */
struct bench_metric {
	const char *name;
	double *values;
	size_t count;
	double min, median;
};

#define BENCH_METRICS_MAX 32u

struct bench_result {
	uint32_t threads; /* workers there were */
	uint64_t tasks;	  /* of one repetition */
	struct bench_metric seconds;
	struct bench_metric metrics[BENCH_METRICS_MAX];
	size_t metric_count;
	double *memory; /* where all values live */
	char message[256];
};

struct bench_workload {
	const char *name;
	const char *summary;
	const char *api; /* how the runtime is called */
	unsigned int uses;
	uint64_t n_max;
	struct bench_options defaults;
	bool uneven; /* every tenth task has 100 times the work */

	/*
	 * Each returns 0, or a negative errno after bench_fail(). stop() comes
	 * after the pool has ended, whatever start() returned; state is then
	 * NULL if start() did not set it. baseline() is what the repetition
	 * after it is compared with.
	 */
	int (*start)(struct bench_run *run);
	int (*baseline)(struct bench_run *run);
	int (*repeat)(struct bench_run *run, double *ret_seconds);
	void (*stop)(struct bench_run *run);

	/* A few words on a result, beside time and rate; may be NULL. */
	void (*note)(const struct bench_result *result, char *ret_text,
		     size_t size);
};

/**
 * bench_workloads() - all there are
 * @ret_count: how many
 *
 * Return: an array of pointers; both live for ever.
 */
const struct bench_workload *const *bench_workloads(size_t *ret_count);

/* By name; NULL when there is none. */
const struct bench_workload *bench_workload_find(const char *name);

/**
 * bench_measure() - run a workload on a pool of its own
 * @options: every member that the workload uses is in range
 * @ret_result: filled even on failure; end with bench_result_fini()
 *
 * Thread-safety: one call at a time in a process.
 * Return: 0, or, @ret_result->message saying why,
 *	-EBADMSG  the workload computed something wrong;
 *	-EINVAL   the pool did not accept its configuration or environment;
 *	other negative errno  memory, threads or files were lacking.
 */
int bench_measure(const struct bench_workload *workload,
		  const struct bench_options *options,
		  struct bench_result *ret_result);

void bench_result_fini(struct bench_result *result);

/* By name; NULL when the workload did not record it. */
const struct bench_metric *
bench_result_metric(const struct bench_result *result, const char *name);

/* Median of a metric, or NaN without it. */
double bench_result_median(const struct bench_result *result, const char *name);

#endif
