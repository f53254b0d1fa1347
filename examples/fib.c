/* SPDX-License-Identifier: MIT */
/* Fork/join on the stack: cc -O2 fib.c $(pkg-config --cflags --libs wsrt) */
#include <stdio.h>
#include <wsrt/fork.h>
#include <wsrt/wsrt.h>

struct fib {
	struct wsrt_fork fork;
	long n, value;
};

static long fib(struct wsrt_worker *worker, long n);

static void fib_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct fib *f = wsrt_container_of(fork, struct fib, fork);

	f->value = fib(worker, f->n);
}

static long fib(struct wsrt_worker *worker, long n)
{
	struct fib left;
	long right;

	if (n < 2)
		return n;
	left.n = n - 1; /* an initializer would clear the fork too */
	wsrt_fork(worker, &left.fork, fib_run); /* others may take it */
	right = fib(worker, n - 2);
	wsrt_join(worker, &left.fork, fib_run); /* nobody did: runs here */
	return left.value + right;
}

struct root {
	struct wsrt_task task;
	long value;
};

static void root_run(struct wsrt_task *task, int status)
{
	struct root *root = wsrt_container_of(task, struct root, task);

	if (status == 0)
		root->value = fib(wsrt_worker_current(), 30);
}

int main(void)
{
	struct root root = {.task = {.run = root_run}};
	struct wsrt_pool *pool;

	if (wsrt_pool_create(NULL, &pool) != 0)
		return 1;
	if (wsrt_pool_submit(pool, &root.task, NULL) != 0)
		return 1;
	wsrt_pool_destroy(pool);
	printf("fib(30) = %ld\n", root.value);
	return root.value == 832040 ? 0 : 1;
}
