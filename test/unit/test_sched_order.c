/* SPDX-License-Identifier: MIT */
/*
 * Which task runs when, and where: capacity, order, priorities, batches, and
 * that a task waits for nothing but a free worker.
 */
#include <pthread.h>

#include "support.h"

#define FAIR 61u   /* "1 pick in 61" */
#define STRICT 28u /* so few that no pick is a fair one */

/* Tasks that write down their number, in the order in which they run. */
#define LOG_MAX 10000u

static unsigned order_log[LOG_MAX];
static _Atomic unsigned logged;

struct numbered {
	struct wsrt_task task;
	unsigned number;
};

static struct numbered numbered[LOG_MAX];

static void numbered_run(struct wsrt_task *task, int status)
{
	struct numbered *self = wsrt_container_of(task, struct numbered, task);

	(void)status;
	order_log[atomic_fetch_add(&logged, 1)] = self->number;
}

static struct wsrt_task *number(unsigned i)
{
	numbered[i] = (struct numbered){{.run = numbered_run}, i};
	return &numbered[i].task;
}

static int submit_with(struct wsrt_pool *pool, struct wsrt_task *task,
		       enum wsrt_priority priority)
{
	struct wsrt_submit_options options = {
		.size = sizeof options,
		.priority = priority,
	};

	return wsrt_pool_submit(pool, task, &options);
}

/* When a number ran: its place in the log. */
static unsigned place_of(unsigned wanted)
{
	for (unsigned i = 0; i < atomic_load(&logged); i++)
		if (order_log[i] == wanted)
			return i;
	ck_abort_msg("%u did not run", wanted);
	return 0;
}

static struct wsrt_pool *bounded(unsigned capacity, enum wsrt_full on_full)
{
	return pool_with((struct wsrt_pool_config){
		.worker_count = 1,
		.capacity = capacity,
		.on_full = on_full,
	});
}

START_TEST(full_pool_rejects)
{
	struct wsrt_pool *pool = bounded(4, WSRT_FULL_REJECT);
	struct wsrt_task *batch[10];
	struct gate gate;

	gate_close(&gate, pool);
	for (unsigned i = 0; i < 10; i++)
		batch[i] = number(i);
	ck_assert_int_eq(wsrt_pool_submit(pool, batch[0], NULL), 0);
	/* As many as fit, from the front. */
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, batch + 1, 9, NULL), 3);
	ck_assert_int_eq(wsrt_pool_submit(pool, batch[4], NULL), -EAGAIN);
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, batch + 4, 6, NULL),
			 -EAGAIN);
	/* Each priority has room of its own. */
	ck_assert_int_eq(submit_with(pool, batch[4], WSRT_PRIORITY_HIGH), 0);
	ck_assert_uint_eq(stats_of(pool).submitted, 6);
	gate_open(&gate);
	ck_assert(await(&logged, 5));
	ck_assert_int_eq(wsrt_pool_submit(pool, batch[5], NULL), 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&logged), 6);
}
END_TEST

static _Atomic int insider_error;

/* More than fits, by a worker: normal ones and such as go to the injector. */
static void submit_inside(struct wsrt_task *task, int status)
{
	struct wsrt_pool *pool = wsrt_pool_current();

	(void)task;
	(void)status;
	for (unsigned i = 100; i < 110; i++)
		if (wsrt_pool_submit(pool, number(i), NULL) ||
		    submit_with(pool, number(i + 10), WSRT_PRIORITY_HIGH))
			atomic_store(&insider_error, 1);
}

START_TEST(workers_are_never_rejected)
{
	struct wsrt_pool *pool = bounded(1, WSRT_FULL_BLOCK);
	struct wsrt_task task = {.run = submit_inside};

	ck_assert_int_eq(wsrt_pool_submit(pool, &task, NULL), 0);
	ck_assert(await(&logged, 20));
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_int_eq(atomic_load(&insider_error), 0);
}
END_TEST

static struct wsrt_pool *the_pool;
static _Atomic unsigned producers_done;
static _Atomic int producer_error;

static void *submit_two(void *first)
{
	unsigned i = (unsigned)(uintptr_t)first;

	for (unsigned n = i; n < i + 2; n++) {
		int error = wsrt_pool_submit(the_pool, number(n), NULL);

		if (error)
			atomic_store(&producer_error, error);
	}
	atomic_fetch_add(&producers_done, 1);
	return NULL;
}

static void start_producers(pthread_t *ret_threads, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		pthread_create(&ret_threads[i], NULL, submit_two,
			       (void *)(uintptr_t)(100 + 2 * i));
	sleep_ns(30 * MS);
	ck_assert_uint_eq(atomic_load(&producers_done), 0);
}

