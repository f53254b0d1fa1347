/* SPDX-License-Identifier: MIT */
/*
 * Pools that come and go, and end while they are used: nothing stays behind,
 * and every task that was taken is told its end.
 *
 *	gone	B43: no thread is left once destroy has returned
 *	flag	B45: a task says that it is done, and the pool is destroyed
 *	race	B47: eight threads submit while the pool shuts down
 *	many	B81: pools on eight threads at once
 *	crowd	B57: hundreds of threads submit and wait at once
 *	moved	B64: another thread moves the workers from CPU to CPU
 *	flat	B48: threads, descriptors and memory do not grow
 */
#include "stress.h"

#define SUBMITTERS 8u

static unsigned base_threads;

static void expect_threads_gone(void)
{
	/* The kernel lists a thread for a moment after it could be joined. */
	uint64_t end = os_clock_ns() + NS_PER_SECOND;

	while (thread_count() != base_threads)
		check_msg(os_clock_ns() < end, "%u threads, not %u",
			  thread_count(), base_threads);
}

static void end_pool(struct wsrt_pool *pool)
{
	check(wsrt_pool_destroy(pool) == 0);
}

/* Mostly short; a pool that ends before its workers have begun counts too. */
static void pause_at_random(void)
{
	unsigned limit = 1u << random_below(&stress_random, 17);

	if (random_below(&stress_random, 2))
		sleep_ns(random_below(&stress_random, limit));
}

static void gone(void)
{
	for (unsigned n = 0; n < stress_rounds(2000); n++) {
		struct wsrt_pool *pool =
			stress_workers(1 + random_below(&stress_random, 8));

		pause_at_random();
		end_pool(pool);
		expect_threads_gone();
	}
}

struct flag {
	struct wsrt_task task;
	_Atomic unsigned up;
};

static void flag_run(struct wsrt_task *task, int status)
{
	(void)status;
	atomic_store(&wsrt_container_of(task, struct flag, task)->up, 1);
}

static void flag(void)
{
	for (unsigned n = 0; n < stress_rounds(6000); n++) {
		struct wsrt_pool *pool = stress_workers(1 + n % 2);
		struct flag flag = {.task.run = flag_run};

		check(wsrt_pool_submit(pool, &flag.task, NULL) == 0);
		while (!atomic_load(&flag.up))
			if (n % 16) /* else it keeps a CPU busy */
				sched_yield();
		end_pool(pool);
	}
}

/* One thread's submits, and what became of them. */
struct submitter {
	pthread_t thread;
	uint64_t random;
	unsigned taken;
	_Atomic unsigned ran, cancelled;
};

static struct submitter submitters[SUBMITTERS];
static struct wsrt_pool *the_pool;

struct owned {
	struct wsrt_task task;
	struct submitter *by;
	unsigned children;
};

static void owned_run(struct wsrt_task *task, int status);

static struct owned *owned_new(struct submitter *by, unsigned children)
{
	struct owned *owned = malloc(sizeof *owned);

	check(owned);
	*owned = (struct owned){{.run = owned_run}, by, children};
	return owned;
}

/* Freed by its end, whichever: twice or never would be noticed. */
static void owned_run(struct wsrt_task *task, int status)
{
	struct owned *owned = wsrt_container_of(task, struct owned, task);
	struct submitter *by = owned->by;

	check(status == 0 || status == -ECANCELED);
	for (unsigned i = 0; i < owned->children; i++) {
		struct owned *child = owned_new(by, 0);

		/* Of running tasks, so until the end. */
		check(wsrt_pool_submit(the_pool, &child->task, NULL) == 0);
	}
	free(owned);
	atomic_fetch_add(&by->ran, 1);
	if (status)
		atomic_fetch_add(&by->cancelled, 1);
}

/* Submits one or a batch; 0 or what submit said. */
static int submit_some(struct submitter *self)
{
	struct wsrt_task *batch[8];
	struct wsrt_submit_options options = {
		.size = sizeof options,
		.priority = (enum wsrt_priority)random_below(&self->random, 3),
	};
	unsigned count = 1 + random_below(&self->random, 8);
	ssize_t taken;

	for (unsigned i = 0; i < count; i++) {
		unsigned children = random_below(&self->random, 3);

		batch[i] = &owned_new(self, children)->task;
	}
	taken = wsrt_pool_submit_batch(the_pool, batch, count, &options);
	for (unsigned i = 0; i < count; i++) {
		if (taken > (ssize_t)i)
			continue;
		free(wsrt_container_of(batch[i], struct owned, task));
	}
	if (taken > 0)
		self->taken += (unsigned)taken;
	return taken < 0 ? (int)taken : 0;
}

