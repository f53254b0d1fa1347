/* SPDX-License-Identifier: MIT */
/*
 * A pool's life: what a config may say, that tasks run once or are told why
 * not, shutting down in every way, hooks, counters, and fork(). Which task runs
 * when and where is in test_sched_order.c.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "os/rcu.h"
#include "support.h"

/* What the next pool created from the environment would be. */
static int create(const struct wsrt_pool_config *config, uint32_t *ret_workers)
{
	struct wsrt_pool *pool = NULL;
	int error = wsrt_pool_create(config, &pool);

	if (error) {
		ck_assert_ptr_null(pool);
		return error;
	}
	*ret_workers = wsrt_pool_worker_count(pool);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	return 0;
}

static int create_with(struct wsrt_pool_config config)
{
	uint32_t workers;

	config.size = sizeof config;
	return create(&config, &workers);
}

START_TEST(default_pool_has_the_workers_that_suit)
{
	struct wsrt_topology *topology;
	uint32_t workers;

	unsetenv("WSRT_WORKERS");
	ck_assert_int_eq(wsrt_topology_read(&topology), 0);
	ck_assert_int_eq(create(NULL, &workers), 0);
	ck_assert_uint_eq(workers, wsrt_topology_worker_count(topology));
	wsrt_topology_destroy(topology);
}
END_TEST

/* B51 */
START_TEST(values_out_of_range_are_refused)
{
	struct wsrt_pool_config configs[] = {
		{.worker_count = WSRT_WORKERS_MAX + 1},
		{.worker_count = INT_MAX},
		{.worker_count = UINT32_MAX},
		{.spin_ns = 1000000001},
		{.stack_bytes = 1},
		{.stack_bytes = SIZE_MAX},
		{.on_full = (enum wsrt_full)2},
		{.order = (enum wsrt_order)2},
		{.pin = (enum wsrt_pin)3},
		{.on_full = (enum wsrt_full) - 1},
	};

	for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
		ck_assert_msg(create_with(configs[i]) == -EINVAL, "config %zu",
			      i);
	ck_assert_int_eq(wsrt_pool_create(NULL, NULL), -EINVAL);
}
END_TEST

START_TEST(config_of_another_release_is_understood)
{
	struct {
		struct wsrt_pool_config config;
		uint64_t later[2];
	} newer = {.config = {.size = sizeof newer, .worker_count = 3}};
	struct wsrt_pool_config config = {.size = sizeof config - 8};
	uint32_t workers;

	ck_assert_int_eq(create(&newer.config, &workers), 0);
	ck_assert_uint_eq(workers, 3);
	newer.later[1] = 1;
	ck_assert_int_eq(create(&newer.config, &workers), -E2BIG);
	ck_assert_int_eq(create(&config, &workers), -EINVAL);
	config.size = 0;
	ck_assert_int_eq(create(&config, &workers), -EINVAL);
	config.size = 12345678;
	ck_assert_int_eq(create(&config, &workers), -EINVAL);
}
END_TEST

/* B51 */
START_TEST(worker_count_from_the_environment)
{
	const char *wrong[] = {"0",
			       "-3",
			       "abc",
			       "99999999999",
			       "4097",
			       "1.5",
			       "2x",
			       " ",
			       "0x2",
			       "18446744073709551617",
			       "-18446744073709551614"};
	struct wsrt_pool_config config = {.size = sizeof config,
					  .worker_count = 2};
	uint32_t workers, chosen;

	unsetenv("WSRT_WORKERS");
	ck_assert_int_eq(create(NULL, &chosen), 0);
	setenv("WSRT_WORKERS", "", 1);
	ck_assert_int_eq(create(NULL, &workers), 0);
	ck_assert_uint_eq(workers, chosen);
	setenv("WSRT_WORKERS", "5", 1);
	ck_assert_int_eq(create(NULL, &workers), 0);
	ck_assert_uint_eq(workers, 5);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		setenv("WSRT_WORKERS", wrong[i], 1);
		ck_assert_msg(create(NULL, &workers) == -EINVAL, "\"%s\"",
			      wrong[i]);
	}
	/* Not asked when the program says. */
	ck_assert_int_eq(create(&config, &workers), 0);
	ck_assert_uint_eq(workers, 2);
}
END_TEST

START_TEST(topology_that_does_not_parse_is_refused)
{
	uint32_t workers;

	setenv("WSRT_TOPOLOGY", "node:two", 1);
	ck_assert_int_eq(create(NULL, &workers), -EINVAL);
	unsetenv("WSRT_WORKERS");
	setenv("WSRT_TOPOLOGY", "node:2 core:3", 1);
	ck_assert_int_eq(create(NULL, &workers), 0);
	ck_assert_uint_eq(workers, 6);
}
END_TEST

static void submit_all(struct wsrt_pool *pool, struct counted *tasks,
		       unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ck_assert_int_eq(wsrt_pool_submit(pool, &tasks[i].task, NULL),
				 0);
}