START_TEST(blocked_producers_are_woken_by_room)
{
	pthread_t threads[3];
	struct gate gate;

	the_pool = bounded(1, WSRT_FULL_BLOCK);
	gate_close(&gate, the_pool);
	ck_assert_int_eq(wsrt_pool_submit(the_pool, number(0), NULL), 0);
	start_producers(threads, 3);
	gate_open(&gate);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
	ck_assert_int_eq(atomic_load(&producer_error), 0);
	ck_assert_uint_eq(atomic_load(&logged), 7);
}
END_TEST

START_TEST(blocked_producers_are_woken_by_shutdown)
{
	struct timespec soon;
	pthread_t threads[3];
	struct gate gate;

	the_pool = bounded(1, WSRT_FULL_BLOCK);
	gate_close(&gate, the_pool);
	ck_assert_int_eq(wsrt_pool_submit(the_pool, number(0), NULL), 0);
	start_producers(threads, 3);
	soon = deadline_in(10 * MS);
	ck_assert_int_eq(
		wsrt_pool_shutdown(the_pool, WSRT_SHUTDOWN_DRAIN, &soon),
		-ETIMEDOUT);
	/* The task that holds everything up is still there. */
	ck_assert(await(&producers_done, 3));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(atomic_load(&producer_error), -ESHUTDOWN);
	gate_open(&gate);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
	ck_assert_uint_eq(atomic_load(&logged), 1);
}
END_TEST

START_TEST(blocked_batch_goes_in_bit_by_bit)
{
	struct wsrt_pool *pool = bounded(3, WSRT_FULL_BLOCK);
	struct wsrt_task *batch[1000];

	for (unsigned i = 0; i < 1000; i++)
		batch[i] = number(i);
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, batch, 1000, NULL), 1000);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&logged), 1000);
}
END_TEST

static unsigned own_count;

/* Submits tasks 0 .. own_count - 1 by a worker, singly. */
static void submit_own(struct wsrt_task *task, int status)
{
	(void)task;
	(void)status;
	for (unsigned i = 0; i < own_count; i++)
		must(wsrt_pool_submit(wsrt_pool_current(), number(i), NULL) ==
		     0);
}

static void submit_own_batch(struct wsrt_task *task, int status)
{
	static struct wsrt_task *batch[LOG_MAX];

	(void)task;
	(void)status;
	for (unsigned i = 0; i < own_count; i++)
		batch[i] = number(i);
	must(wsrt_pool_submit_batch(wsrt_pool_current(), batch, own_count,
				    NULL) == (ssize_t)own_count);
}

static void run_own(enum wsrt_order order, wsrt_task_fn *run, unsigned count)
{
	struct wsrt_pool *pool = pool_with((struct wsrt_pool_config){
		.worker_count = 1,
		.order = order,
	});
	struct wsrt_task task = {.run = run};

	own_count = count;
	ck_assert_int_eq(wsrt_pool_submit(pool, &task, NULL), 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&logged), count);
}

START_TEST(fifo_pool_runs_own_tasks_oldest_first)
{
	run_own(WSRT_ORDER_FIFO, _i ? submit_own : submit_own_batch, LOG_MAX);
	for (unsigned i = 0; i < LOG_MAX; i++)
		ck_assert_uint_eq(order_log[i], i);
}
END_TEST

START_TEST(lifo_pool_runs_own_tasks_newest_first)
{
	run_own(WSRT_ORDER_LIFO, _i ? submit_own : submit_own_batch, STRICT);
	for (unsigned i = 0; i < STRICT; i++)
		ck_assert_uint_eq(order_log[i], STRICT - 1 - i);
}
END_TEST

/* The old end of the deque gets one pick in two times FAIR. */
START_TEST(lifo_pool_looks_at_the_old_end_too)
{
	run_own(WSRT_ORDER_LIFO, submit_own, LOG_MAX);
	ck_assert_uint_le(place_of(0), 2 * FAIR);
	ck_assert_uint_le(place_of(1), 4 * FAIR);
}
END_TEST

START_TEST(tasks_from_outside_run_in_order)
{
	for (int order = 0; order < 2; order++) {
		struct wsrt_pool *pool = pool_with((struct wsrt_pool_config){
			.worker_count = 1,
			.order = (enum wsrt_order)order,
		});
		struct gate gate;

		atomic_store(&logged, 0);
		gate_close(&gate, pool);
		for (unsigned i = 0; i < STRICT; i++)
			ck_assert_int_eq(
				wsrt_pool_submit(pool, number(i), NULL), 0);
		gate_open(&gate);
		ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
		for (unsigned i = 0; i < STRICT; i++)
			ck_assert_uint_eq(order_log[i], i);
	}
}
END_TEST

