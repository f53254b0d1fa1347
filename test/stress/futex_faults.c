/* SPDX-License-Identifier: MIT */
/*
 * Waits that end for no reason: every sleep in the library must look again, and
 * no word may say what its protocol does not know.
 *
 *	false	B14: one futex wait in ten returns at once, with 0, EAGAIN or EINTR
 *	storm	B13: a thousand signals a second to every thread, without
 *		SA_RESTART; workers leave SIGPROF open
 *
 * And B01: no worker ever sleeps with a time-out.
 */
#include <linux/futex.h>
#include <sys/syscall.h>

#include <wsrt/fork.h>

#include "sched/pool.h"
#include "stress.h"

static _Atomic unsigned one_in; /* of so many waits is false; 0: none */
static _Atomic unsigned false_waits, timed_waits;

/* Link arguments send the core's system calls through here. */
long __real_syscall(long number, long a, long b, long c, long d, long e,
		    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e,
		    long f);

static bool is_false(void)
{
	static _Thread_local uint64_t random;
	unsigned limit = atomic_load(&one_in);

	if (!random)
		random = stress_seed + (uintptr_t)&random;
	if (!limit || random_below(&random, limit))
		return false;
	errno = random_below(&random, 2) ? EAGAIN : EINTR;
	return true;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
		if (d && worker_self)
			atomic_fetch_add(&timed_waits, 1);
		if (is_false()) {
			unsigned n = atomic_fetch_add(&false_waits, 1);

			return n % 3 ? -1 : 0;
		}
	}
	return __real_syscall(number, a, b, c, d, e, f);
}

static struct wsrt_pool *pool;
static struct latch latch;

struct item {
	struct wsrt_task task;
	_Atomic unsigned ran;
};

static void item_run(struct wsrt_task *task, int status)
{
	struct item *item = wsrt_container_of(task, struct item, task);

	check(status == 0);
	check(atomic_fetch_add(&item->ran, 1) == 0);
	latch_down(&latch);
}

static void submit(struct wsrt_task *task)
{
	int error = wsrt_pool_submit(pool, task, NULL);

	check_msg(!error, "submit: %s", strerror(-error));
}

static void await_latch(void)
{
	check_msg(latch_wait(&latch, 20 * TEST_SLOWER), "%u left",
		  atomic_load(&latch.left));
}

static void trips(unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		struct item item = {.task.run = item_run};

		latch_init(&latch, 1);
		submit(&item.task);
		await_latch();
		if (n % 8 == 0)
			sleep_ns(random_below(&stress_random, 100000));
	}
}

/* Joins that sleep: the forks take long, and others take them. */
struct slow {
	struct wsrt_fork fork;
	_Atomic unsigned done;
};

static void slow_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct slow *slow = wsrt_container_of(fork, struct slow, fork);

	(void)worker;
	sleep_ns(200000);
	atomic_store(&slow->done, 1);
}

static void forking_run(struct wsrt_task *task, int status)
{
	struct wsrt_worker *worker = wsrt_worker_current();
	struct slow slow[6];

	for (unsigned i = 0; i < 6; i++) {
		atomic_init(&slow[i].done, 0);
		wsrt_fork(worker, &slow[i].fork, slow_run);
	}
	for (unsigned i = 6; i > 0; i--) {
		wsrt_join(worker, &slow[i - 1].fork, slow_run);
		check(atomic_load(&slow[i - 1].done));
	}
	item_run(task, status);
}

static void joins(unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		struct item items[4] = {0};

		latch_init(&latch, 4);
		for (unsigned i = 0; i < 4; i++) {
			items[i].task.run = forking_run;
			submit(&items[i].task);
		}
		await_latch();
	}
}

/* Producers that sleep for want of room. */
static struct item room_items[4][500];

static void *fill(void *items)
{
	for (unsigned i = 0; i < 500; i++) {
		struct item *item = (struct item *)items + i;

		*item = (struct item){.task.run = item_run};
		submit(&item->task);
	}
	return NULL;
}