static void expect_all(const struct counted *tasks, unsigned count, int status)
{
	for (unsigned i = 0; i < count; i++) {
		ck_assert_uint_eq(atomic_load(&tasks[i].ran), 1);
		ck_assert_int_eq(atomic_load(&tasks[i].status), status);
	}
}

static int shut(struct wsrt_pool *pool, enum wsrt_shutdown mode)
{
	return wsrt_pool_shutdown(pool, mode, NULL);
}

/* B57 */
START_TEST(hundreds_of_workers_on_few_cpus)
{
	static struct counted tasks[2000];
	struct wsrt_pool *pool = pool_of(300);

	counted_init(tasks, 2000, NULL);
	submit_all(pool, tasks, 2000);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	expect_all(tasks, 2000, 0);
}
END_TEST

START_TEST(bad_arguments_are_told)
{
	struct wsrt_pool *pool = pool_of(1);
	struct counted counted;
	struct wsrt_task none = {0};
	struct wsrt_task *tasks[2] = {&counted.task, NULL};
	struct wsrt_task *odd = (void *)((char *)&counted.task + 1);
	struct wsrt_submit_options options = {.size = sizeof options};
	struct timespec wrong[] = {{-1, 0}, {0, -1}, {0, 1000000000}};

	counted_init(&counted, 1, NULL);
	ck_assert_int_eq(wsrt_pool_submit(NULL, &counted.task, NULL), -EINVAL);
	ck_assert_int_eq(wsrt_pool_submit(pool, NULL, NULL), -EINVAL);
	ck_assert_int_eq(wsrt_pool_submit(pool, &none, NULL), -EINVAL);
	if (TEST_SLOWER == 1) /* UBSan does not like the look of it */
		ck_assert_int_eq(wsrt_pool_submit(pool, odd, NULL), -EINVAL);
	options.priority = (enum wsrt_priority)3;
	ck_assert_int_eq(wsrt_pool_submit(pool, &counted.task, &options),
			 -EINVAL);
	options = (struct wsrt_submit_options){.size = 8};
	ck_assert_int_eq(wsrt_pool_submit(pool, &counted.task, &options),
			 -EINVAL);

	ck_assert_int_eq(wsrt_pool_submit_batch(NULL, tasks, 1, NULL), -EINVAL);
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, NULL, 1, NULL), -EINVAL);
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, NULL, 0, NULL), 0);
	/* One that is wrong, and none is taken. */
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, tasks, 2, NULL), -EINVAL);
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, tasks, SIZE_MAX, NULL),
			 -EINVAL);

	ck_assert_int_eq(shut(NULL, WSRT_SHUTDOWN_DRAIN), -EINVAL);
	ck_assert_int_eq(shut(pool, (enum wsrt_shutdown)2), -EINVAL);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_int_eq(wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN,
						    &wrong[i]),
				 -EINVAL);
	ck_assert_int_eq(wsrt_pool_destroy(NULL), 0);
	ck_assert_uint_eq(wsrt_pool_worker_count(NULL), 0);
	ck_assert_ptr_null(wsrt_pool_current());

	/* None of it did any harm. */
	ck_assert_int_eq(wsrt_pool_submit(pool, &counted.task, NULL), 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&counted.ran), 1);
}
END_TEST

START_TEST(destroy_drains)
{
	static struct counted tasks[10000];
	struct wsrt_pool *pool = pool_of(4);

	counted_init(tasks, 10000, NULL);
	submit_all(pool, tasks, 10000);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	expect_all(tasks, 10000, 0);
}
END_TEST

