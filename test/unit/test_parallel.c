/* SPDX-License-Identifier: MIT */
/*
 * Fork and join: right results on any number of workers, whatever lies between
 * the forks, also when they are stolen, and without memory.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <wsrt/fork.h>

#include "support.h"

/* Link arguments send the core's allocations through here. */
static _Atomic bool no_memory;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return no_memory ? NULL : __real_aligned_alloc(alignment, size);
}

/* Which name it has depends on the size of off_t. */
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset)
{
	if (no_memory)
		return MAP_FAILED;
	return __real_mmap64(at, size, protection, flags, fd, offset);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset)
{
	return __wrap_mmap64(at, size, protection, flags, fd, offset);
}

static const unsigned worker_counts[] = {1, 2, 8};
#define WORKER_COUNTS 3

/* Runs a function of a worker as a task, and waits for it. */
struct root {
	struct wsrt_task task;
	void (*run)(struct wsrt_worker *worker);
	_Atomic unsigned done;
};

static void root_run(struct wsrt_task *task, int status)
{
	struct root *root = wsrt_container_of(task, struct root, task);
	struct wsrt_worker *worker = wsrt_worker_current();

	(void)status;
	must(worker);
	root->run(worker);
	atomic_store(&root->done, 1);
}

static void run_in(struct wsrt_pool *pool,
		   void (*run)(struct wsrt_worker *worker))
{
	struct root root = {.task.run = root_run, .run = run};

	ck_assert_int_eq(wsrt_pool_submit(pool, &root.task, NULL), 0);
	ck_assert(await(&root.done, 1));
}

static void run_on(unsigned workers, void (*run)(struct wsrt_worker *worker))
{
	struct wsrt_pool *pool = pool_of(workers);

	run_in(pool, run);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}

struct fib {
	struct wsrt_fork fork;
	long n, value;
};

static long fib(struct wsrt_worker *worker, long n);

static void fib_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct fib *self = wsrt_container_of(fork, struct fib, fork);

	self->value = fib(worker, self->n);
}

static long fib(struct wsrt_worker *worker, long n)
{
	struct fib left;
	long right;

	if (n < 2)
		return n;
	left.n = n - 1;
	wsrt_fork(worker, &left.fork, fib_run);
	right = fib(worker, n - 2);
	wsrt_join(worker, &left.fork, fib_run);
	return left.value + right;
}

static long fib_n, fib_value;

static void run_fib(struct wsrt_worker *worker)
{
	fib_value = fib(worker, fib_n);
}

START_TEST(fib_is_right)
{
	fib_n = TEST_SLOWER > 1 ? 20 : 25;
	run_on(worker_counts[_i], run_fib);
	ck_assert_int_eq(fib_value, TEST_SLOWER > 1 ? 6765 : 75025);
}
END_TEST

static void sixteen_fibs(struct wsrt_task *task, int status)
{
	struct wsrt_worker *worker = wsrt_worker_current();
	struct counted *counted = wsrt_container_of(task, struct counted, task);

	must(status == 0 && worker);
	must(fib(worker, 14) == 377);
	atomic_fetch_add(counted->total, 1);
}

/* Many tasks that fork, so that foreign forks and tasks lie side by side. */
START_TEST(many_roots_at_once)
{
	static struct counted tasks[2000 / TEST_SLOWER];
	const unsigned count = sizeof tasks / sizeof *tasks;
	_Atomic unsigned total = 0;
	struct wsrt_pool *pool = pool_of(worker_counts[_i]);

	counted_init(tasks, count, &total);
	for (unsigned i = 0; i < count; i++) {
		tasks[i].task.run = sixteen_fibs;
		ck_assert_int_eq(wsrt_pool_submit(pool, &tasks[i].task, NULL),
				 0);
	}
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&total), count);
}
END_TEST

/* A chain of forks, each inside the one before: the deque grows. */
#define CHAIN (100000u / TEST_SLOWER)

static _Atomic unsigned chain_ran;

static void chain_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	(void)worker;
	(void)fork;
	atomic_fetch_add(&chain_ran, 1);
}

static void chain(struct wsrt_worker *worker)
{
	struct wsrt_fork *forks = malloc(CHAIN * sizeof *forks);

	must(forks);
	memset(forks, 0x55, CHAIN * sizeof *forks); /* never initialized */
	for (unsigned i = 0; i < CHAIN; i++)
		wsrt_fork(worker, &forks[i], chain_run);
	for (unsigned i = CHAIN; i > 0; i--)
		wsrt_join(worker, &forks[i - 1], chain_run);
	must(atomic_load(&chain_ran) == CHAIN);
	free(forks);
}

START_TEST(many_forks_before_any_join)
{
	run_on(worker_counts[_i], chain);
	ck_assert_uint_eq(atomic_load(&chain_ran), CHAIN);
}
END_TEST

