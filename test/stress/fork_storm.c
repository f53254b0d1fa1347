/* SPDX-License-Identifier: MIT */
/*
 * Random trees of forks, with tasks submitted in between, thieves that ask at
 * odd moments, and joins that wait: each node runs once, each sum is that of
 * the same tree run in one thread, and nobody who waits in a join runs a task
 * (B18).
 */
#include "stress.h"

#include <wsrt/fork.h>

#define FANOUT 6u
#define ROOTS 4u

struct node {
	struct wsrt_fork fork;
	uint64_t random;
	unsigned depth;
	uint64_t sum;
	_Atomic unsigned ran;
};

struct root {
	struct wsrt_task task;
	struct node node;
};

/* A task of a tree, which frees itself. */
struct leaf {
	struct wsrt_task task;
};

static struct wsrt_pool *pool;
static struct latch latch;
static _Atomic unsigned leaves;
static _Thread_local bool busy; /* with a tree */

static void leaf_run(struct wsrt_task *task, int status)
{
	check(status == 0);
	check(!busy);
	free(task);
	atomic_fetch_sub(&leaves, 1);
}

static void leaf_submit(void)
{
	struct leaf *leaf = malloc(sizeof *leaf);

	check(leaf);
	leaf->task = (struct wsrt_task){.run = leaf_run};
	atomic_fetch_add(&leaves, 1);
	check(wsrt_pool_submit(pool, &leaf->task, NULL) == 0);
}

/* What happens between forks and joins; a random number says. */
static void happen(struct wsrt_worker *worker, unsigned what)
{
	if (what < 8)
		leaf_submit();
	else if (what < 12) /* as a thief would */
		__atomic_store_n(&worker->limit, NULL, __ATOMIC_RELAXED);
	else if (what < 14)
		sched_yield();
	else if (what == 14)
		sleep_ns(1000);
}

static void node_init(struct node *child, struct node *parent)
{
	child->random = parent->random + random_next(&parent->random) + 1;
	child->depth = parent->depth - 1;
	atomic_init(&child->ran, 0);
}

static unsigned fanout(struct node *node)
{
	return node->depth ? random_below(&node->random, FANOUT + 1) : 0;
}

/* The same tree, by plain calls. */
static uint64_t serial(struct node node)
{
	unsigned count = fanout(&node);
	uint64_t sum = node.random;

	for (unsigned i = 0; i < count; i++) {
		struct node child;

		node_init(&child, &node);
		random_below(&node.random, 64);
		sum += serial(child);
	}
	return sum;
}

static void node_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct node *node = wsrt_container_of(fork, struct node, fork);
	struct node children[FANOUT];
	bool before = busy;

	busy = true;
	check(worker == wsrt_worker_current());
	check(atomic_fetch_add(&node->ran, 1) == 0);

	unsigned count = fanout(node);
	uint64_t sum = node->random;

	for (unsigned i = 0; i < count; i++) {
		node_init(&children[i], node);
		wsrt_fork(worker, &children[i].fork, node_run);
		happen(worker, random_below(&node->random, 64));
	}
	for (unsigned i = count; i > 0; i--) {
		struct node *child = &children[i - 1];

		wsrt_join(worker, &child->fork, node_run);
		check(atomic_load(&child->ran) == 1);
		sum += child->sum;
		if (i == 2)
			happen(worker, (unsigned)(child->sum % 64));
	}
	node->sum = sum;
	busy = before;
}

static void root_run(struct wsrt_task *task, int status)
{
	struct root *root = wsrt_container_of(task, struct root, task);

	check(status == 0 && !busy);
	node_run(wsrt_worker_current(), &root->node.fork);
	latch_down(&latch);
}

static void grow_trees(unsigned depth)
{
	struct root roots[ROOTS];
	uint64_t expected[ROOTS];

	latch_init(&latch, ROOTS);
	for (unsigned i = 0; i < ROOTS; i++) {
		roots[i] = (struct root){
			.task.run = root_run,
			.node = {.depth = depth,
				 .random = random_next(&stress_random) + 1},
		};
		expected[i] = serial(roots[i].node);
	}
	for (unsigned i = 0; i < ROOTS; i++)
		check(wsrt_pool_submit(pool, &roots[i].task, NULL) == 0);
	check_msg(latch_wait(&latch, 60), "%u trees hang",
		  atomic_load(&latch.left));
	for (unsigned i = 0; i < ROOTS; i++)
		check_msg(roots[i].node.sum == expected[i], "a wrong sum");
}

int main(void)
{
	static const unsigned workers[] = {1, 2, 3, 8, 32};

	stress_begin();
	for (unsigned i = 0; i < 10; i++) {
		stress_next(i % 2 ? "hot" : "cold");
		pool = stress_pool((struct wsrt_pool_config){
			.worker_count = workers[i / 2],
			.spin_ns = i % 2 ? 0 : 1,
			.order = i % 4 < 2 ? WSRT_ORDER_LIFO : WSRT_ORDER_FIFO,
		});
		for (unsigned n = 0; n < stress_rounds(200); n++)
			grow_trees(1 + random_below(&stress_random, 7));
		check(wsrt_pool_destroy(pool) == 0);
		check(atomic_load(&leaves) == 0);
	}
	stress_next("end");
	return 0;
}