START_TEST(idle_pool_runs_what_comes_late)
{
	static struct counted tasks[20];
	_Atomic unsigned total = 0;
	struct wsrt_pool *pool = pool_of(3);

	counted_init(tasks, 20, &total);
	for (unsigned i = 0; i < 20; i++) {
		sleep_ns(5 * MS); /* all asleep */
		submit_all(pool, tasks + i, 1);
		ck_assert(await(&total, i + 1));
	}
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

START_TEST(drain_runs_what_is_queued)
{
	static struct counted tasks[500];
	struct wsrt_pool *pool = pool_of(1);
	struct gate gate;

	counted_init(tasks, 500, NULL);
	gate_close(&gate, pool);
	submit_all(pool, tasks, 500);
	gate_open(&gate);
	ck_assert_int_eq(shut(pool, WSRT_SHUTDOWN_DRAIN), 0);
	expect_all(tasks, 500, 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

static struct wsrt_pool *the_pool;

/* A thread that shuts the_pool down. */
static void *shut_draining(void *ret_error)
{
	*(int *)ret_error = shut(the_pool, WSRT_SHUTDOWN_DRAIN);
	return NULL;
}

static void *shut_cancelling(void *ret_error)
{
	*(int *)ret_error = shut(the_pool, WSRT_SHUTDOWN_CANCEL);
	return NULL;
}

/* Until it takes no more: shutting down has begun. */
static bool await_closed(struct wsrt_pool *pool)
{
	static struct counted probes[1000];

	counted_init(probes, 1000, NULL);
	for (unsigned i = 0; i < 1000; i++) {
		if (wsrt_pool_submit(pool, &probes[i].task, NULL))
			return true;
		sleep_ns(MS);
	}
	return false;
}

START_TEST(cancel_tells_what_is_queued)
{
	static struct counted tasks[500];
	struct gate gate;
	pthread_t thread;
	int error = 1;

	the_pool = pool_of(1);
	counted_init(tasks, 500, NULL);
	gate_close(&gate, the_pool);
	submit_all(the_pool, tasks, 500);
	pthread_create(&thread, NULL, shut_cancelling, &error);
	ck_assert(await_closed(the_pool));
	gate_open(&gate);
	pthread_join(thread, NULL);
	ck_assert_int_eq(error, 0);
	expect_all(tasks, 500, -ECANCELED);

	struct wsrt_stats stats = stats_of(the_pool);

	ck_assert_uint_eq(stats.executed, stats.submitted);
	ck_assert_uint_ge(stats.cancelled, 500);
	ck_assert_uint_lt(stats.cancelled, stats.executed);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
}
END_TEST

START_TEST(drain_can_turn_into_cancel)
{
	static struct counted tasks[100];
	struct timespec soon = deadline_in(20 * MS);
	struct gate gate;
	pthread_t thread;
	int error = 1;

	the_pool = pool_of(1);
	counted_init(tasks, 100, NULL);
	gate_close(&gate, the_pool);
	submit_all(the_pool, tasks, 100);
	pthread_create(&thread, NULL, shut_draining, &error);
	ck_assert(await_closed(the_pool));
	ck_assert_int_eq(
		wsrt_pool_shutdown(the_pool, WSRT_SHUTDOWN_CANCEL, &soon),
		-ETIMEDOUT);
	gate_open(&gate);
	pthread_join(thread, NULL);
	ck_assert_int_eq(error, 0);
	expect_all(tasks, 100, -ECANCELED);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
}
END_TEST

/* A tree of tasks, each submitted by its parent. */
static _Atomic unsigned tree_ran;
static _Atomic int tree_error;

struct tree {
	struct wsrt_task task;
	unsigned depth;
};

static void tree_submit(unsigned depth);

static void tree_run(struct wsrt_task *task, int status)
{
	struct tree *tree = wsrt_container_of(task, struct tree, task);
	unsigned depth = tree->depth;

	(void)status;
	free(tree);
	atomic_fetch_add(&tree_ran, 1);
	if (depth == 0)
		return;
	tree_submit(depth - 1);
	tree_submit(depth - 1);
}

static void tree_submit(unsigned depth)
{
	static const enum wsrt_priority priorities[] = {
		WSRT_PRIORITY_NORMAL, WSRT_PRIORITY_NORMAL, WSRT_PRIORITY_HIGH,
		WSRT_PRIORITY_BACKGROUND};
	struct wsrt_submit_options options = {
		.size = sizeof options,
		.priority = priorities[depth % 4],
	};
	struct tree *tree = malloc(sizeof *tree);

	must(tree);
	*tree = (struct tree){{.run = tree_run}, depth};
	/* Read at random, but never run if it fails. */
	if (wsrt_pool_submit(wsrt_pool_current() ? wsrt_pool_current()
						 : the_pool,
			     &tree->task, &options)) {
		free(tree);
		atomic_store(&tree_error, 1);
	}
}

/* B44: what running tasks submit while the pool drains runs too */
START_TEST(drain_runs_what_tasks_submit_meanwhile)
{
	for (unsigned round = 0; round < 20; round++) {
		the_pool = pool_of(1 + round % 4);
		atomic_store(&tree_ran, 0);
		for (unsigned i = 0; i < 4; i++)
			tree_submit(9);
		sleep_ns(round * MS / 20);
		ck_assert_int_eq(shut(the_pool, round % 2
							? WSRT_SHUTDOWN_CANCEL
							: WSRT_SHUTDOWN_DRAIN),
				 0);
		ck_assert_uint_eq(atomic_load(&tree_ran), 4 * 1023);
		ck_assert_uint_eq(stats_of(the_pool).executed, 4 * 1023);
		ck_assert_uint_eq(stats_of(the_pool).submitted, 4 * 1023);
		ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
		ck_assert_int_eq(atomic_load(&tree_error), 0);
	}
}
END_TEST

START_TEST(submit_after_shutdown_is_refused)
{
	struct wsrt_pool *pool = pool_of(2);
	struct counted counted;
	struct wsrt_task *batch[1] = {&counted.task};

	counted_init(&counted, 1, NULL);
	ck_assert_int_eq(shut(pool, WSRT_SHUTDOWN_DRAIN), 0);
	for (int p = 0; p < 3; p++) {
		struct wsrt_submit_options options = {
			.size = sizeof options,
			.priority = (enum wsrt_priority)p,
		};

		ck_assert_int_eq(
			wsrt_pool_submit(pool, &counted.task, &options),
			-ESHUTDOWN);
		ck_assert_int_eq(
			wsrt_pool_submit_batch(pool, batch, 1, &options),
			-ESHUTDOWN);
	}
	ck_assert_int_eq(shut(pool, WSRT_SHUTDOWN_DRAIN), 0);
	ck_assert_int_eq(shut(pool, WSRT_SHUTDOWN_CANCEL), 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&counted.ran), 0);
}
END_TEST

START_TEST(shutdown_by_many_threads_at_once)
{
	for (unsigned round = 0; round < 50 / TEST_SLOWER; round++) {
		pthread_t threads[4];
		int errors[4] = {1, 1, 1, 1};
		static struct counted tasks[200];

		the_pool = pool_of(3);
		counted_init(tasks, 200, NULL);
		submit_all(the_pool, tasks, 200);
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, shut_draining,
				       &errors[i]);
		for (int i = 0; i < 4; i++) {
			pthread_join(threads[i], NULL);
			ck_assert_int_eq(errors[i], 0);
		}
		expect_all(tasks, 200, 0);
		ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
	}
}
END_TEST

static int self_errors[3];

static void end_own_pool(struct wsrt_task *task, int status)
{
	struct counted *counted = wsrt_container_of(task, struct counted, task);
	struct wsrt_pool *pool = wsrt_pool_current();

	self_errors[0] = shut(pool, WSRT_SHUTDOWN_DRAIN);
	self_errors[1] = shut(pool, WSRT_SHUTDOWN_CANCEL);
	self_errors[2] = wsrt_pool_destroy(pool);
	counted_run(&counted->task, status);
}

/* B46 */
START_TEST(shutdown_inside_a_task_is_refused)
{
	struct wsrt_pool *pool = pool_of(2);
	_Atomic unsigned total = 0;
	struct counted tasks[2];

	counted_init(tasks, 2, &total);
	tasks[0].task.run = end_own_pool;
	submit_all(pool, tasks, 1);
	ck_assert(await(&total, 1));
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(self_errors[i], -EDEADLK);
	/* Nothing changed: it takes tasks and runs them as tasks to be run. */
	submit_all(pool, tasks + 1, 1);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	expect_all(tasks, 2, 0);
}
END_TEST

static void end_the_pool(struct wsrt_task *task, int status)
{
	self_errors[0] = wsrt_pool_destroy(the_pool);
	counted_run(task, status);
}

START_TEST(task_may_destroy_another_pool)
{
	struct wsrt_pool *pool = pool_of(1);
	struct counted counted;

	the_pool = pool_of(1);
	counted_init(&counted, 1, NULL);
	counted.task.run = end_the_pool;
	submit_all(pool, &counted, 1);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&counted.ran), 1);
	ck_assert_int_eq(self_errors[0], 0);
}
END_TEST