static void *submit_until_shut(void *argument)
{
	struct submitter *self = argument;
	int error = 0;

	while (!error || error == -EAGAIN)
		error = submit_some(self);
	check_msg(error == -ESHUTDOWN, "submit: %s", strerror(-error));
	return NULL;
}

static void race_once(unsigned n)
{
	struct wsrt_stats stats = {.size = sizeof stats};
	uint64_t ran = 0, cancelled = 0, taken = 0;

	the_pool = stress_pool((struct wsrt_pool_config){
		.worker_count = 1 + random_below(&stress_random, 4),
		.capacity = n % 3 ? 0 : 1 + random_below(&stress_random, 300),
		.on_full = n % 2 ? WSRT_FULL_BLOCK : WSRT_FULL_REJECT,
		.order = n % 4 ? WSRT_ORDER_LIFO : WSRT_ORDER_FIFO,
	});
	for (unsigned i = 0; i < SUBMITTERS; i++) {
		submitters[i] = (struct submitter){.random = stress_random + i};
		pthread_create(&submitters[i].thread, NULL, submit_until_shut,
			       &submitters[i]);
	}
	sleep_ns(random_below(&stress_random, MS));
	check(wsrt_pool_shutdown(the_pool,
				 n % 5 < 2 ? WSRT_SHUTDOWN_CANCEL
					   : WSRT_SHUTDOWN_DRAIN,
				 NULL) == 0);
	for (unsigned i = 0; i < SUBMITTERS; i++) {
		pthread_join(submitters[i].thread, NULL);
		ran += atomic_load(&submitters[i].ran);
		cancelled += atomic_load(&submitters[i].cancelled);
		taken += submitters[i].taken;
	}
	check(wsrt_pool_stats(the_pool, &stats) == 0);
	/* Shutdown returned only when each had been told its end. */
	check_msg(stats.submitted == ran && stats.executed == ran,
		  "taken %llu, run %llu, told %llu",
		  (unsigned long long)stats.submitted,
		  (unsigned long long)stats.executed, (unsigned long long)ran);
	check(stats.cancelled == cancelled);
	check(taken <= ran);
	end_pool(the_pool);
}

static void race(void)
{
	for (unsigned n = 0; n < stress_rounds(80); n++)
		race_once(n);
}

static void *come_and_go(void *argument)
{
	uint64_t random = stress_random + (uintptr_t)argument;

	for (unsigned n = 0; n < stress_rounds(300); n++) {
		struct wsrt_pool *pool =
			stress_workers(1 + random_below(&random, 3));
		struct counted tasks[20];
		unsigned count = random_below(&random, 20);

		counted_init(tasks, count, NULL);
		for (unsigned i = 0; i < count; i++)
			check(wsrt_pool_submit(pool, &tasks[i].task, NULL) ==
			      0);
		end_pool(pool);
		for (unsigned i = 0; i < count; i++)
			check(atomic_load(&tasks[i].ran) == 1);
	}
	return NULL;
}

static void many(void)
{
	pthread_t threads[8];

	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, come_and_go, (void *)(i + 1));
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	expect_threads_gone();
}

struct visitor {
	struct wsrt_task task;
	struct latch latch;
};

static void visitor_run(struct wsrt_task *task, int status)
{
	(void)status;
	latch_down(&wsrt_container_of(task, struct visitor, task)->latch);
}

#define CROWD 400u

static void *submit_and_wait(void *unused)
{
	for (unsigned n = 0; n < 20; n++) {
		struct visitor visitor = {.task.run = visitor_run};

		latch_init(&visitor.latch, 1);
		check(wsrt_pool_submit(the_pool, &visitor.task, NULL) == 0);
		check(latch_wait(&visitor.latch, 20 * TEST_SLOWER));
	}
	return unused;
}

