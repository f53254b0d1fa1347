/* SPDX-License-Identifier: MIT */
/* Plain tasks of some steps of work, and the counters that say they ran. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

_Thread_local struct bench_counter *bench_counter;

static struct bench_counter counters[WSRT_THREADS_MAX + 64];

/* The pool's start hook, on the worker itself. */
static void worker_start(void *hook_arg, uint32_t worker_index)
{
	bench_counter = &counters[worker_index];
	bench_counter->run = hook_arg;
	bench_counter->worker_index = worker_index;
}

int bench_pool_start(struct bench_run *run)
{
	struct wsrt_pool_config config = {
		.size = sizeof config,
		.worker_count = run->options->threads,
		.name = "wsbench",
		.worker_start = worker_start,
		.hook_arg = run,
	};
	int error = wsrt_pool_create(&config, &run->pool);

	if (error == -EINVAL)
		return bench_fail(run, error,
				  "the pool refuses its configuration (check "
				  "WSRT_WORKERS and WSRT_TOPOLOGY)");
	if (error)
		return bench_fail(run, error, "no pool: %s", strerror(-error));
	run->worker_count = wsrt_pool_worker_count(run->pool);
	return 0;
}

struct bench_totals bench_totals(const struct bench_run *run)
{
	struct bench_totals totals = {0};

	for (uint32_t i = 0; i < run->worker_count; i++) {
		struct bench_counter *counter = &counters[i];

		/* (D) Acquire: pairs with (C), for the sums of these tasks. */
		totals.count += atomic_load_explicit(&counter->count,
						     memory_order_acquire);
		totals.sum += atomic_load_explicit(&counter->sum,
						   memory_order_relaxed);
	}
	return totals;
}

int bench_wait_count(struct bench_run *run, struct bench_totals before,
		     uint64_t count)
{
	int error = 0;

	while (!error && bench_totals(run).count - before.count < count) {
		usleep(100);
		error = bench_check_tasks(run);
	}
	return error;
}

int bench_check_totals(struct bench_run *run, struct bench_totals before,
		       struct bench_totals expected)
{
	struct bench_totals totals = bench_totals(run);
	uint64_t count = totals.count - before.count;

	if (count != expected.count)
		return bench_fail(run, -EBADMSG,
				  "%" PRIu64 " tasks ran, not %" PRIu64, count,
				  expected.count);
	if (totals.sum - before.sum != expected.sum)
		return bench_fail(run, -EBADMSG, "the checksum is wrong");
	return 0;
}

struct bench_totals bench_expected_totals(const struct bench_run *run)
{
	struct bench_totals expected = {.count = run->options->n};

	for (uint64_t i = 0; i < expected.count; i++)
		expected.sum += bench_work(i, bench_steps(run, i));
	return expected;
}

struct bench_task *bench_tasks_create(struct bench_run *run)
{
	size_t bytes = run->options->n * sizeof(struct bench_task);
	struct bench_task *tasks = malloc(bytes);

	if (!tasks) {
		bench_fail(run, -ENOMEM, "no memory for %" PRIu64 " tasks",
			   run->options->n);
		return NULL;
	}
	memset(tasks, 0xff, bytes);
	return tasks;
}

void bench_task_run(struct wsrt_task *task, int status)
{
	struct bench_task *self =
		wsrt_container_of(task, struct bench_task, task);
	uint64_t steps = bench_steps(bench_counter->run, self->index);

	(void)status; /* pools drain here */
	bench_count(bench_work(self->index, steps));
}

int bench_tasks_submit(struct bench_run *run, struct bench_task *tasks,
		       uint64_t first, uint64_t end, wsrt_task_fn *body)
{
	struct wsrt_pool *pool = run->pool;
	int error = 0;

	for (uint64_t i = first; i < end && !error; i++) {
		tasks[i].task.run = body;
		tasks[i].index = i;
		error = wsrt_pool_submit(pool, &tasks[i].task, NULL);
	}
	return error;
}