/*
 * Work for one worker: @high and @background tasks beside @normal ones, all
 * there before it begins. Numbers: background from 0, high from 1000, normal
 * from 2000.
 */
static void run_mixed(unsigned background, unsigned high, unsigned normal)
{
	struct wsrt_pool *pool = pool_of(1);
	struct gate gate;

	gate_close(&gate, pool);
	for (unsigned i = 0; i < normal; i++)
		ck_assert_int_eq(wsrt_pool_submit(pool, number(2000 + i), NULL),
				 0);
	for (unsigned i = 0; i < high; i++)
		ck_assert_int_eq(
			submit_with(pool, number(1000 + i), WSRT_PRIORITY_HIGH),
			0);
	for (unsigned i = 0; i < background; i++)
		ck_assert_int_eq(
			submit_with(pool, number(i), WSRT_PRIORITY_BACKGROUND),
			0);
	gate_open(&gate);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&logged), background + high + normal);
}

/* How many of the first @places are background, high and normal. */
static void count_kinds(unsigned places, unsigned ret_counts[3])
{
	ret_counts[0] = ret_counts[1] = ret_counts[2] = 0;
	for (unsigned i = 0; i < places; i++)
		ret_counts[order_log[i] / 1000 > 2 ? 2 : order_log[i] / 1000]++;
}

START_TEST(high_goes_first)
{
	run_mixed(0, 20, 20);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_uint_eq(order_log[i], 1000 + i);
}
END_TEST

/* B69: at least 1 pick in 61, and no more, while there is other work */
START_TEST(background_gets_its_share)
{
	const unsigned shares = 20;
	unsigned counts[3];

	run_mixed(500, 0, 3000);
	for (unsigned i = 1; i <= shares; i++) {
		count_kinds(FAIR * i, counts);
		ck_assert_uint_ge(counts[0], i);
		ck_assert_uint_le(counts[0], i + 1);
	}
}
END_TEST

START_TEST(background_gets_its_share_beside_high)
{
	unsigned counts[3];

	run_mixed(500, 900, 0);
	count_kinds(FAIR * 10, counts);
	ck_assert_uint_ge(counts[0], 10);
	ck_assert_uint_le(counts[0], 11);
}
END_TEST

START_TEST(normal_is_not_starved_by_high)
{
	unsigned counts[3];

	run_mixed(0, 900, 900);
	count_kinds(FAIR * 10, counts);
	ck_assert_uint_ge(counts[2], 10);
	ck_assert_uint_le(counts[2], 21); /* background left its turns */
}
END_TEST

/* "Higher first", and nothing starves: not what is in the middle either. */
START_TEST(normal_is_not_starved_by_both)
{
	unsigned counts[3];

	run_mixed(500, 900, 900);
	count_kinds(FAIR * 14, counts);
	ck_assert_uint_ge(counts[0], 14);
	ck_assert_uint_ge(counts[2], 3);
}
END_TEST

/* B66: two tasks that wake each other for ever, or one that wakes itself */
static _Atomic unsigned handoffs;
static _Atomic bool playing;

struct player {
	struct wsrt_task task;
	struct player *other;
};

static void play(struct wsrt_task *task, int status)
{
	struct player *self = wsrt_container_of(task, struct player, task);

	(void)status;
	atomic_fetch_add(&handoffs, 1);
	if (atomic_load(&playing))
		must(wsrt_pool_submit(the_pool, &self->other->task, NULL) == 0);
}

static struct {
	struct wsrt_task task;
	_Atomic unsigned at, ran;
} late;

static void late_run(struct wsrt_task *task, int status)
{
	(void)task;
	(void)status;
	atomic_store(&late.at, atomic_load(&handoffs));
	atomic_store(&late.ran, 1);
}

static void expect_late_within(unsigned limit)
{
	late.task.run = late_run;
	ck_assert_int_eq(wsrt_pool_submit(the_pool, &late.task, NULL), 0);

	unsigned after = atomic_load(&handoffs); /* it is in by now */

	ck_assert(await(&late.ran, 1));
	/* And one or two that were picked before it could be seen. */
	ck_assert_uint_le(atomic_load(&late.at), after + limit + 2);
}

