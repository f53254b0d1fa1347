/* SPDX-License-Identifier: MIT */
/*
 * spawn_tree: a task submits two, each of which submits two. An inner node
 * submits itself again, as one of its children, and one that it allocates; a
 * leaf frees itself.
 */
#include <errno.h>
#include <stdlib.h>

#include "support.h"
#include "workloads.h"

struct node {
	struct wsrt_task task;
	uint64_t height; /* 1 for a leaf */
};

static void node_run(struct wsrt_task *task, int status);

static struct node *node_create(uint64_t height)
{
	struct node *node = malloc(sizeof *node);

	if (node)
		*node = (struct node){.task.run = node_run, .height = height};
	return node;
}

static int submit_children(struct wsrt_pool *pool, struct node *node)
{
	struct node *other = node_create(--node->height);
	struct wsrt_task *children[] = {&node->task, &other->task};

	if (!other)
		return -ENOMEM;
	return wsrt_pool_submit_batch(pool, children, 2, NULL) == 2 ? 0
								    : -ENOMEM;
}

static void node_run(struct wsrt_task *task, int status)
{
	struct node *node = wsrt_container_of(task, struct node, task);
	struct bench_run *run = bench_counter->run;
	uint64_t height = node->height;

	(void)status; /* pools drain here */
	if (height == 1) {
		free(node);
	} else {
		int error = submit_children(run->pool, node);

		if (error)
			bench_fail_in_task(run, error);
	}
	bench_count(height);
}

static uint64_t node_count(uint64_t height)
{
	return (UINT64_C(1) << height) - 1;
}

/* Sum of the heights of all nodes. */
static uint64_t height_sum(uint64_t height)
{
	uint64_t sum = 0;

	for (uint64_t level = height; level > 0; level--)
		sum += level << (height - level);
	return sum;
}

static int start(struct bench_run *run)
{
	run->result->tasks = node_count(run->options->n);
	return 0;
}

static int repeat(struct bench_run *run, double *ret_seconds)
{
	uint64_t height = run->options->n;
	struct bench_totals expected = {
		.count = node_count(height),
		.sum = height_sum(height),
	};
	struct bench_totals before = bench_totals(run);
	double begin = bench_now();
	struct node *root = node_create(height);
	int error =
		root ? wsrt_pool_submit(run->pool, &root->task, NULL) : -ENOMEM;

	if (error)
		return bench_fail_submit(run, error);
	error = bench_wait_count(run, before, expected.count);
	if (error)
		return error;
	*ret_seconds = bench_now() - begin;
	return bench_check_totals(run, before, expected);
}

const struct bench_workload bench_spawn_tree = {
	.name = "spawn_tree",
	.summary = "2^N-1 tasks, each submitting two",
	.api = "submit",
	.uses = BENCH_N | BENCH_REPS,
	.n_max = 40,
	.defaults = {.n = 20, .producers = 1, .reps = 5},
	.start = start,
	.repeat = repeat,
};