/* B79: and nothing changed */
START_TEST(destroy_in_a_read_section_is_refused)
{
	struct wsrt_pool *pool = pool_of(2);
	struct counted counted;

	counted_init(&counted, 1, NULL);
	rcu_read_begin();
	ck_assert_int_eq(wsrt_pool_destroy(pool), -EDEADLK);
	submit_all(pool, &counted, 1);
	rcu_read_end();
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	expect_all(&counted, 1, 0);
}
END_TEST

/* B78: none of these waits for a grace period, though memory is retired */
START_TEST(calls_in_a_read_section_do_not_wait_for_it)
{
	const unsigned count = 40000; /* blocks come and go */
	struct counted *tasks = calloc(count, sizeof *tasks);
	_Atomic unsigned total = 0;
	struct wsrt_pool *pool = pool_of(2), *other = NULL;

	ck_assert_ptr_nonnull(tasks);
	rcu_read_begin();
	/* Refused, for it may have to when it fails. */
	ck_assert_int_eq(wsrt_pool_create(NULL, &other), -EDEADLK);
	ck_assert_ptr_null(other);
	counted_init(tasks, count, &total);
	submit_all(pool, tasks, count);
	ck_assert(await(&total, count));
	ck_assert_int_eq(shut(pool, WSRT_SHUTDOWN_DRAIN), 0);
	rcu_read_end();
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	free(tasks);
}
END_TEST

static struct wsrt_worker_info info_of(struct wsrt_pool *pool, uint32_t index)
{
	struct wsrt_worker_info info = {.size = sizeof info};

	ck_assert_int_eq(wsrt_pool_worker_info(pool, index, &info), 0);
	return info;
}

/* B43 */
START_TEST(shutdown_past_its_deadline_names_the_stuck_task)
{
	struct wsrt_pool *pool = pool_of(2);
	struct timespec soon, past = deadline_in(0);
	struct counted counted;
	struct gate gate;
	unsigned found = 0;
	uint64_t begin;

	counted_init(&counted, 1, NULL);
	gate_close(&gate, pool);
	begin = os_clock_ns();
	soon = deadline_in(50 * MS);
	ck_assert_int_eq(wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, &soon),
			 -ETIMEDOUT);
	ck_assert_uint_ge(os_clock_ns() - begin, 50 * MS);
	ck_assert_int_eq(wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, &past),
			 -ETIMEDOUT);
	for (unsigned i = 0; i < 2; i++)
		found += info_of(pool, i).running == &gate.task;
	ck_assert_uint_eq(found, 1);
	/* It goes on shutting down. */
	ck_assert_int_eq(wsrt_pool_submit(pool, &counted.task, NULL),
			 -ESHUTDOWN);
	gate_open(&gate);
	ck_assert_int_eq(shut(pool, WSRT_SHUTDOWN_DRAIN), 0);
	ck_assert_uint_eq(atomic_load(&gate.left), 1);
	/* Done before, so in time. */
	ck_assert_int_eq(wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, &past),
			 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

