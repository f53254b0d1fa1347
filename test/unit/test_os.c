/* SPDX-License-Identifier: MIT */
/* What is asked of the kernel and of liburcu: futex, threads, deferred frees. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "os/alloc.h"
#include "os/futex.h"
#include "os/rcu.h"
#include "os/thread.h"
#include "support.h"

START_TEST(futex_wait_on_another_value_returns)
{
	_Atomic uint32_t word = 1;

	ck_assert_int_eq(os_futex_wait(&word, 0, NULL), 0);
}
END_TEST

START_TEST(futex_wait_ends_at_its_deadline)
{
	_Atomic uint32_t word = 0;
	uint64_t begin = os_clock_ns();
	struct timespec end = os_timespec(begin + 50 * MS);

	while (os_futex_wait(&word, 0, &end) == 0)
		;
	ck_assert_uint_ge(os_clock_ns() - begin, 50 * MS);
	/* It has passed: no sleep at all. */
	ck_assert_int_eq(os_futex_wait(&word, 0, &end), -ETIMEDOUT);
}
END_TEST

static void nothing(int signal_number)
{
	(void)signal_number;
}

static _Atomic uint32_t never;
static _Atomic unsigned waiting, early;

static void *wait_long(void *argument)
{
	struct timespec *end = argument;

	atomic_store(&waiting, 1);
	while (os_futex_wait(&never, 0, end) == 0)
		;
	if (os_clock_ns() <
	    (uint64_t)end->tv_sec * NS_PER_SECOND + (uint64_t)end->tv_nsec)
		atomic_store(&early, 1);
	return NULL;
}

START_TEST(futex_wait_under_signals_keeps_its_deadline)
{
	struct sigaction action = {.sa_handler = nothing};
	struct timespec end = deadline_in(100 * MS);
	pthread_t thread;

	sigaction(SIGUSR1, &action, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_long, &end), 0);
	ck_assert(await(&waiting, 1));
	for (int i = 0; i < 50; i++) {
		pthread_kill(thread, SIGUSR1);
		sleep_ns(MS);
	}
	pthread_join(thread, NULL);
	ck_assert_uint_eq(atomic_load(&early), 0);
	ck_assert_uint_lt(os_clock_ns(), (uint64_t)end.tv_sec * NS_PER_SECOND +
						 (uint64_t)end.tv_nsec +
						 NS_PER_SECOND);
}
END_TEST

static void *wait_woken(void *argument)
{
	_Atomic uint32_t *word = argument;

	while (atomic_load(word) == 0)
		os_futex_wait(word, 0, NULL);
	return NULL;
}

START_TEST(futex_wake_ends_waits)
{
	_Atomic uint32_t word = 0;
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, wait_woken, &word);
	sleep_ns(10 * MS);
	atomic_store(&word, 1);
	os_futex_wake(&word, INT_MAX);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

/* B37: the waiter may have freed the word by the time it is woken. */
START_TEST(futex_wake_of_memory_that_is_gone_is_harmless)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	munmap(page, 4096);
	os_futex_wake(page, 1);
}
END_TEST

struct naming {
	const char *prefix;
	unsigned index;
	const char *name;
};

static void *take_name(void *argument)
{
	static char name[64];
	struct naming *naming = argument;

	os_thread_name(naming->prefix, naming->index);
	pthread_getname_np(pthread_self(), name, sizeof name);
	return name;
}

/* B94 */
START_TEST(thread_name_is_cut_to_fit)
{
	struct naming namings[] = {
		{"wsrt", 0, "wsrt-0"},
		{"wsrt", 4095, "wsrt-4095"},
		{"", 7, "-7"},
		{"exactly-13-ch", 9, "exactly-13-ch-9"},
		{"exactly-13-chX", 9, "exactly-13-ch-9"},
		{"exactly-13-ch", 10, "exactly-13-c-10"},
		{"a-prefix-of-forty-bytes-which-is-too-long", 3,
		 "a-prefix-of-f-3"},
		{"wsrt", UINT_MAX, "wsrt-4294967295"},
		{"wsrt-more", UINT_MAX, "wsrt-4294967295"},
		/* two bytes each: the seventh would be halved */
		{"ééééééééé", 0, "éééééé-0"},
		{"xééééééééé", 0, "xéééééé-0"},
		/* three and four bytes each */
		{"€€€€€€€", 1, "€€€€-1"},
		{"x€€€€€€€", 1, "x€€€€-1"},
		{"xx€€€€€€€", 1, "xx€€€-1"},
		{"🂡🂡🂡🂡🂡", 1, "🂡🂡🂡-1"},
	};

	for (size_t i = 0; i < sizeof namings / sizeof *namings; i++) {
		pthread_t thread;
		void *name;

		pthread_create(&thread, NULL, take_name, &namings[i]);
		pthread_join(thread, &name);
		ck_assert_str_eq(name, namings[i].name);
	}
}
END_TEST

static void *get_mask(void *argument)
{
	pthread_sigmask(SIG_SETMASK, NULL, argument);
	return NULL;
}