static void rooms(void)
{
	pthread_t threads[4];

	latch_init(&latch, 2000);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fill, room_items[i]);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	await_latch();
}

/* A shutdown that may not say that time is over before it is. */
static void deadlines(void)
{
	struct timespec end;
	struct gate gate = {.task.run = gate_run};
	uint64_t begin;

	submit(&gate.task);
	check(await(&gate.entered, 1));
	begin = os_clock_ns();
	end = os_timespec(begin + 200 * MS);
	check(wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, &end) ==
	      -ETIMEDOUT);
	check(os_clock_ns() - begin >= 200 * MS);
	check_msg(os_clock_ns() - begin < 400 * MS * TEST_SLOWER,
		  "200 ms took %.0f", (double)(os_clock_ns() - begin) / 1e6);
	gate_open(&gate);
	check(wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, NULL) == 0);
}

static void check_words(void)
{
	for (unsigned i = 0; i < pool->worker_count; i++)
		check(atomic_load(&pool->workers[i]->parker.word) <=
		      PARKER_NOTIFIED);
}

/* All kinds of waits, on one pool after the other. */
static void wait_in_every_way(void)
{
	for (unsigned i = 0; i < 6; i++) {
		pool = stress_pool((struct wsrt_pool_config){
			.worker_count = 1u << i % 4,
			.capacity = 4,
			.on_full = WSRT_FULL_BLOCK,
			.spin_ns = i % 2, /* joins and searches sleep at once */
		});
		trips(300 / TEST_SLOWER);
		joins(30 / TEST_SLOWER + 1);
		rooms();
		check_words();
		deadlines();
		check_words();
		check(wsrt_pool_destroy(pool) == 0);
	}
}

static void idle(void)
{
	uint64_t used;

	pool = stress_workers(8);
	for (unsigned i = 0; i < 8; i++)
		while (atomic_load(&pool->workers[i]->parker.word) !=
		       PARKER_PARKED)
			sleep_ns(MS);
	sleep_ns(10 * MS); /* the last of them is not yet in the kernel */
	used = cpu_ns();
	sleep_ns(500 * MS);
	used = cpu_ns() - used;
	if (!TEST_TSAN)
		check_msg(used < 5 * MS, "%.3f ms of CPU", (double)used / 1e6);
	check(wsrt_pool_destroy(pool) == 0);
}

static void false_returns(void)
{
	static const unsigned rates[] = {10, 2};

	for (unsigned i = 0; i < 2 * stress_scale; i++) {
		atomic_store(&one_in, rates[i % 2]);
		wait_in_every_way();
		idle();
	}
	atomic_store(&one_in, 0);
	check(atomic_load(&false_waits) > 100);
}

static _Atomic bool storming;
static _Atomic unsigned handled;

static void handle(int signal_number)
{
	(void)signal_number;
	atomic_fetch_add(&handled, 1);
}

/* SIGPROF to every thread, a thousand times a second. */
static void *storm(void *unused)
{
	pid_t self = (pid_t)__real_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);

	while (atomic_load(&storming)) {
		DIR *dir = opendir("/proc/self/task");

		check(dir);
		for (struct dirent *entry; (entry = readdir(dir));) {
			int id = atoi(entry->d_name);

			if (id > 0 && id != self)
				__real_syscall(SYS_tgkill, getpid(), id,
					       SIGPROF, 0, 0, 0);
		}
		closedir(dir);
		sleep_ns(MS);
	}
	return unused;
}

static void signals(void)
{
	struct sigaction action = {.sa_handler = handle};
	pthread_t thread;

	sigaction(SIGPROF, &action, NULL);
	atomic_store(&storming, true);
	pthread_create(&thread, NULL, storm, NULL);
	for (unsigned i = 0; i < stress_scale; i++)
		wait_in_every_way();
	atomic_store(&storming, false);
	pthread_join(thread, NULL);
	check(atomic_load(&handled) > 100);
}

int main(void)
{
	stress_begin();
	stress_next("false");
	false_returns();
	stress_next("storm");
	signals();
	check(atomic_load(&timed_waits) == 0);
	stress_next("end");
	return 0;
}