START_TEST(idle_worker_runs_no_task)
{
	struct wsrt_pool *pool = pool_with((struct wsrt_pool_config){
		.worker_count = 2,
		.spin_ns = 1000000000, /* it searches for long after */
	});
	_Atomic unsigned total = 0;
	struct counted counted;

	counted_init(&counted, 1, &total);
	submit_all(pool, &counted, 1);
	ck_assert(await(&total, 1));
	sleep_ns(20 * MS);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_ptr_null(info_of(pool, i).running);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

static void resubmit(struct wsrt_task *task, int status)
{
	struct counted *counted = wsrt_container_of(task, struct counted, task);

	counted_run(task, status);
	if (atomic_load(&counted->ran) < 1000)
		must(wsrt_pool_submit(wsrt_pool_current(), task, NULL) == 0);
}

START_TEST(task_may_submit_itself_again)
{
	struct wsrt_pool *pool = pool_of(2);
	struct counted counted;

	counted_init(&counted, 1, NULL);
	counted.task.run = resubmit;
	submit_all(pool, &counted, 1);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&counted.ran), 1000);
}
END_TEST

/* What a thread submits to the pool of another worker goes in from outside. */
static void submit_to_the_pool(struct wsrt_task *task, int status)
{
	static struct counted other;

	counted_init(&other, 1, NULL);
	self_errors[0] = wsrt_pool_submit(the_pool, &other.task, NULL);
	counted_run(task, status);
}

START_TEST(task_may_submit_to_another_pool)
{
	struct wsrt_pool *pool = pool_of(1);
	struct counted counted;

	the_pool = pool_of(1);
	counted_init(&counted, 1, NULL);
	counted.task.run = submit_to_the_pool;
	submit_all(pool, &counted, 1);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_int_eq(self_errors[0], 0);
	ck_assert_int_eq(shut(the_pool, WSRT_SHUTDOWN_DRAIN), 0);
	ck_assert_uint_eq(stats_of(the_pool).executed, 1);
	ck_assert_uint_eq(stats_of(the_pool).injected, 1);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
}
END_TEST

#define HOOKED 4u

static struct hooks {
	_Atomic unsigned started, stopped, ran, early, late, alien;
	_Atomic unsigned starts[HOOKED], stops[HOOKED];
	pthread_t threads[HOOKED];
	_Atomic int stop_error;
	struct counted last;
} hooks;

static _Thread_local unsigned hook_index;
static _Thread_local bool hook_started, hook_stopped;

static void start_hook(void *argument, uint32_t index)
{
	must(argument == &hooks && index < HOOKED);
	hook_index = index;
	hook_started = true;
	hooks.threads[index] = pthread_self();
	atomic_fetch_add(&hooks.starts[index], 1);
	atomic_fetch_add(&hooks.started, 1);
}

static void stop_hook(void *argument, uint32_t index)
{
	must(argument == &hooks && index == hook_index);
	if (!pthread_equal(hooks.threads[index], pthread_self()))
		atomic_fetch_add(&hooks.alien, 1);
	hook_stopped = true;
	atomic_fetch_add(&hooks.stops[index], 1);
	atomic_fetch_add(&hooks.stopped, 1);
}

static void hooked_run(struct wsrt_task *task, int status)
{
	if (!hook_started)
		atomic_fetch_add(&hooks.early, 1);
	if (hook_stopped)
		atomic_fetch_add(&hooks.late, 1);
	atomic_fetch_add(&hooks.ran, 1);
	counted_run(task, status);
}

static struct wsrt_pool_config hooked(void (*stop)(void *, uint32_t))
{
	return (struct wsrt_pool_config){
		.worker_count = HOOKED,
		.worker_start = start_hook,
		.worker_stop = stop,
		.hook_arg = &hooks,
	};
}

START_TEST(hooks_frame_all_tasks)
{
	static struct counted tasks[1000];
	struct wsrt_pool *pool = pool_with(hooked(stop_hook));

	counted_init(tasks, 1000, NULL);
	for (unsigned i = 0; i < 1000; i++)
		tasks[i].task.run = hooked_run;
	submit_all(pool, tasks, 1000);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	for (unsigned i = 0; i < HOOKED; i++) {
		ck_assert_uint_eq(atomic_load(&hooks.starts[i]), 1);
		ck_assert_uint_eq(atomic_load(&hooks.stops[i]), 1);
	}
	ck_assert_uint_eq(atomic_load(&hooks.ran), 1000);
	ck_assert_uint_eq(atomic_load(&hooks.early), 0);
	ck_assert_uint_eq(atomic_load(&hooks.late), 0);
	ck_assert_uint_eq(atomic_load(&hooks.alien), 0);
}
END_TEST