static bool is_open(int signal_number)
{
	static const int open[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP,
				   SIGSYS,  SIGABRT, SIGPROF, SIGKILL, SIGSTOP};

	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		if (signal_number == open[i])
			return true;
	/* The C library keeps two, which cannot be blocked. */
	return signal_number >= 32 && signal_number < SIGRTMIN;
}

/* B17, also when the caller blocks what must stay open */
START_TEST(thread_blocks_all_signals_but_its_own_faults)
{
	sigset_t before, after, theirs, callers[2];

	sigemptyset(&callers[0]);
	sigfillset(&callers[1]);
	for (int c = 0; c < 2; c++) {
		pthread_t thread;

		pthread_sigmask(SIG_SETMASK, &callers[c], NULL);
		pthread_sigmask(SIG_SETMASK, NULL, &before);
		ck_assert_int_eq(os_thread_start(&thread, 0, get_mask, &theirs),
				 0);
		pthread_join(thread, NULL);
		pthread_sigmask(SIG_SETMASK, NULL, &after);
		for (int i = 1; i <= SIGRTMAX; i++) {
			ck_assert_msg(sigismember(&theirs, i) == !is_open(i),
				      "signal %d", i);
			ck_assert_int_eq(sigismember(&after, i),
					 sigismember(&before, i));
		}
	}
}
END_TEST

static void *get_stack(void *argument)
{
	pthread_attr_t attributes;

	must(pthread_getattr_np(pthread_self(), &attributes) == 0);
	pthread_attr_getstacksize(&attributes, argument);
	pthread_attr_destroy(&attributes);
	return NULL;
}

/* B30 */
START_TEST(thread_has_the_stack_asked_for)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes;
	size_t least = (size_t)PTHREAD_STACK_MIN;
	size_t asked[] = {0, 1 << 18, (1 << 18) + 1, 3 << 20};
	size_t want[] = {1 << 20, 1 << 18, (1 << 18) + page, 3 << 20};
	size_t wrong[] = {1, least - 1, SIZE_MAX, SIZE_MAX - page + 1};
	pthread_t thread;

	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		ck_assert_int_eq(
			os_thread_start(&thread, asked[i], get_stack, &bytes),
			0);
		pthread_join(thread, NULL);
		ck_assert_uint_ge(bytes, want[i]);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_int_eq(
			os_thread_start(&thread, wrong[i], get_stack, &bytes),
			-EINVAL);
}
END_TEST

START_TEST(thread_without_room_for_its_stack_is_refused)
{
	pthread_t thread;
	int error = os_thread_start(&thread, (size_t)1 << 60, get_stack, NULL);

	ck_assert(error == -EAGAIN || error == -ENOMEM || error == -EINVAL);
}
END_TEST

START_TEST(memory_is_aligned_and_zero)
{
	size_t edge = OS_ALLOC_MAPPED - OS_ALLOC_HEADER;
	size_t sizes[] = {1,	    127,      128,  129,      1000,
			  edge - 1, edge - 0, edge, edge + 1, 1 << 20};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (int node = -1; node < 2; node++) {
			unsigned char *memory =
				os_alloc_on_node(sizes[i], node);

			ck_assert_ptr_nonnull(memory);
			ck_assert_uint_eq((uintptr_t)memory % CACHE_PAIR, 0);
			for (size_t k = 0; k < sizes[i]; k++)
				if (memory[k])
					ck_abort_msg("not zero");
			memset(memory, 0xff, sizes[i]);
			os_free(memory);
		}
	}
	os_free(NULL);
	ck_assert_ptr_null(os_alloc(SIZE_MAX));
	ck_assert_ptr_null(os_alloc(PTRDIFF_MAX));
}
END_TEST

START_TEST(timespec_splits_seconds)
{
	struct timespec time = os_timespec(5 * NS_PER_SECOND + 7);

	ck_assert_int_eq(time.tv_sec, 5);
	ck_assert_int_eq(time.tv_nsec, 7);
}
END_TEST

struct item {
	struct rcu_deferred deferred;
	_Atomic unsigned *released;
};

static void release(struct rcu_deferred *deferred)
{
	struct item *item = wsrt_container_of(deferred, struct item, deferred);

	atomic_fetch_add(item->released, 1);
}

START_TEST(deferred_is_released_by_itself)
{
	_Atomic unsigned released = 0;
	struct item items[100];

	ck_assert_int_eq(rcu_reclaimer_get(), 0);
	for (unsigned i = 0; i < 100; i++) {
		items[i].released = &released;
		rcu_defer(&items[i].deferred, release);
		if (i == 50)
			sleep_ns(10 * MS); /* asleep, and again */
	}
	ck_assert(await(&released, 100));
	rcu_reclaimer_put();
	ck_assert_uint_eq(atomic_load(&released), 100);
}
END_TEST

