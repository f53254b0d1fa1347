/* SPDX-License-Identifier: MIT */
/*
 * Whole programs in which one request to the system fails, each in turn: the
 * first, the second, until a program gets by without meeting the fault. And the
 * same with all requests from the n-th on.
 *
 * Each program has to end, with errors as documented, every task that was taken
 * run exactly once, all memory given back and no thread left.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <wsrt/fork.h>
#include <wsrt/wsrt.h>

#define FAULTS_MAX 100000u
#define TASKS 20000u /* over two blocks of the injector */

/* 0: no fault. Counts down to the one that fails. */
static _Atomic unsigned fault_in;
static bool fault_stays;
static _Atomic bool fault_met;
static _Atomic long pieces; /* of memory, that the library holds */

#define check(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: %s: fault %u%s: not so: %s\n", \
				__FILE__, __LINE__, program_name,              \
				fault_number, fault_stays ? " and on" : "",    \
				#condition);                                   \
			abort();                                               \
		}                                                              \
	} while (0)

static const char *program_name = "start";
static unsigned fault_number;

static bool fails(void)
{
	unsigned left = atomic_load(&fault_in);

	while (left > 1 &&
	       !atomic_compare_exchange_weak(&fault_in, &left, left - 1))
		;
	if (left != 1)
		return false;
	if (!fault_stays)
		atomic_store(&fault_in, 0);
	atomic_store(&fault_met, true);
	return true;
}

static void *count_piece(void *piece)
{
	if (piece)
		atomic_fetch_add(&pieces, 1);
	return piece;
}

/* Link arguments send the library's calls through these. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : count_piece(__real_malloc(size));
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : count_piece(__real_calloc(count, size));
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
	if (fails())
		return NULL;

	void *piece = __real_realloc(old, size);

	return old ? piece : count_piece(piece);
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL
		       : count_piece(__real_aligned_alloc(alignment, size));
}

void __real_free(void *piece);
void __wrap_free(void *piece);
void __wrap_free(void *piece)
{
	if (piece)
		atomic_fetch_sub(&pieces, 1);
	__real_free(piece);
}

/* Which name it has depends on the size of off_t. */
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset);
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset)
{
	if (fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return count_piece(
		__real_mmap64(at, size, protection, flags, fd, offset));
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset)
{
	return __wrap_mmap64(at, size, protection, flags, fd, offset);
}

int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size)
{
	atomic_fetch_sub(&pieces, 1);
	return __real_munmap(at, size);
}

typedef void *thread_fn(void *argument);

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  thread_fn *run, void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  thread_fn *run, void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  thread_fn *run, void *argument)
{
	return fails() ? EAGAIN
		       : __real_pthread_create(thread, attributes, run,
					       argument);
}

static unsigned thread_count(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned count = 0;
	struct dirent *entry;

	check(dir);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* The kernel lists a thread for a moment after it could be joined; sanitizers
 * start one of their own with the first. */
static unsigned threads_before;

static bool threads_are_gone(void)
{
	for (unsigned i = 0; i < 1000; i++) {
		if (thread_count() == threads_before)
			return true;
		usleep(1000);
	}
	return false;
}

struct item {
	struct wsrt_task task;
	_Atomic unsigned ran;
	bool taken;
};

static struct item items[TASKS];

static void item_run(struct wsrt_task *task, int status)
{
	struct item *item = wsrt_container_of(task, struct item, task);

	(void)status;
	atomic_fetch_add(&item->ran, 1);
}

static bool submit(struct wsrt_pool *pool, struct item *item)
{
	int error = wsrt_pool_submit(pool, &item->task, NULL);

	check(!error || error == -ENOMEM);
	item->taken = !error;
	return !error;
}

static void check_items(void)
{
	for (unsigned i = 0; i < TASKS; i++) {
		check(atomic_load(&items[i].ran) == items[i].taken);
		atomic_store(&items[i].ran, 0);
		items[i].taken = false;
	}
}

/* From outside, singly and in a batch. */
static void submit_outside(struct wsrt_pool *pool)
{
	struct wsrt_task *batch[TASKS / 2];

	for (unsigned i = 0; i < TASKS / 2; i++) {
		submit(pool, &items[i]);
		batch[i] = &items[TASKS / 2 + i].task;
	}

	ssize_t taken = wsrt_pool_submit_batch(pool, batch, TASKS / 2, NULL);

	check(taken >= 0 || taken == -ENOMEM);
	for (ssize_t i = 0; i < taken; i++)
		items[TASKS / 2 + i].taken = true;
}

/* From a task: into a deque that has to grow for them. */
static void submit_inside_run(struct wsrt_task *task, int status)
{
	struct wsrt_pool *pool = wsrt_pool_current();

	item_run(task, status);
	for (unsigned i = 1; i < TASKS; i++)
		submit(pool, &items[i]);
}

static void submit_inside(struct wsrt_pool *pool)
{
	items[0].task.run = submit_inside_run;
	submit(pool, &items[0]);
}

static _Atomic unsigned forks_run;

static void leaf_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	(void)worker;
	(void)fork;
	atomic_fetch_add(&forks_run, 1);
}