static void crowd(void)
{
	const unsigned count = CROWD / (TEST_TSAN ? 4 : 1);
	pthread_t threads[CROWD];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	for (unsigned n = 0; n < stress_rounds(4); n++) {
		the_pool = stress_workers(3);
		for (unsigned i = 0; i < count; i++)
			check(pthread_create(&threads[i], &small,
					     submit_and_wait, NULL) == 0);
		for (unsigned i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
		end_pool(the_pool);
	}
	pthread_attr_destroy(&small);
}

static _Atomic bool moving;
static _Atomic unsigned moves;

/* To one CPU or all of them, whoever it is. */
static void move(int id, const cpu_set_t *all)
{
	cpu_set_t one = *all;

	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) > 1; cpu++)
		if (CPU_ISSET(cpu, &one) && (id + cpu) % 3)
			CPU_CLR(cpu, &one);
	sched_setaffinity(id, sizeof one,
			  random_below(&stress_random, 2) ? &one : all);
}

static void *move_all(void *all)
{
	while (atomic_load(&moving)) {
		DIR *dir = opendir("/proc/self/task");

		check(dir);
		for (struct dirent *entry; (entry = readdir(dir));)
			if (atoi(entry->d_name) > 0)
				move(atoi(entry->d_name), all);
		closedir(dir);
		atomic_fetch_add(&moves, 1);
		sched_yield();
	}
	return NULL;
}

/* Tasks until all threads have been moved so many times. */
static void run_until_moved(unsigned count)
{
	static struct counted tasks[500];
	_Atomic unsigned ran = 0;
	unsigned submitted = 0;

	for (unsigned end = atomic_load(&moves) + count;
	     atomic_load(&moves) < end;) {
		counted_init(tasks, 500, &ran);
		for (unsigned i = 0; i < 500; i++)
			check(wsrt_pool_submit(the_pool, &tasks[i].task,
					       NULL) == 0);
		submitted += 500;
		check(await(&ran, submitted));
		for (unsigned i = 0; i < 500; i++)
			check(atomic_load(&tasks[i].ran) == 1);
	}
}

static void moved(void)
{
	pthread_t thread;
	cpu_set_t all;

	check(sched_getaffinity(0, sizeof all, &all) == 0);
	for (unsigned n = 0; n < stress_rounds(20); n++) {
		the_pool = stress_pool((struct wsrt_pool_config){
			.worker_count = 4,
			.pin = n % 2 ? WSRT_PIN_CORE : WSRT_PIN_NONE,
		});
		atomic_store(&moving, true);
		pthread_create(&thread, NULL, move_all, &all);
		run_until_moved(1000);
		end_pool(the_pool);
		atomic_store(&moving, false);
		pthread_join(thread, NULL);
	}
	check(sched_setaffinity(0, sizeof all, &all) == 0);
}

static unsigned long resident_kib(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	check(file && fscanf(file, "%*u %lu", &pages) == 1);
	fclose(file);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static void open_and_close(unsigned rounds)
{
	struct counted tasks[300];

	for (unsigned n = 0; n < rounds; n++) {
		struct wsrt_pool *pool = stress_workers(4);

		counted_init(tasks, 300, NULL);
		for (unsigned i = 0; i < 300; i++)
			check(wsrt_pool_submit(pool, &tasks[i].task, NULL) ==
			      0);
		end_pool(pool);
	}
}

static void flat(void)
{
	unsigned long before, after;
	unsigned files;

	open_and_close(stress_rounds(200));
	before = resident_kib();
	files = count_entries("/proc/self/fd");
	open_and_close(stress_rounds(3000));
	after = resident_kib();
	expect_threads_gone();
	check(count_entries("/proc/self/fd") == files);
	/* Sanitizers keep what was freed. */
	if (TEST_SLOWER == 1)
		check_msg(after < before + 1024, "from %lu to %lu KiB", before,
			  after);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} steps[] = {
		{"gone", gone}, {"flag", flag},	  {"race", race},
		{"many", many}, {"crowd", crowd}, {"moved", moved},
		{"flat", flat},
	};

	stress_begin();
	end_pool(stress_workers(2));
	sleep_ns(50 * MS);
	base_threads = thread_count();
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		stress_next(steps[i].name);
		steps[i].run();
	}
	stress_next("end");
	return 0;
}