static void submitting_stop_hook(void *argument, uint32_t index)
{
	(void)argument;
	(void)index;
	atomic_store(&hooks.stop_error,
		     wsrt_pool_submit(the_pool, &hooks.last.task, NULL));
}

/* No task is lost: taken, it must run; else it must be refused. */
START_TEST(submit_in_a_stop_hook_is_not_lost)
{
	struct wsrt_pool_config config = hooked(submitting_stop_hook);

	counted_init(&hooks.last, 1, NULL);
	config.worker_count = 1; /* nobody else takes it */
	the_pool = pool_with(config);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
	ck_assert_uint_eq(atomic_load(&hooks.last.ran),
			  atomic_load(&hooks.stop_error) == 0);
}
END_TEST

static char seen_name[32];
static sigset_t seen_mask;
static size_t seen_stack;
static int seen_cpus;
static struct wsrt_pool *seen_pool;

static void look_around(struct wsrt_task *task, int status)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;

	seen_pool = wsrt_pool_current();
	pthread_getname_np(pthread_self(), seen_name, sizeof seen_name);
	pthread_sigmask(SIG_SETMASK, NULL, &seen_mask);
	must(pthread_getattr_np(pthread_self(), &attributes) == 0);
	pthread_attr_getstacksize(&attributes, &seen_stack);
	pthread_attr_destroy(&attributes);
	must(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
	seen_cpus = CPU_COUNT(&cpus);
	counted_run(task, status);
}

static uint64_t look_around_in(struct wsrt_pool_config config)
{
	struct wsrt_pool *pool;
	struct counted counted;
	uint64_t failures;

	counted_init(&counted, 1, NULL);
	counted.task.run = look_around;
	pool = pool_with(config);
	submit_all(pool, &counted, 1);
	ck_assert_int_eq(shut(pool, WSRT_SHUTDOWN_DRAIN), 0);
	failures = stats_of(pool).pin_failures;
	ck_assert_ptr_eq(seen_pool, pool);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	return failures;
}

/* B17, B30, B94 */
START_TEST(workers_are_set_up_as_promised)
{
	char before[16], after[16];

	pthread_getname_np(pthread_self(), before, sizeof before);
	look_around_in((struct wsrt_pool_config){.worker_count = 1});
	ck_assert_str_eq(seen_name, "wsrt-0");
	ck_assert(sigismember(&seen_mask, SIGTERM));
	ck_assert(sigismember(&seen_mask, SIGUSR1));
	ck_assert(!sigismember(&seen_mask, SIGSEGV));
	ck_assert(!sigismember(&seen_mask, SIGPROF));
	ck_assert_uint_ge(seen_stack, 1 << 20);

	look_around_in((struct wsrt_pool_config){
		.worker_count = 1,
		.name = "ein-viel-zu-länger-als-der-Kern-erlaubt",
		.stack_bytes = 3 << 20,
	});
	ck_assert_str_eq(seen_name, "ein-viel-zu-l-0");
	ck_assert_uint_ge(seen_stack, 3 << 20);
	pthread_getname_np(pthread_self(), after, sizeof after);
	ck_assert_str_eq(before, after);

	/* 13 bytes would end in the midst of a character. */
	look_around_in((struct wsrt_pool_config){.worker_count = 1,
						 .name = "zwölf-bytes-ü"});
	ck_assert_str_eq(seen_name, "zwölf-bytes--0");
}
END_TEST

START_TEST(pins_that_fail_are_counted)
{
	ck_assert_uint_eq(look_around_in((struct wsrt_pool_config){
				  .worker_count = 1, .pin = WSRT_PIN_CORE}),
			  0);
	ck_assert_int_eq(seen_cpus, 1);
	ck_assert_uint_eq(look_around_in((struct wsrt_pool_config){
				  .worker_count = 1, .pin = WSRT_PIN_NODE}),
			  0);
	/* A made-up machine has no CPUs to pin to. */
	setenv("WSRT_TOPOLOGY", "node:2 core:2", 1);
	ck_assert_uint_eq(look_around_in((struct wsrt_pool_config){
				  .worker_count = 3, .pin = WSRT_PIN_CORE}),
			  3);
	ck_assert_uint_eq(
		look_around_in((struct wsrt_pool_config){.worker_count = 3}),
		0);
}
END_TEST

static void add(struct wsrt_stats *sum, const struct wsrt_stats *stats)
{
	sum->submitted += stats->submitted;
	sum->executed += stats->executed;
	sum->cancelled += stats->cancelled;
	sum->injected += stats->injected;
	for (int i = 0; i < WSRT_TIER_COUNT; i++) {
		sum->steals[i] += stats->steals[i];
		sum->stolen_tasks[i] += stats->stolen_tasks[i];
	}
	sum->searches += stats->searches;
	sum->parks += stats->parks;
	sum->wakes += stats->wakes;
}

