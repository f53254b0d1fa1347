/* SPDX-License-Identifier: MIT */
/*
 * Workers on the edge of sleep: no task waits while a worker sleeps, none is
 * lost as a pool begins or ends, and who has nothing to do uses nothing.
 *
 *	trips	B01: submit from outside and wait for it, with random gaps
 *	edges	the same from inside, of a task that waits for the other worker
 *	naps	B03: a few tasks, a pause about as long as a search, the end
 *	meets	B04: as many tasks as workers, each of which waits for all
 *	bursts	B06: an endless task, and bursts for the other workers
 *	starts	B07: 64 tasks the moment a pool is there, and its end
 *	trees	B08: tasks that submit tasks, and the end
 *	trickle	B10: one task a millisecond, many asleep
 *	budget	B12: how long a worker searches before it sleeps
 *	idle	B11: nothing at all
 */
#include "stress.h"

static struct wsrt_pool *pool;
static struct latch latch;

struct item {
	struct wsrt_task task;
	_Atomic unsigned ran;
	unsigned depth;
};

static void item_run(struct wsrt_task *task, int status)
{
	struct item *item = wsrt_container_of(task, struct item, task);

	check(status == 0);
	check(atomic_fetch_add(&item->ran, 1) == 0);
	latch_down(&latch);
}

static void items_init(struct item *items, unsigned count, wsrt_task_fn *run)
{
	for (unsigned i = 0; i < count; i++)
		items[i] = (struct item){.task.run = run};
}

static void submit(struct wsrt_task *task)
{
	int error = wsrt_pool_submit(pool, task, NULL);

	check_msg(!error, "submit: %s", strerror(-error));
}

static void end_pool(void)
{
	check(wsrt_pool_destroy(pool) == 0);
}

static void gap(unsigned max_ns)
{
	uint64_t end = os_clock_ns() + random_below(&stress_random, max_ns + 1);

	while (os_clock_ns() < end)
		;
}

static void trips(void)
{
	static const unsigned workers[] = {1, 2, 3, 8, 64};

	for (unsigned i = 0; i < 5; i++) {
		pool = stress_workers(workers[i]);
		for (unsigned n = 0; n < stress_rounds(16000); n++) {
			struct item item = {.task.run = item_run};

			latch_init(&latch, 1);
			submit(&item.task);
			check_msg(latch_wait(&latch, 2 * TEST_SLOWER),
				  "lost wake-up, %u workers, trip %u",
				  workers[i], n);
			gap(50000);
		}
		end_pool();
	}
}

/*
 * The other worker is on its way to sleep as a task is published: either it
 * sees the task, or its sleep is seen. If neither, both wait for ever.
 */
static void edges_run(struct wsrt_task *task, int status)
{
	uint64_t random = stress_seed + 1;

	for (unsigned n = 0; n < stress_rounds(400000); n++) {
		struct item item = {.task.run = item_run};
		unsigned gap = random_below(&random, 1000);
		uint64_t end = os_clock_ns() + 10 * NS_PER_SECOND;

		for (unsigned i = 0; i < gap; i++)
			atomic_signal_fence(memory_order_seq_cst);
		latch_init(&latch, 1);
		submit(&item.task);
		for (unsigned i = 1; atomic_load(&latch.left); i++) {
			if (i % 1000)
				continue;
			check_msg(os_clock_ns() < end, "lost at trip %u", n);
			sched_yield();
		}
	}
	latch_init(&latch, 1);
	item_run(task, status);
}

static void edges(void)
{
	struct item item = {.task.run = edges_run};

	pool = stress_pool((struct wsrt_pool_config){
		.worker_count = 2,
		.spin_ns = 1,
	});
	submit(&item.task);
	end_pool();
}

static void naps(void)
{
	struct item items[100];

	for (unsigned n = 0; n < stress_rounds(1500); n++) {
		pool = stress_workers(4);
		items_init(items, 100, item_run);
		latch_init(&latch, 100);
		for (unsigned i = 0; i < 100; i++)
			submit(&items[i].task);
		gap(60000);
		end_pool();
		check(latch_wait(&latch, 0));
	}
}

static _Atomic unsigned met;
static unsigned meeting;

static void meet_run(struct wsrt_task *task, int status)
{
	(void)task;
	(void)status;
	atomic_fetch_add(&met, 1);
	while (atomic_load(&met) < meeting)
		sched_yield();
	latch_down(&latch);
}

static struct item meeters[64];

/* One submits all the others, and then waits for them as all do. */
static void host_run(struct wsrt_task *task, int status)
{
	for (unsigned i = 1; i < meeting; i++)
		submit(&meeters[i].task);
	meet_run(task, status);
}

/* A short task goes before: its worker pops from what a batch has left. */
static void short_run(struct wsrt_task *task, int status)
{
	(void)task;
	(void)status;
	latch_down(&latch);
}