/* Keeps the background shard full for as long as the game goes on. */
static void refill(struct wsrt_task *task, int status)
{
	(void)status;
	if (atomic_load(&playing))
		must(submit_with(the_pool, task, WSRT_PRIORITY_BACKGROUND) ==
		     0);
}

static void start_game(struct player *players, unsigned count,
		       enum wsrt_order order)
{
	the_pool = pool_with((struct wsrt_pool_config){
		.worker_count = 1,
		.order = order,
	});
	atomic_store(&handoffs, 0);
	atomic_store(&late.ran, 0);
	atomic_store(&playing, true);
	for (unsigned i = 0; i < count; i++)
		players[i] = (struct player){{.run = play},
					     &players[(i + 1) % count]};
	ck_assert_int_eq(wsrt_pool_submit(the_pool, &players[0].task, NULL), 0);
	ck_assert(await(&handoffs, 1000));
}

static void end_game(void)
{
	atomic_store(&playing, false);
	ck_assert_int_eq(wsrt_pool_destroy(the_pool), 0);
}

START_TEST(tasks_that_wake_each_other_starve_nobody)
{
	struct player players[2];

	for (unsigned i = 0; i < 4; i++) {
		start_game(players, 1 + i % 2, (enum wsrt_order)(i / 2));
		expect_late_within(2 * FAIR);
		end_game();
	}
}
END_TEST

START_TEST(background_beside_a_game_starves_nobody)
{
	struct player players[2];
	struct wsrt_task refills[2] = {{.run = refill}, {.run = refill}};

	for (unsigned i = 0; i < 2; i++) {
		start_game(players, 2, (enum wsrt_order)i);
		for (unsigned k = 0; k < 2; k++)
			ck_assert_int_eq(submit_with(the_pool, &refills[k],
						     WSRT_PRIORITY_BACKGROUND),
					 0);
		expect_late_within(4 * FAIR);
		end_game();
	}
}
END_TEST

/*
 * "A task that was submitted can be stolen at once", and ever after: whatever a
 * worker holds while it runs one long task, others run.
 */
#define HELD 30u

static struct gate held_gate;
static _Atomic unsigned held_ran;
static struct counted held[HELD];

static void hold(struct wsrt_task *task, int status)
{
	struct wsrt_pool *pool = wsrt_pool_current();

	(void)task;
	(void)status;
	for (unsigned i = 0; i < HELD; i++)
		must(wsrt_pool_submit(pool, &held[i].task, NULL) == 0);
	/* Newest first: its worker runs this one next. */
	must(wsrt_pool_submit(pool, &held_gate.task, NULL) == 0);
}

/* B06, B65 */
START_TEST(tasks_behind_a_long_one_are_run_by_others)
{
	struct wsrt_task holder = {.run = hold};
	struct wsrt_pool *pool = pool_of(2);
	struct gate other;

	counted_init(held, HELD, &held_ran);
	held_gate = (struct gate){.task.run = gate_run};
	/* While the other worker is busy, so that it steals nothing early. */
	gate_close(&other, pool);
	ck_assert_int_eq(wsrt_pool_submit(pool, &holder, NULL), 0);
	ck_assert(await(&held_gate.entered, 1));
	gate_open(&other);
	ck_assert_msg(await(&held_ran, HELD), "%u of %u", held_ran, HELD);
	gate_open(&held_gate);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

/* The same from outside, the long one in the midst of a batch. */
START_TEST(tasks_of_a_batch_with_a_long_one_are_run_by_others)
{
	struct wsrt_task *batch[HELD + 1];
	struct wsrt_pool *pool = pool_of(2);
	struct gate other;

	counted_init(held, HELD, &held_ran);
	held_gate = (struct gate){.task.run = gate_run};
	for (unsigned i = 0; i < HELD; i++)
		batch[i < 2 ? i : i + 1] = &held[i].task;
	batch[2] = &held_gate.task;
	gate_close(&other, pool);
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, batch, HELD + 1, NULL),
			 HELD + 1);
	ck_assert(await(&held_gate.entered, 1));
	gate_open(&other);
	ck_assert_msg(await(&held_ran, HELD), "%u of %u", held_ran, HELD);
	gate_open(&held_gate);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

/* B31; and a batch by a worker costs as much a task as one from outside. */
START_TEST(batches_of_any_size_are_taken)
{
	enum { count = 1 << 20 };
	struct wsrt_pool *pool = pool_of(2);
	struct counted *tasks = calloc(count, sizeof *tasks);
	struct wsrt_task **batch = calloc(count, sizeof(struct wsrt_task *));

	ck_assert(tasks && batch);
	counted_init(tasks, count, NULL);
	for (unsigned i = 0; i < count; i++)
		batch[i] = &tasks[i].task;
	ck_assert_int_eq(wsrt_pool_submit_batch(pool, batch, count, NULL),
			 count);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	for (unsigned i = 0; i < count; i++)
		ck_assert(atomic_load(&tasks[i].ran) == 1);
	free(tasks);
	free(batch);
}
END_TEST

