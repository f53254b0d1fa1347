/* SPDX-License-Identifier: MIT */
/*
 * What the stress tests share. Each is a program that tries the same thing many
 * times with random timing, and says on failure how to try that again:
 *
 *	WSRT_STRESS_SEED	the seed, else taken from the clock
 *	WSRT_STRESS_SCALE	so many times as long; 1 takes some ten seconds
 *
 * Under sanitizers they do less. A watchdog ends what hangs.
 */
#ifndef WSRT_TEST_STRESS_H
#define WSRT_TEST_STRESS_H

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>

#include "base/random.h"
#include "os/futex.h"
#include "support.h"

#define WATCHDOG_SECONDS 300u

static uint64_t stress_seed, stress_random;
static unsigned stress_scale = 1;
static const char *stress_step = "start";

static inline void stress_hint(void)
{
	fprintf(stderr, "in step '%s': WSRT_STRESS_SEED=%llu\n", stress_step,
		(unsigned long long)stress_seed);
}

static inline void __attribute__((format(printf, 3, 4), noreturn))
stress_fail(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	stress_hint();
	abort();
}

/* Like must(), with the seed: for any thread. */
#define check(condition)                                                       \
	do {                                                                   \
		if (!(condition))                                              \
			stress_fail(__FILE__, __LINE__, "not so: %s",          \
				    #condition);                               \
	} while (0)

#define check_msg(condition, ...)                                              \
	do {                                                                   \
		if (!(condition))                                              \
			stress_fail(__FILE__, __LINE__, __VA_ARGS__);          \
	} while (0)

static inline void stress_timeout(int signal_number)
{
	(void)signal_number;
	fprintf(stderr, "hangs\n");
	stress_hint();
	abort();
}

static inline void stress_begin(void)
{
	const char *seed = getenv("WSRT_STRESS_SEED");
	const char *scale = getenv("WSRT_STRESS_SCALE");

	stress_seed = seed ? strtoull(seed, NULL, 0) : os_clock_ns();
	stress_random = stress_seed ? stress_seed : 1;
	if (scale && atoi(scale) > 0)
		stress_scale = (unsigned)atoi(scale);
	unsetenv("WSRT_WORKERS");
	unsetenv("WSRT_TOPOLOGY");
	signal(SIGALRM, stress_timeout);
	alarm(WATCHDOG_SECONDS * stress_scale);
}

/* How many of @rounds to make. */
static inline unsigned stress_rounds(unsigned rounds)
{
	rounds /= TEST_SLOWER;
	return (rounds ? rounds : 1) * stress_scale;
}

/* Says what is done, and how long the former took, if asked to. */
static inline void stress_next(const char *step)
{
	static uint64_t begin;
	uint64_t now = os_clock_ns();

	if (begin && getenv("WSRT_STRESS_VERBOSE"))
		fprintf(stderr, "%-12s %6.2f s\n", stress_step,
			(double)(now - begin) / 1e9);
	begin = now;
	stress_step = step;
}

static inline struct wsrt_pool *stress_pool(struct wsrt_pool_config config)
{
	struct wsrt_pool *pool;
	int error;

	config.size = sizeof config;
	error = wsrt_pool_create(&config, &pool);
	check_msg(!error, "create: %s", strerror(-error));
	return pool;
}

static inline struct wsrt_pool *stress_workers(unsigned count)
{
	return stress_pool((struct wsrt_pool_config){.worker_count = count});
}

/* A counter to count down and a sleeper who waits for 0. (ThreadSanitizer does
 * not know sem_clockwait(), and a lock would hide what tasks do not order.) */
struct latch {
	_Atomic uint32_t left;
};

static inline void latch_init(struct latch *latch, unsigned count)
{
	atomic_store(&latch->left, count);
}

/* The latch may be gone after this. */
static inline void latch_down(struct latch *latch)
{
	if (atomic_fetch_sub(&latch->left, 1) == 1)
		os_futex_wake(&latch->left, 1);
}

/* False after @seconds. */
static inline bool latch_wait(struct latch *latch, unsigned seconds)
{
	struct timespec end = deadline_in(seconds * NS_PER_SECOND);
	uint32_t left;

	while ((left = atomic_load(&latch->left)))
		if (os_futex_wait(&latch->left, left, &end))
			return atomic_load(&latch->left) == 0;
	return true;
}

static inline unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	check(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* ThreadSanitizer has one of its own. */
static inline unsigned thread_count(void)
{
	return count_entries("/proc/self/task");
}

static inline uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

/* Each of a number of things, once. */
struct once {
	_Atomic uint64_t *bits;
	size_t count;
};

static inline void once_init(struct once *once, size_t count)
{
	once->count = count;
	once->bits = calloc(count / 64 + 1, sizeof *once->bits);
	check(once->bits);
}

static inline void once_mark(struct once *once, size_t index)
{
	uint64_t bit = 1ull << index % 64;

	check_msg(index < once->count, "%zu is none of them", index);
	check_msg(!(atomic_fetch_or_explicit(&once->bits[index / 64], bit,
					     memory_order_relaxed) &
		    bit),
		  "%zu came twice", index);
}

static inline void once_end(struct once *once)
{
	for (size_t i = 0; i < once->count; i++)
		check_msg(atomic_load_explicit(&once->bits[i / 64],
					       memory_order_relaxed) >>
					  i % 64 &
				  1,
			  "%zu was lost", i);
	free(once->bits);
}

#endif