START_TEST(stats_add_up)
{
	static struct counted tasks[3000];
	struct wsrt_stats sum = {0}, all;

	the_pool = pool_of(4);
	counted_init(tasks, 3000, NULL);
	submit_all(the_pool, tasks, 3000);
	tree_submit(9);
	ck_assert_int_eq(shut(the_pool, WSRT_SHUTDOWN_DRAIN), 0);
	all = stats_of(the_pool);
	ck_assert_uint_eq(all.submitted, 3000 + 1023);
	ck_assert_uint_eq(all.executed, 3000 + 1023);
	ck_assert_uint_eq(all.cancelled, 0);
	ck_assert_uint_ge(all.injected, 3000);
	ck_assert_uint_le(all.wakes, all.parks);
	for (int i = 0; i < WSRT_TIER_COUNT; i++)
		ck_assert_uint_le(all.steals[i], all.stolen_tasks[i]);
	for (uint32_t i = 0; i < 4; i++) {
		struct wsrt_stats one = {.size = sizeof one};

		ck_assert_int_eq(wsrt_pool_worker_stats(the_pool, i, &one), 0);
		add(&sum, &one);
	}
	ck_assert_uint_eq(sum.executed, all.executed);
	ck_assert_uint_eq(sum.injected, all.injected);
	ck_assert_uint_eq(sum.parks, all.parks);
	ck_assert_uint_eq(sum.wakes, all.wakes);
	ck_assert_uint_eq(sum.steals[0], all.steals[0]);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
}
END_TEST

START_TEST(stats_check_their_arguments)
{
	struct wsrt_pool *pool = pool_of(2);
	struct wsrt_stats stats = {.size = sizeof stats};
	struct wsrt_worker_info info = {.size = sizeof info};
	struct {
		struct wsrt_stats stats;
		uint64_t later;
	} newer = {{.size = sizeof newer}, 1};

	ck_assert_int_eq(wsrt_pool_stats(NULL, &stats), -EINVAL);
	ck_assert_int_eq(wsrt_pool_stats(pool, NULL), -EINVAL);
	ck_assert_int_eq(wsrt_pool_stats(pool, &newer.stats), -E2BIG);
	ck_assert_int_eq(wsrt_pool_worker_stats(pool, 2, &stats), -EINVAL);
	ck_assert_int_eq(wsrt_pool_worker_stats(NULL, 0, &stats), -EINVAL);
	ck_assert_int_eq(wsrt_pool_worker_info(pool, 2, &info), -EINVAL);
	ck_assert_int_eq(wsrt_pool_worker_info(pool, UINT32_MAX, &info),
			 -EINVAL);
	ck_assert_int_eq(wsrt_pool_worker_info(pool, 0, NULL), -EINVAL);
	info.size = 1;
	ck_assert_int_eq(wsrt_pool_worker_info(pool, 0, &info), -EINVAL);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

/* In a child: what failed, by line; 0 when all is as it should be. */
#define child_must(condition)                                                  \
	do {                                                                   \
		if (!(condition))                                              \
			return __LINE__ % 255 + 1;                             \
	} while (0)

static int child_sees_dead_pool(struct wsrt_pool *pool)
{
	struct wsrt_stats stats = {.size = sizeof stats};
	struct wsrt_worker_info info = {.size = sizeof info};
	struct counted counted = {.task.run = counted_run};
	struct wsrt_task *batch[] = {&counted.task};
	struct wsrt_submit_options options = {.size = sizeof options,
					      .priority = WSRT_PRIORITY_HIGH};

	child_must(wsrt_pool_current() == NULL);
	child_must(wsrt_pool_submit(pool, &counted.task, NULL) == -EOWNERDEAD);
	child_must(wsrt_pool_submit(pool, &counted.task, &options) ==
		   -EOWNERDEAD);
	child_must(wsrt_pool_submit_batch(pool, batch, 1, NULL) == -EOWNERDEAD);
	child_must(shut(pool, WSRT_SHUTDOWN_DRAIN) == -EOWNERDEAD);
	child_must(wsrt_pool_stats(pool, &stats) == -EOWNERDEAD);
	child_must(wsrt_pool_worker_stats(pool, 0, &stats) == -EOWNERDEAD);
	child_must(wsrt_pool_worker_info(pool, 0, &info) == -EOWNERDEAD);
	return 0;
}

static int child_uses_new_pool(void)
{
	struct wsrt_pool_config config = {.size = sizeof config,
					  .worker_count = 2};
	static struct counted tasks[100];
	struct wsrt_pool *pool;

	counted_init(tasks, 100, NULL);
	child_must(wsrt_pool_create(&config, &pool) == 0);
	for (int i = 0; i < 100; i++)
		child_must(wsrt_pool_submit(pool, &tasks[i].task, NULL) == 0);
	child_must(wsrt_pool_destroy(pool) == 0);
	for (int i = 0; i < 100; i++)
		child_must(atomic_load(&tasks[i].ran) == 1);
	return 0;
}

static int child_of(struct wsrt_pool *pool)
{
	int failed = child_sees_dead_pool(pool);

	if (failed)
		return failed;
	child_must(wsrt_pool_destroy(pool) == 0);
	/* Sanitizers do not keep their locks of threads across fork(). */
	return TEST_SLOWER > 1 ? 0 : child_uses_new_pool();
}

static void expect_child(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "child ended with %#x", (unsigned)status);
}

