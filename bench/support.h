/* SPDX-License-Identifier: MIT */
/*
 * What the workloads share: the run they belong to, clock, work kernel,
 * counters that cost tasks next to nothing, a latch, and metrics.
 */
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>

#include <wsrt/wsrt.h>

#include "bench.h"

/* I: set before tasks are submitted. A: atomic. */
struct bench_run {
	const struct bench_workload *workload; /* I */
	const struct bench_options *options;   /* I */
	struct bench_result *result;	       /* the measuring thread's */
	struct wsrt_pool *pool;		       /* I */
	uint32_t worker_count;		       /* I */
	void *state;			       /* I, the workload's own */
	atomic_int task_error;		       /* A, first error of a task */
};

/* A worker's count of the tasks it ran, and the sum of what they computed. */
struct bench_counter {
	_Atomic uint64_t count;
	_Atomic uint64_t sum;
	struct bench_run *run;
	uint32_t worker_index;
} __attribute__((aligned(128)));

/* The calling worker's. NULL on other threads. */
extern _Thread_local struct bench_counter *bench_counter;

struct bench_totals {
	uint64_t count, sum;
};

/* A task of `work` steps. */
struct bench_task {
	struct wsrt_task task;
	uint64_t index;
};

/* Opens when it has been counted down. */
struct bench_latch {
	_Atomic uint64_t left;
	sem_t open;
};

/* The work kernel. Each step passes through a register the compiler cannot
 * see into, so that it has to make them all. */
static inline uint64_t bench_work(uint64_t x, uint64_t steps)
{
	for (uint64_t step = 0; step < steps; step++) {
		x = x * UINT64_C(6364136223846793005) +
		    UINT64_C(1442695040888963407);
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static inline uint64_t bench_steps(const struct bench_run *run, uint64_t index)
{
	uint64_t work = run->options->work;

	return run->workload->uneven && index % 10 == 0 ? 100 * work : work;
}

/* On a worker: one more task is done, and it computed @value. */
static inline void bench_count(uint64_t value)
{
	struct bench_counter *counter = bench_counter;
	uint64_t sum =
		atomic_load_explicit(&counter->sum, memory_order_relaxed);
	uint64_t count =
		atomic_load_explicit(&counter->count, memory_order_relaxed);

	atomic_store_explicit(&counter->sum, sum + value, memory_order_relaxed);
	/* (C) Release: pairs with (D) in bench_totals(). */
	atomic_store_explicit(&counter->count, count + 1, memory_order_release);
}

/* Creates the run's pool, with a counter for each worker. */
int bench_pool_start(struct bench_run *run);

double bench_now(void); /* seconds, monotonic */
double bench_cpu_seconds(const struct rusage *usage);

/**
 * bench_rss_bytes() - resident memory of the process
 *
 * Exact where the kernel offers it: the usual figure lags by up to 64 pages
 * a CPU.
 *
 * Return: bytes; 0 when the kernel does not tell.
 */
uint64_t bench_rss_bytes(void);

/* Totals of all workers since the process began. */
struct bench_totals bench_totals(const struct bench_run *run);

/*
 * Looks every 100 us whether @count tasks are done since @before: tasks pay
 * for their own counter and nothing else. Fails when a task did.
 */
int bench_wait_count(struct bench_run *run, struct bench_totals before,
		     uint64_t count);

/* Fails unless tasks 0 ... n-1 ran since @before, each once. */
int bench_check_totals(struct bench_run *run, struct bench_totals before,
		       struct bench_totals expected);

/* What tasks 0 ... n-1 of `work` steps add to the totals. */
struct bench_totals bench_expected_totals(const struct bench_run *run);

/* Memory for n tasks, already touched. NULL after bench_fail(). */
struct bench_task *bench_tasks_create(struct bench_run *run);

/* Body of a plain task: works and counts. */
void bench_task_run(struct wsrt_task *task, int status);

/* Fills in and submits tasks @first ... @end-1, one by one. 0 or an errno. */
int bench_tasks_submit(struct bench_run *run, struct bench_task *tasks,
		       uint64_t first, uint64_t end, wsrt_task_fn *body);

void bench_latch_init(struct bench_latch *latch);
void bench_latch_fini(struct bench_latch *latch);
void bench_latch_set(struct bench_latch *latch, uint64_t count);
void bench_latch_done(struct bench_latch *latch);
void bench_latch_wait(struct bench_latch *latch);

/* sem_wait() that signals do not cut short. */
void bench_sem_wait(sem_t *semaphore);

/* Adds this repetition's figure. @name is a literal. */
void bench_metric_add(struct bench_run *run, const char *name, double value);

/* p50, p99, p999 and max of @count > 0 latencies in ns, which it sorts. */
void bench_metric_latencies(struct bench_run *run, double *ns, size_t count);

/* Room for the figures of @reps repetitions. 0 or -ENOMEM. */
int bench_result_init(struct bench_result *ret_result, uint32_t reps);

/* Computes minimum and median of all. */
void bench_result_summarize(struct bench_result *result);

/* Says why a run failed. Returns @error, a negative errno. */
int bench_fail(struct bench_run *run, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a submit that returned @error. */
int bench_fail_submit(struct bench_run *run, int error);

/* The same from a task: the first one counts. */
void bench_fail_in_task(struct bench_run *run, int error);

/* Fails when a task did. */
int bench_check_tasks(struct bench_run *run);

#endif
