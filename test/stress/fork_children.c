/* SPDX-License-Identifier: MIT */
/*
 * fork() from a process whose pools are busy, while others come and go, so that
 * locks are held at random.
 *
 *	busy	B39, B40: the child is told, frees its copy, has a pool of its
 *		own, and ends by exit() or _exit(); the parent does not notice
 *	often	B41: after thousands of pools a fork is as fast as ever
 */
#include <sys/wait.h>

#include "stress.h"

static struct wsrt_pool *pool;
static _Atomic bool over;
static _Atomic uint64_t submitted, ran;

struct owned {
	struct wsrt_task task;
	unsigned depth;
};

static void owned_submit(unsigned depth);

static void owned_run(struct wsrt_task *task, int status)
{
	struct owned *owned = wsrt_container_of(task, struct owned, task);
	unsigned depth = owned->depth;

	(void)status;
	free(owned);
	for (unsigned i = 0; depth && i < 2; i++)
		owned_submit(depth - 1);
	atomic_fetch_add(&ran, 1);
}

static void owned_submit(unsigned depth)
{
	struct owned *owned = malloc(sizeof *owned);

	check(owned);
	*owned = (struct owned){{.run = owned_run}, depth};
	atomic_fetch_add(&submitted, 1);
	check(wsrt_pool_submit(pool, &owned->task, NULL) == 0);
}

static void *keep_busy(void *unused)
{
	while (!atomic_load(&over)) {
		owned_submit(7);
		if (atomic_load(&submitted) - atomic_load(&ran) > 5000)
			sleep_ns(MS / 10);
	}
	return unused;
}

static void *come_and_go(void *unused)
{
	while (!atomic_load(&over))
		check(wsrt_pool_destroy(stress_workers(2)) == 0);
	return unused;
}

/* In a child, where threads of the parent are not: what went wrong, or 0. */
#define child_must(condition)                                                  \
	do {                                                                   \
		if (!(condition))                                              \
			return __LINE__;                                       \
	} while (0)

static int use_a_new_pool(void)
{
	struct wsrt_pool_config config = {.size = sizeof config,
					  .worker_count = 2};
	struct counted tasks[50];
	struct wsrt_pool *own;

	counted_init(tasks, 50, NULL);
	child_must(wsrt_pool_create(&config, &own) == 0);
	for (unsigned i = 0; i < 50; i++)
		child_must(wsrt_pool_submit(own, &tasks[i].task, NULL) == 0);
	child_must(wsrt_pool_destroy(own) == 0);
	for (unsigned i = 0; i < 50; i++)
		child_must(atomic_load(&tasks[i].ran) == 1);
	return 0;
}

static int be_a_child(void)
{
	struct wsrt_stats stats = {.size = sizeof stats};
	struct counted counted = {.task.run = counted_run};

	child_must(wsrt_pool_submit(pool, &counted.task, NULL) == -EOWNERDEAD);
	child_must(wsrt_pool_stats(pool, &stats) == -EOWNERDEAD);
	child_must(wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, NULL) ==
		   -EOWNERDEAD);
	child_must(wsrt_pool_destroy(pool) == 0);
	/* ThreadSanitizer allows no thread there, and AddressSanitizer's
	 * allocator leaves locks as they were. */
	return TEST_SLOWER > 1 ? 0 : use_a_new_pool();
}

static void child_main(unsigned n)
{
	int line;

	alarm(20);
	line = be_a_child();
	if (line)
		fprintf(stderr, "child failed in line %d\n", line);
	/* The leak checker sees what only the parent's stacks point to. */
	if (n % 2 && TEST_SLOWER == 1)
		exit(line != 0);
	_exit(line != 0);
}

static void busy(void)
{
	pthread_t threads[3];

	atomic_store(&over, false);
	pool = stress_workers(3);
	pthread_create(&threads[0], NULL, keep_busy, NULL);
	pthread_create(&threads[1], NULL, keep_busy, NULL);
	pthread_create(&threads[2], NULL, come_and_go, NULL);
	for (unsigned n = 0; n < stress_rounds(400); n++) {
		uint64_t begin = os_clock_ns();
		pid_t pid = fork();
		int status;

		check(pid >= 0);
		if (pid == 0)
			child_main(n);
		check(waitpid(pid, &status, 0) == pid);
		check_msg(status == 0, "child %u: %#x", n, (unsigned)status);
		check_msg(os_clock_ns() - begin <
				  2 * NS_PER_SECOND * TEST_SLOWER,
			  "child %u took too long", n);
		sleep_ns(random_below(&stress_random, MS));
	}
	atomic_store(&over, true);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	check(wsrt_pool_destroy(pool) == 0);
	check(atomic_load(&submitted) == atomic_load(&ran));
}

static uint64_t time_a_fork(void)
{
	uint64_t begin = os_clock_ns(), took;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	took = os_clock_ns() - begin;
	check(waitpid(pid, NULL, 0) == pid);
	return took;
}

static void often(void)
{
	uint64_t best = UINT64_MAX;

	for (unsigned n = 0; n < stress_rounds(4000); n++)
		check(wsrt_pool_destroy(stress_workers(1)) == 0);
	for (unsigned n = 0; n < 20; n++) {
		uint64_t took = time_a_fork();

		best = took < best ? took : best;
	}
	if (TEST_SLOWER == 1)
		check_msg(best < 10 * MS, "fork took %.1f ms",
			  (double)best / 1e6);
}

int main(void)
{
	stress_begin();
	stress_next("busy");
	busy();
	stress_next("often");
	often();
	stress_next("end");
	return 0;
}