/* B39: the pool busy or not */
START_TEST(child_is_told_and_can_start_anew)
{
	static struct counted tasks[2000];
	struct wsrt_pool *pool = pool_of(3);

	counted_init(tasks, 2000, NULL);
	for (unsigned round = 0; round < 20; round++) {
		submit_all(pool, tasks + 100 * round, 100);

		pid_t pid = fork();

		if (pid == 0)
			_exit(child_of(pool));
		expect_child(pid);
	}
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	expect_all(tasks, 2000, 0);
}
END_TEST

START_TEST(child_of_a_pool_shut_down_is_told)
{
	struct wsrt_pool *pool = pool_of(2);
	pid_t pid;

	ck_assert_int_eq(shut(pool, WSRT_SHUTDOWN_DRAIN), 0);
	pid = fork();
	if (pid == 0)
		_exit(child_of(pool));
	expect_child(pid);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

static _Atomic int forked_status;

static void fork_inside(struct wsrt_task *task, int status)
{
	pid_t pid = fork();
	int child;

	if (pid == 0)
		_exit(child_of(the_pool));
	must(waitpid(pid, &child, 0) == pid);
	atomic_store(&forked_status, child);
	counted_run(task, status);
}

START_TEST(child_of_a_task_is_told_too)
{
	struct counted counted;

	the_pool = pool_of(2);
	counted_init(&counted, 1, NULL);
	counted.task.run = fork_inside;
	submit_all(the_pool, &counted, 1);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
	expect_all(&counted, 1, 0);
	ck_assert_int_eq(atomic_load(&forked_status), 0);
}
END_TEST

/* A producer asleep for want of room is not there in the child. */
START_TEST(child_of_a_full_pool_is_told)
{
	struct wsrt_pool *pool = pool_with((struct wsrt_pool_config){
		.worker_count = 1,
		.capacity = 1,
		.on_full = WSRT_FULL_BLOCK,
	});
	struct counted counted;
	struct gate gate;
	pid_t pid;

	counted_init(&counted, 1, NULL);
	gate_close(&gate, pool);
	submit_all(pool, &counted, 1);
	pid = fork();
	if (pid == 0)
		_exit(child_of(pool));
	expect_child(pid);
	gate_open(&gate);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	expect_all(&counted, 1, 0);
}
END_TEST

static void add_config_tests(TCase *tc)
{
	tcase_add_test(tc, default_pool_has_the_workers_that_suit);
	tcase_add_test(tc, values_out_of_range_are_refused);
	tcase_add_test(tc, config_of_another_release_is_understood);
	tcase_add_test(tc, worker_count_from_the_environment);
	tcase_add_test(tc, topology_that_does_not_parse_is_refused);
	tcase_add_test(tc, hundreds_of_workers_on_few_cpus);
	tcase_add_test(tc, bad_arguments_are_told);
	tcase_add_test(tc, hooks_frame_all_tasks);
	tcase_add_test(tc, submit_in_a_stop_hook_is_not_lost);
	tcase_add_test(tc, workers_are_set_up_as_promised);
	tcase_add_test(tc, pins_that_fail_are_counted);
	tcase_add_test(tc, stats_add_up);
	tcase_add_test(tc, stats_check_their_arguments);
}

static void add_life_tests(TCase *tc)
{
	tcase_add_test(tc, destroy_drains);
	tcase_add_test(tc, idle_pool_runs_what_comes_late);
	tcase_add_test(tc, drain_runs_what_is_queued);
	tcase_add_test(tc, cancel_tells_what_is_queued);
	tcase_add_test(tc, drain_can_turn_into_cancel);
	tcase_add_test(tc, drain_runs_what_tasks_submit_meanwhile);
	tcase_add_test(tc, submit_after_shutdown_is_refused);
	tcase_add_test(tc, shutdown_by_many_threads_at_once);
	tcase_add_test(tc, shutdown_inside_a_task_is_refused);
	tcase_add_test(tc, task_may_destroy_another_pool);
	tcase_add_test(tc, destroy_in_a_read_section_is_refused);
	tcase_add_test(tc, calls_in_a_read_section_do_not_wait_for_it);
	tcase_add_test(tc, shutdown_past_its_deadline_names_the_stuck_task);
	tcase_add_test(tc, idle_worker_runs_no_task);
	tcase_add_test(tc, task_may_submit_itself_again);
	tcase_add_test(tc, task_may_submit_to_another_pool);
}

int main(void)
{
	TCase *tc = tcase_create("sched");

	add_config_tests(tc);
	add_life_tests(tc);
	tcase_add_test(tc, child_is_told_and_can_start_anew);
	tcase_add_test(tc, child_of_a_pool_shut_down_is_told);
	tcase_add_test(tc, child_of_a_task_is_told_too);
	tcase_add_test(tc, child_of_a_full_pool_is_told);
	return run_suite("sched", tc);
}