/* Forks that the deque has to grow for, and a submit among them. */
static void fork_run(struct wsrt_task *task, int status)
{
	static struct wsrt_fork forks[2000];
	struct wsrt_worker *worker = wsrt_worker_current();

	item_run(task, status);
	atomic_store(&forks_run, 0);
	for (unsigned i = 0; i < 2000; i++) {
		wsrt_fork(worker, &forks[i], leaf_run);
		if (i % 500 == 499)
			submit(wsrt_pool_current(), &items[1 + i / 500]);
	}
	for (unsigned i = 2000; i-- > 0;)
		wsrt_join(worker, &forks[i], leaf_run);
	check(atomic_load(&forks_run) == 2000);
}

static void fork_inside(struct wsrt_pool *pool)
{
	items[0].task.run = fork_run;
	submit(pool, &items[0]);
}

static void program(void (*use)(struct wsrt_pool *pool))
{
	struct wsrt_pool_config config = {
		.size = sizeof config,
		.worker_count = 3,
		.pin = WSRT_PIN_CORE,
	};
	struct wsrt_pool *pool = NULL;
	int error;

	for (unsigned i = 0; i < TASKS; i++)
		items[i].task.run = item_run;
	error = wsrt_pool_create(&config, &pool);
	check(!error == !!pool);
	if (error) {
		check(error == -ENOMEM || error == -EAGAIN);
		return;
	}
	use(pool);
	check(wsrt_pool_destroy(pool) == 0);
	check_items();
}

/* Lets each request in turn fail, until none is left that could. */
static unsigned try_all(const char *name, void (*use)(struct wsrt_pool *pool),
			bool stays)
{
	program_name = name;
	fault_stays = stays;
	for (fault_number = 1; fault_number < FAULTS_MAX; fault_number++) {
		long before = atomic_load(&pieces);

		atomic_store(&fault_met, false);
		atomic_store(&fault_in, fault_number);
		program(use);
		atomic_store(&fault_in, 0);
		check(atomic_load(&pieces) == before);
		check(threads_are_gone());
		if (!atomic_load(&fault_met))
			break;
	}
	printf("%s%s: %u faults\n", name, stays ? ", all from there on" : "",
	       fault_number - 1);
	/* Creating a pool alone makes more requests than that. */
	check(fault_number > 10 && fault_number < FAULTS_MAX);
	return fault_number;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*use)(struct wsrt_pool *pool);
	} programs[] = {
		{"submits from outside", submit_outside},
		{"submits from a task", submit_inside},
		{"forks", fork_inside},
	};

	alarm(300);
	program(submit_inside);
	usleep(10000);
	threads_before = thread_count();
	for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
		try_all(programs[i].name, programs[i].use, false);
		try_all(programs[i].name, programs[i].use, true);
	}
	return 0;
}