static void meet(unsigned way)
{
	struct wsrt_task *batch[65];
	struct item first = {.task.run = short_run};
	ssize_t count = 1;

	batch[0] = &first.task;
	for (unsigned i = 0; i < meeting; i++)
		batch[count++] = &meeters[i].task;
	items_init(meeters, meeting, meet_run);
	atomic_store(&met, 0);
	latch_init(&latch, meeting + (way == 2));
	if (way == 0)
		meeters[0].task.run = host_run;
	if (way == 0)
		submit(&meeters[0].task);
	else if (way == 1)
		check(wsrt_pool_submit_batch(pool, batch + 1, count - 1,
					     NULL) == count - 1);
	else
		check(wsrt_pool_submit_batch(pool, batch, count, NULL) ==
		      count);
	check_msg(latch_wait(&latch, 20), "%u of %u met, way %u",
		  atomic_load(&met), meeting, way);
}

static void meets(void)
{
	static const unsigned workers[] = {1, 2, 4, 16, 64};

	for (unsigned i = 0; i < 5; i++) {
		for (unsigned hot = 0; hot < 2; hot++) {
			meeting = workers[i];
			pool = stress_pool((struct wsrt_pool_config){
				.worker_count = meeting,
				.spin_ns = hot ? 0 : 1,
			});
			for (unsigned n = 0; n < stress_rounds(6000 / meeting);
			     n++)
				meet(random_below(&stress_random, 3));
			end_pool();
		}
	}
}

static _Atomic bool endless;

static void endless_run(struct wsrt_task *task, int status)
{
	(void)task;
	(void)status;
	while (atomic_load(&endless))
		sched_yield();
}

/* Long enough for a second worker to get a share, on two CPUs as well. */
static void busy_run(struct wsrt_task *task, int status)
{
	uint64_t end = os_clock_ns() + 1000;

	while (os_clock_ns() < end)
		;
	item_run(task, status);
}

static unsigned workers_used(const struct wsrt_stats *before)
{
	unsigned used = 0;

	for (uint32_t i = 0; i < wsrt_pool_worker_count(pool); i++) {
		struct wsrt_stats now = {.size = sizeof now};

		check(wsrt_pool_worker_stats(pool, i, &now) == 0);
		used += now.executed > before[i].executed;
	}
	return used;
}

static void bursts(void)
{
	const unsigned size = stress_rounds(50000) / stress_scale;
	struct item *items = calloc(size, sizeof *items);
	struct wsrt_task **batch = calloc(size, sizeof(struct wsrt_task *));
	struct wsrt_task forever = {.run = endless_run};

	check(items && batch);
	atomic_store(&endless, true);
	pool = stress_workers(8);
	for (unsigned n = 0; n < stress_rounds(20); n++) {
		struct wsrt_stats before[8];
		/* In the midst of a batch, once. */
		unsigned at = n == 0 ? 20 : size;

		for (uint32_t i = 0; i < 8; i++) {
			before[i].size = sizeof *before;
			check(wsrt_pool_worker_stats(pool, i, &before[i]) == 0);
		}
		items_init(items, size, busy_run);
		for (unsigned i = 0; i < size; i++)
			batch[i] = &items[i].task;
		latch_init(&latch, size);
		check(wsrt_pool_submit_batch(pool, batch, at, NULL) ==
		      (ssize_t)at);
		if (at < size) {
			submit(&forever);
			check(wsrt_pool_submit_batch(pool, batch + at,
						     size - at, NULL) ==
			      (ssize_t)(size - at));
		}
		check_msg(latch_wait(&latch, 20), "%u of %u left of burst %u",
			  atomic_load(&latch.left), size, n);
		check(workers_used(before) >= 2);
		sleep_ns(random_below(&stress_random, 2 * MS));
	}
	atomic_store(&endless, false);
	end_pool();
	free(items);
	free(batch);
}

static void starts(void)
{
	for (unsigned n = 0; n < stress_rounds(1000); n++) {
		struct wsrt_task *batch[64];
		struct item items[64];

		items_init(items, 64, item_run);
		for (unsigned i = 0; i < 64; i++)
			batch[i] = &items[i].task;
		latch_init(&latch, 64);
		pool = stress_workers(1 + random_below(&stress_random, 16));
		check(wsrt_pool_submit_batch(pool, batch, 64, NULL) == 64);
		end_pool();
		check(latch_wait(&latch, 0));
	}
}

static struct item tree[4 * 15];
static _Atomic unsigned tree_next;

static void tree_run(struct wsrt_task *task, int status)
{
	struct item *item = wsrt_container_of(task, struct item, task);

	for (unsigned i = 0; item->depth && i < 2; i++) {
		struct item *child = &tree[atomic_fetch_add(&tree_next, 1)];

		*child = (struct item){.task.run = tree_run,
				       .depth = item->depth - 1};
		submit(&child->task);
	}
	item_run(task, status);
}