/* Recursion as deep as the stack allows, and no deeper. */
struct deep {
	struct wsrt_fork fork;
	unsigned depth;
};

static _Atomic unsigned deepest;

static void deep_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct deep *self = wsrt_container_of(fork, struct deep, fork);
	struct deep next = {.depth = self->depth + 1};

	atomic_fetch_add(&deepest, 1);
	if (self->depth >= 2000)
		return;
	wsrt_fork(worker, &next.fork, deep_run);
	wsrt_join(worker, &next.fork, deep_run);
}

static void dive(struct wsrt_worker *worker)
{
	struct deep first = {.depth = 1};

	wsrt_fork(worker, &first.fork, deep_run);
	wsrt_join(worker, &first.fork, deep_run);
}

START_TEST(deep_recursion)
{
	run_on(worker_counts[_i], dive);
	ck_assert_uint_eq(atomic_load(&deepest), 2000);
}
END_TEST

/*
 * Tasks submitted between forks lie among them in the deque. Each fork and each
 * task must run once, and a join must return with its own fork done.
 */
#define MIXED 300u

static struct mixed {
	struct wsrt_fork fork;
	_Atomic unsigned ran;
} mixed[MIXED];

static struct counted between[MIXED];
static _Atomic unsigned between_ran;
static unsigned mixed_pattern, mixed_submitted;

static void mixed_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct mixed *self = wsrt_container_of(fork, struct mixed, fork);

	(void)worker;
	atomic_fetch_add(&self->ran, 1);
}

/* As a thief that finds nothing would. */
static void ask(struct wsrt_worker *worker)
{
	__atomic_store_n(&worker->limit, NULL, __ATOMIC_RELAXED);
}

static void mix(struct wsrt_worker *worker)
{
	mixed_submitted = 0;
	for (unsigned i = 0; i < MIXED; i++) {
		wsrt_fork(worker, &mixed[i].fork, mixed_run);
		if (mixed_pattern & 1u << i % 8)
			must(wsrt_pool_submit(wsrt_pool_current(),
					      &between[mixed_submitted++].task,
					      NULL) == 0);
		if (mixed_pattern >> 8 & 1u << i % 8)
			ask(worker);
	}
	for (unsigned i = MIXED; i > 0; i--) {
		wsrt_join(worker, &mixed[i - 1].fork, mixed_run);
		must(atomic_load(&mixed[i - 1].ran) == 1);
	}
}

START_TEST(tasks_between_forks)
{
	struct wsrt_pool *pool = pool_of(worker_counts[_i % WORKER_COUNTS]);
	uint64_t begin = os_clock_ns();

	for (mixed_pattern = 0; mixed_pattern < 0x10000; mixed_pattern += 37) {
		memset((void *)mixed, 0x55, sizeof mixed);
		for (unsigned i = 0; i < MIXED; i++)
			atomic_store(&mixed[i].ran, 0);
		atomic_store(&between_ran, 0);
		counted_init(between, MIXED, &between_ran);
		run_in(pool, mix);
		ck_assert(await(&between_ran, mixed_submitted));
		if (os_clock_ns() - begin > 3 * NS_PER_SECOND)
			break;
	}
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

/* The shortest of its kind: fork, task, fork, all public, join, join. */
static struct mixed pair[2];
static struct counted middle;

static void two_around_a_task(struct wsrt_worker *worker)
{
	wsrt_fork(worker, &pair[0].fork, mixed_run);
	must(wsrt_pool_submit(wsrt_pool_current(), &middle.task, NULL) == 0);
	ask(worker);
	wsrt_fork(worker, &pair[1].fork, mixed_run);
	wsrt_join(worker, &pair[1].fork, mixed_run);
	wsrt_join(worker, &pair[0].fork, mixed_run);
}

START_TEST(join_below_a_task_is_not_mistaken)
{
	struct wsrt_pool *pool = pool_of(1);
	_Atomic unsigned ran = 0;

	counted_init(&middle, 1, &ran);
	run_in(pool, two_around_a_task);
	ck_assert(await(&ran, 1));
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&pair[0].ran), 1);
	ck_assert_uint_eq(atomic_load(&pair[1].ran), 1);
	ck_assert_uint_eq(atomic_load(&middle.ran), 1);
}
END_TEST

/*
 * A fork is stolen for certain: the owner waits until it has begun. The join
 * has to sleep, since its thief takes long and has nothing to help with.
 */
struct slow {
	struct wsrt_fork fork;
	_Atomic unsigned begun, done;
};

static pthread_t slow_thread;

static void slow_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct slow *self = wsrt_container_of(fork, struct slow, fork);

	(void)worker;
	slow_thread = pthread_self();
	atomic_store(&self->begun, 1);
	sleep_ns(30 * MS);
	atomic_store(&self->done, 1);
}