START_TEST(deferred_waits_for_a_reader)
{
	_Atomic unsigned released = 0;
	struct item item = {.released = &released};

	ck_assert_int_eq(rcu_reclaimer_get(), 0);
	ck_assert(!rcu_reading());
	rcu_read_begin();
	ck_assert(rcu_reading());
	rcu_defer(&item.deferred, release); /* never waits, here too */
	sleep_ns(50 * MS);
	ck_assert_uint_eq(atomic_load(&released), 0);
	rcu_read_end();
	ck_assert(!rcu_reading());
	ck_assert(await(&released, 1));
	rcu_reclaimer_put();
}
END_TEST

START_TEST(last_put_releases_what_is_left)
{
	_Atomic unsigned released = 0;
	struct item items[3] = {
		{.released = &released},
		{.released = &released},
		{.released = &released},
	};

	ck_assert_int_eq(rcu_reclaimer_get(), 0);
	ck_assert_int_eq(rcu_reclaimer_get(), 0);
	for (unsigned i = 0; i < 3; i++)
		rcu_defer(&items[i].deferred, release);
	rcu_reclaimer_put();
	rcu_reclaimer_put();
	ck_assert_uint_eq(atomic_load(&released), 3);
}
END_TEST

START_TEST(reclaimer_comes_and_goes)
{
	for (unsigned round = 0; round < 200; round++) {
		_Atomic unsigned released = 0;
		struct item item = {.released = &released};

		ck_assert_int_eq(rcu_reclaimer_get(), 0);
		if (round % 3)
			rcu_defer(&item.deferred, release);
		if (round % 7 == 0)
			sleep_ns(MS);
		rcu_reclaimer_put();
		ck_assert_uint_eq(atomic_load(&released), round % 3 != 0);
	}
}
END_TEST

#define DEFERRERS 4
#define DEFERS 20000u

static _Atomic unsigned storm_released;

static void storm_release(struct rcu_deferred *deferred)
{
	atomic_fetch_add(&storm_released, 1);
	free(deferred);
}

static void *defer_many(void *unused)
{
	for (unsigned i = 0; i < DEFERS / TEST_SLOWER; i++) {
		struct rcu_deferred *deferred = malloc(sizeof *deferred);

		must(deferred);
		rcu_defer(deferred, storm_release);
		if (i % 1000 == 0)
			sleep_ns(3 * MS); /* the reclaimer falls asleep */
	}
	return unused;
}

START_TEST(defers_of_many_threads_are_all_released)
{
	pthread_t threads[DEFERRERS];

	ck_assert_int_eq(rcu_reclaimer_get(), 0);
	for (int i = 0; i < DEFERRERS; i++)
		pthread_create(&threads[i], NULL, defer_many, NULL);
	for (int i = 0; i < DEFERRERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert(await(&storm_released, DEFERRERS * (DEFERS / TEST_SLOWER)));
	rcu_reclaimer_put();
	ck_assert_uint_eq(atomic_load(&storm_released),
			  DEFERRERS * (DEFERS / TEST_SLOWER));
}
END_TEST

static int child_defers(void)
{
	_Atomic unsigned released = 0;
	struct item item = {.released = &released};

	if (rcu_reclaimer_get() != 0)
		return 1;
	rcu_defer(&item.deferred, release);
	rcu_reclaimer_put();
	return atomic_load(&released) == 1 ? 0 : 2;
}

START_TEST(reclaimer_starts_anew_in_a_child)
{
	int status;

	ck_assert_int_eq(rcu_reclaimer_get(), 0);
	rcu_before_fork();

	pid_t pid = fork();

	if (pid == 0) {
		rcu_after_fork_child();
		_exit(child_defers());
	}
	rcu_after_fork_parent();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	rcu_reclaimer_put();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("os");

	tcase_add_test(tc, futex_wait_on_another_value_returns);
	tcase_add_test(tc, futex_wait_ends_at_its_deadline);
	tcase_add_test(tc, futex_wait_under_signals_keeps_its_deadline);
	tcase_add_test(tc, futex_wake_ends_waits);
	tcase_add_test(tc, futex_wake_of_memory_that_is_gone_is_harmless);
	tcase_add_test(tc, thread_name_is_cut_to_fit);
	tcase_add_test(tc, thread_blocks_all_signals_but_its_own_faults);
	tcase_add_test(tc, thread_has_the_stack_asked_for);
	tcase_add_test(tc, thread_without_room_for_its_stack_is_refused);
	tcase_add_test(tc, memory_is_aligned_and_zero);
	tcase_add_test(tc, timespec_splits_seconds);
	tcase_add_test(tc, deferred_is_released_by_itself);
	tcase_add_test(tc, deferred_waits_for_a_reader);
	tcase_add_test(tc, last_put_releases_what_is_left);
	tcase_add_test(tc, reclaimer_comes_and_goes);
	tcase_add_test(tc, defers_of_many_threads_are_all_released);
	if (TEST_SLOWER == 1) /* sanitizers lose track of threads at fork() */
		tcase_add_test(tc, reclaimer_starts_anew_in_a_child);
	return run_suite("os", tc);
}