static void trees(void)
{
	for (unsigned n = 0; n < stress_rounds(4000); n++) {
		latch_init(&latch, 60);
		atomic_store(&tree_next, 4);
		pool = stress_workers(1 + random_below(&stress_random, 4));
		for (unsigned i = 0; i < 4; i++) {
			tree[i] =
				(struct item){.task.run = tree_run, .depth = 3};
			submit(&tree[i].task);
		}
		end_pool();
		check(latch_wait(&latch, 0));
	}
}

static void trickle(void)
{
	const unsigned count = stress_rounds(1000);
	struct wsrt_stats before = {.size = sizeof before}, after = before;
	uint64_t begin, used;

	pool = stress_workers(64);
	sleep_ns(100 * MS);
	check(wsrt_pool_stats(pool, &before) == 0);
	begin = os_clock_ns();
	used = cpu_ns();
	for (unsigned n = 0; n < count; n++) {
		struct item item = {.task.run = item_run};

		latch_init(&latch, 1);
		submit(&item.task);
		check(latch_wait(&latch, 2 * TEST_SLOWER));
		sleep_ns(MS);
	}
	used = cpu_ns() - used;
	check(wsrt_pool_stats(pool, &after) == 0);
	check_msg(after.wakes - before.wakes <= 2 * count,
		  "%llu wakes for %u tasks",
		  (unsigned long long)(after.wakes - before.wakes), count);
	if (TEST_SLOWER == 1)
		check_msg(used < (os_clock_ns() - begin) * 3 / 10,
			  "%.0f ms of CPU", (double)used / 1e6);
	end_pool();
}

static uint64_t parks(void)
{
	struct wsrt_stats stats = {.size = sizeof stats};

	check(wsrt_pool_stats(pool, &stats) == 0);
	return stats.parks;
}

/* From its last task to its sleep; 0 when it slept before we could look. */
static uint64_t search_ns(unsigned spin_ns)
{
	struct item item = {.task.run = item_run};
	uint64_t begin;

	pool = stress_pool((struct wsrt_pool_config){
		.worker_count = 1,
		.spin_ns = spin_ns,
	});
	latch_init(&latch, 1);
	submit(&item.task);
	check(latch_wait(&latch, 2 * TEST_SLOWER));
	begin = os_clock_ns();

	bool late = parks() > 0;

	while (parks() == 0)
		sleep_ns(MS / 10);
	begin = os_clock_ns() - begin;
	end_pool();
	return late ? 0 : begin;
}

static void budget(void)
{
	static const unsigned spins[] = {5 * MS, 20 * MS, 80 * MS};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t best = UINT64_MAX, longest = 0;

		/* Others may use the CPU, so one of five has to do. */
		for (unsigned n = 0; n < 5; n++) {
			uint64_t took = search_ns(spins[i]);

			longest = took > longest ? took : longest;
			if (took && took < best)
				best = took;
		}
		if (longest == 0)
			continue; /* not measured */
		check_msg(longest >= spins[i] * 7ull / 10, "%.1f ms of %.1f",
			  (double)longest / 1e6, spins[i] / 1e6);
		if (TEST_SLOWER == 1)
			check_msg(best <= spins[i] * 13ull / 10 + 5 * MS,
				  "%.1f ms instead of %.1f", (double)best / 1e6,
				  spins[i] / 1e6);
	}
}

/* Of all threads but the first. */
static unsigned long switches_of_others(void)
{
	unsigned long sum = 0;
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	check(dir);
	while ((entry = readdir(dir))) {
		char path[300], line[200];
		unsigned long count;
		FILE *file;

		if (entry->d_name[0] == '.' ||
		    atoi(entry->d_name) == (int)getpid())
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/status",
			 entry->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof line, file))
			if (sscanf(line, "voluntary_ctxt_switches: %lu",
				   &count) == 1)
				sum += count;
		if (file)
			fclose(file);
	}
	closedir(dir);
	return sum;
}

static void idle(void)
{
	unsigned long switches;
	uint64_t used;

	pool = stress_workers(16);
	while (parks() < 16)
		sleep_ns(MS);
	sleep_ns(50 * MS);
	used = cpu_ns();
	switches = switches_of_others();
	sleep_ns(stress_scale * NS_PER_SECOND);
	used = cpu_ns() - used;
	switches = switches_of_others() - switches;
	/* ThreadSanitizer's own thread does not sleep so well. */
	if (!TEST_TSAN)
		check_msg(switches == 0 && used < stress_scale * 5 * MS,
			  "%lu switches, %.3f ms of CPU", switches,
			  (double)used / 1e6);
	end_pool();
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} steps[] = {
		{"trips", trips}, {"edges", edges},	{"naps", naps},
		{"meets", meets}, {"bursts", bursts},	{"starts", starts},
		{"trees", trees}, {"trickle", trickle}, {"budget", budget},
		{"idle", idle},
	};

	stress_begin();
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		stress_next(steps[i].name);
		steps[i].run();
	}
	stress_next("end");
	return 0;
}