static uint64_t thread_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

static void join_a_stolen_one(struct wsrt_worker *worker)
{
	struct slow slow = {.begun = 0};
	uint64_t before;

	ask(worker);
	wsrt_fork(worker, &slow.fork, slow_run);
	must(await(&slow.begun, 1));
	must(!pthread_equal(slow_thread, pthread_self()));
	before = thread_ns();
	wsrt_join(worker, &slow.fork, slow_run);
	must(atomic_load(&slow.done) == 1);
	/* Slept, not spun. */
	must(thread_ns() - before < 15 * MS);
}

START_TEST(join_of_a_stolen_fork_sleeps)
{
	struct wsrt_pool *pool = pool_of(2);

	for (int i = 0; i < 10; i++)
		run_in(pool, join_a_stolen_one);
	ck_assert_uint_ge(stats_of(pool).forks_stolen, 10);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

/* Nobody is asked here but by an idle worker, however long ago that was. */
static _Atomic unsigned wanted;

static void wanted_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	(void)worker;
	(void)fork;
	atomic_store(&wanted, 1);
}

static void fork_for_an_idle_one(struct wsrt_worker *worker)
{
	struct wsrt_fork forks[100];
	unsigned count = 0;

	atomic_store(&wanted, 0);
	/* The second finds the wish, unless the other was about to fall asleep
	 * all the while: it asks before it does. */
	do {
		must(count < 100);
		wsrt_fork(worker, &forks[count++], wanted_run);
		if (count > 1)
			sleep_ns(count * MS);
	} while (!atomic_load(&wanted));
	while (count-- > 0)
		wsrt_join(worker, &forks[count], wanted_run);
}

START_TEST(idle_worker_gets_a_fork)
{
	static struct counted tasks[1000];
	struct wsrt_pool *pool = pool_of(2);

	counted_init(tasks, 1000, NULL);
	for (unsigned i = 0; i < 1000; i += 50) {
		/* So that deques realign and trim, after all have asked. */
		for (unsigned k = i; k < i + 50; k++)
			ck_assert_int_eq(
				wsrt_pool_submit(pool, &tasks[k].task, NULL),
				0);
		sleep_ns(i % 100 * MS / 50);
		run_in(pool, fork_for_an_idle_one);
	}
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

/* Forks of a flat loop are shared too: joins look whether others ask. */
static void nap_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	(void)worker;
	(void)fork;
	sleep_ns(MS);
}

static void fork_flat(struct wsrt_worker *worker)
{
	struct wsrt_fork forks[64];

	for (unsigned i = 0; i < 64; i++)
		wsrt_fork(worker, &forks[i], nap_run);
	for (unsigned i = 64; i-- > 0;)
		wsrt_join(worker, &forks[i], nap_run);
}

START_TEST(flat_forks_are_shared)
{
	struct wsrt_pool *pool = pool_of(2);

	run_in(pool, fork_flat);
	ck_assert_uint_ge(stats_of(pool).forks_stolen, 8);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

/*
 * B18: a waiting worker runs no stranger's task: it may hold a lock, and the
 * stack grows with the program's own recursion alone.
 */
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool holding;
static _Atomic unsigned strangers, locked_done;

static void locked(struct wsrt_task *task, int status)
{
	struct counted *counted = wsrt_container_of(task, struct counted, task);
	struct wsrt_worker *worker = wsrt_worker_current();

	(void)status;
	if (holding)
		atomic_fetch_add(&strangers, 1);
	pthread_mutex_lock(&outer);
	holding = true;
	must(fib(worker, 16) == 987);
	holding = false;
	pthread_mutex_unlock(&outer);
	atomic_fetch_add(counted->total, 1);
}

START_TEST(waiting_worker_runs_no_stranger)
{
	static struct counted tasks[400];
	const unsigned count = 400 / TEST_SLOWER;
	struct wsrt_pool *pool = pool_of(4);

	counted_init(tasks, count, &locked_done);
	for (unsigned i = 0; i < count; i++) {
		tasks[i].task.run = locked;
		ck_assert_int_eq(wsrt_pool_submit(pool, &tasks[i].task, NULL),
				 0);
	}
	ck_assert(await(&locked_done, count));
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&strangers), 0);
}
END_TEST

/*
 * Growing fails: forks run at once. Those below, joined by the fast path, must
 * not be taken for the ones that are not there.
 */
