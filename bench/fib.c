/* SPDX-License-Identifier: MIT */
/*
 * fib: fork/join at its finest, the naive recursion without a cut-off, beside
 * the same recursion of plain calls.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <wsrt/fork.h>

#include "support.h"
#include "workloads.h"

struct fib {
	struct wsrt_fork fork;
	long n, value;
};

struct root {
	struct wsrt_task task;
	struct bench_run *run;
	sem_t done;
	long value;
};

static void fib_run(struct wsrt_worker *worker, struct wsrt_fork *fork);

static long fib(struct wsrt_worker *worker, long n)
{
	struct fib left;

	if (n < 2)
		return n;
	left.n = n - 1; /* an initializer would clear the fork too */
	wsrt_fork(worker, &left.fork, fib_run);
	long right = fib(worker, n - 2);
	wsrt_join(worker, &left.fork, fib_run);
	return left.value + right;
}

static void fib_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct fib *self = wsrt_container_of(fork, struct fib, fork);

	self->value = fib(worker, self->n);
}

__attribute__((noinline)) static long fib_serial(long n)
{
	if (n < 2)
		return n;
	return fib_serial(n - 1) + fib_serial(n - 2);
}

/* The n-th number without recursion. */
static long fib_number(long n)
{
	long value = 0, next = 1;

	while (n-- > 0) {
		long sum = value + next;

		value = next;
		next = sum;
	}
	return value;
}

static void root_run(struct wsrt_task *task, int status)
{
	struct root *root = wsrt_container_of(task, struct root, task);
	struct wsrt_worker *worker = wsrt_worker_current();

	(void)status; /* pools drain here */
	if (worker)
		root->value = fib(worker, (long)root->run->options->n);
	else
		bench_fail_in_task(root->run, -ENOTSUP);
	sem_post(&root->done);
}

static int start(struct bench_run *run)
{
	struct root *root = calloc(1, sizeof *root);

	if (!root)
		return bench_fail(run, -ENOMEM, "no memory for a task");
	root->task.run = root_run;
	root->run = run;
	sem_init(&root->done, 0, 0);
	run->state = root;
	run->result->tasks =
		2 * (uint64_t)fib_number((long)run->options->n + 1) - 1;
	return 0;
}

static int baseline(struct bench_run *run)
{
	long n = (long)run->options->n;
	double begin = bench_now();
	long value = fib_serial(n);

	bench_metric_add(run, "serial_s", bench_now() - begin);
	if (value != fib_number(n))
		return bench_fail(run, -EBADMSG, "serial fib is wrong");
	return 0;
}

static int repeat(struct bench_run *run, double *ret_seconds)
{
	struct root *root = run->state;
	double begin = bench_now();
	int error = wsrt_pool_submit(run->pool, &root->task, NULL);

	if (error)
		return bench_fail_submit(run, error);
	bench_sem_wait(&root->done);
	*ret_seconds = bench_now() - begin;
	error = bench_check_tasks(run);
	if (!error && root->value != fib_number((long)run->options->n))
		error = bench_fail(run, -EBADMSG, "fib is wrong");
	return error;
}

static void stop(struct bench_run *run)
{
	struct root *root = run->state;

	if (root)
		sem_destroy(&root->done);
	free(root);
}

static void note(const struct bench_result *result, char *ret_text, size_t size)
{
	const struct bench_metric *serial =
		bench_result_metric(result, "serial_s");

	snprintf(ret_text, size, "%.3g x serial, %.3g x CPU",
		 result->seconds.median / serial->median,
		 bench_result_median(result, "cpu_s") / serial->median);
}

const struct bench_workload bench_fib = {
	.name = "fib",
	.summary = "fork/join recursion of depth N, no cut-off",
	.api = "fork",
	.uses = BENCH_N | BENCH_REPS,
	.n_max = 60,
	.defaults = {.n = 35, .producers = 1, .reps = 5},
	.start = start,
	.baseline = baseline,
	.repeat = repeat,
	.stop = stop,
	.note = note,
};