static struct counted *million;

static void submit_a_million(struct wsrt_task *task, int status)
{
	enum { count = 1 << 20 };
	struct counted *tasks = calloc(count, sizeof *tasks);
	struct wsrt_task **batch = calloc(count, sizeof(struct wsrt_task *));

	(void)task;
	(void)status;
	must(tasks && batch);
	counted_init(tasks, count, &held_ran);
	for (unsigned i = 0; i < count; i++)
		batch[i] = &tasks[i].task;
	must(wsrt_pool_submit_batch(wsrt_pool_current(), batch, count, NULL) ==
	     count);
	free(batch);
	million = tasks;
}

START_TEST(batches_of_any_size_are_taken_from_a_worker)
{
	struct wsrt_pool *pool = pool_of(2);
	struct wsrt_task task = {.run = submit_a_million};
	uint64_t begin = os_clock_ns();

	ck_assert_int_eq(wsrt_pool_submit(pool, &task, NULL), 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&held_ran), 1 << 20);
	ck_assert_uint_lt(os_clock_ns() - begin, TEST_SECONDS * MS * 500);
	free(million);
}
END_TEST

/* B04, B65: as many tasks as workers, each of which waits for all others */
static _Atomic unsigned met;

static void meet(struct wsrt_task *task, int status)
{
	struct counted *counted = wsrt_container_of(task, struct counted, task);
	unsigned all = atomic_load(&met) >> 16;

	(void)status;
	atomic_fetch_add(&met, 1);
	while ((atomic_load(&met) & 0xffff) < all)
		sched_yield();
	atomic_fetch_add(counted->total, 1);
}

START_TEST(as_many_tasks_as_workers_run_at_once)
{
	for (unsigned workers = 1; workers <= 16; workers *= 2) {
		struct wsrt_pool *pool = pool_of(workers);
		struct counted tasks[16];
		struct wsrt_task *batch[16];
		_Atomic unsigned total = 0;

		for (unsigned round = 1; round <= 200 / TEST_SLOWER; round++) {
			atomic_store(&met, workers << 16);
			counted_init(tasks, workers, &total);
			for (unsigned i = 0; i < workers; i++) {
				tasks[i].task.run = meet;
				batch[i] = &tasks[i].task;
			}
			ck_assert_int_eq(wsrt_pool_submit_batch(pool, batch,
								workers, NULL),
					 (ssize_t)workers);
			ck_assert_msg(await(&total, round * workers),
				      "%u workers, round %u: %u of %u met",
				      workers, round,
				      atomic_load(&met) & 0xffff, workers);
		}
		ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("order");

	tcase_add_test(tc, full_pool_rejects);
	tcase_add_test(tc, workers_are_never_rejected);
	tcase_add_test(tc, blocked_producers_are_woken_by_room);
	tcase_add_test(tc, blocked_producers_are_woken_by_shutdown);
	tcase_add_test(tc, blocked_batch_goes_in_bit_by_bit);
	tcase_add_loop_test(tc, fifo_pool_runs_own_tasks_oldest_first, 0, 2);
	tcase_add_loop_test(tc, lifo_pool_runs_own_tasks_newest_first, 0, 2);
	tcase_add_test(tc, lifo_pool_looks_at_the_old_end_too);
	tcase_add_test(tc, tasks_from_outside_run_in_order);
	tcase_add_test(tc, high_goes_first);
	tcase_add_test(tc, background_gets_its_share);
	tcase_add_test(tc, background_gets_its_share_beside_high);
	tcase_add_test(tc, normal_is_not_starved_by_high);
	tcase_add_test(tc, normal_is_not_starved_by_both);
	tcase_add_test(tc, tasks_that_wake_each_other_starve_nobody);
	tcase_add_test(tc, background_beside_a_game_starves_nobody);
	tcase_add_test(tc, tasks_behind_a_long_one_are_run_by_others);
	tcase_add_test(tc, tasks_of_a_batch_with_a_long_one_are_run_by_others);
	tcase_add_test(tc, batches_of_any_size_are_taken);
	tcase_add_test(tc, batches_of_any_size_are_taken_from_a_worker);
	tcase_add_test(tc, as_many_tasks_as_workers_run_at_once);
	return run_suite("sched order", tc);
}