static void chain_without_memory(struct wsrt_worker *worker)
{
	enum { count = 2000 };
	static struct mixed forks[count];

	memset((void *)forks, 0x55, sizeof forks);
	for (unsigned i = 0; i < count; i++)
		atomic_store(&forks[i].ran, 0);
	atomic_store(&no_memory, true);
	for (unsigned i = 0; i < count; i++)
		wsrt_fork(worker, &forks[i].fork, mixed_run);
	/* At once, for want of memory, if no thief makes room. */
	must(atomic_load(&forks[count - 1].ran) == 1 ||
	     wsrt_pool_worker_count(wsrt_pool_current()) > 1);
	for (unsigned i = count; i > 0; i--) {
		wsrt_join(worker, &forks[i - 1].fork, mixed_run);
		must(atomic_load(&forks[i - 1].ran) == 1);
	}
	atomic_store(&no_memory, false);
}

START_TEST(fork_without_memory_runs_at_once)
{
	run_on(worker_counts[_i], chain_without_memory);
}
END_TEST

/* Forks inside of such as run at once, and joins of older ones between. */
struct nest {
	struct wsrt_fork fork;
	unsigned depth;
	_Atomic unsigned ran;
};

static _Atomic unsigned nest_ran;

static void nest_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct nest *self = wsrt_container_of(fork, struct nest, fork);
	struct nest inner[3];

	must(atomic_fetch_add(&self->ran, 1) == 0);
	atomic_fetch_add(&nest_ran, 1);
	if (self->depth == 0)
		return;
	for (unsigned i = 0; i < 3; i++) {
		inner[i].depth = self->depth - 1;
		atomic_init(&inner[i].ran, 0);
		wsrt_fork(worker, &inner[i].fork, nest_run);
	}
	for (unsigned i = 3; i > 0; i--) {
		wsrt_join(worker, &inner[i - 1].fork, nest_run);
		must(atomic_load(&inner[i - 1].ran) == 1);
	}
}

static void nest_without_memory(struct wsrt_worker *worker)
{
	/* The minimum holds 254: what is below stays full all the time. */
	enum { below = 250 };
	struct mixed forks[below];
	struct nest first = {.depth = 6};

	atomic_store(&nest_ran, 0);
	atomic_store(&no_memory, true);
	for (unsigned i = 0; i < below; i++) {
		atomic_init(&forks[i].ran, 0);
		wsrt_fork(worker, &forks[i].fork, mixed_run);
	}
	wsrt_fork(worker, &first.fork, nest_run);
	wsrt_join(worker, &first.fork, nest_run);
	for (unsigned i = below; i > 0; i--) {
		wsrt_join(worker, &forks[i - 1].fork, mixed_run);
		must(atomic_load(&forks[i - 1].ran) == 1);
	}
	atomic_store(&no_memory, false);
	must(atomic_load(&nest_ran) == 1093);
}

START_TEST(forks_nest_without_memory)
{
	struct wsrt_pool *pool = pool_of(worker_counts[_i]);

	for (int i = 0; i < 50; i++)
		run_in(pool, nest_without_memory);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

static struct wsrt_worker *seen_current, *seen_other_layout;

static void see(struct wsrt_task *task, int status)
{
	seen_current = wsrt_worker_current();
	seen_other_layout = wsrt_worker_with_layout(WSRT_FORK_LAYOUT + 1);
	counted_run(task, status);
}

START_TEST(worker_is_known_inside_tasks_alone)
{
	struct wsrt_pool *pool = pool_of(1);
	_Atomic unsigned total = 0;
	struct counted counted;

	ck_assert_ptr_null(wsrt_worker_current());
	ck_assert_ptr_null(wsrt_worker_with_layout(0));
	counted_init(&counted, 1, &total);
	counted.task.run = see;
	ck_assert_int_eq(wsrt_pool_submit(pool, &counted.task, NULL), 0);
	ck_assert(await(&total, 1));
	ck_assert_ptr_nonnull(seen_current);
	ck_assert_ptr_null(seen_other_layout);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("parallel");

	tcase_add_loop_test(tc, fib_is_right, 0, WORKER_COUNTS);
	tcase_add_loop_test(tc, many_roots_at_once, 0, WORKER_COUNTS);
	tcase_add_loop_test(tc, many_forks_before_any_join, 0, WORKER_COUNTS);
	tcase_add_loop_test(tc, deep_recursion, 0, WORKER_COUNTS);
	tcase_add_loop_test(tc, tasks_between_forks, 0, WORKER_COUNTS);
	tcase_add_test(tc, join_below_a_task_is_not_mistaken);
	tcase_add_test(tc, join_of_a_stolen_fork_sleeps);
	tcase_add_test(tc, idle_worker_gets_a_fork);
	tcase_add_test(tc, flat_forks_are_shared);
	tcase_add_test(tc, waiting_worker_runs_no_stranger);
	tcase_add_loop_test(tc, fork_without_memory_runs_at_once, 0,
			    WORKER_COUNTS);
	tcase_add_loop_test(tc, forks_nest_without_memory, 0, WORKER_COUNTS);
	tcase_add_test(tc, worker_is_known_inside_tasks_alone);
	return run_suite("parallel", tc);
}
