/* SPDX-License-Identifier: MIT */
/*
 * The reclaimer: one thread for the library that frees what was deferred.
 *
 * Deferring pushes on a stack, any number of threads at once; the reclaimer
 * takes the whole stack, so nothing is popped singly and ABA cannot arise.
 * It sleeps on a futex word without a time-out while the stack is empty. With
 * work it rests REST_NS between rounds: a grace period interrupts every CPU
 * that runs one of our threads, and one serves for all deferred meanwhile.
 */
#include "os/rcu.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "os/clock.h"
#include "os/futex.h"
#include "os/thread.h"

#define REST_NS 2000000u
#define RECLAIMER_STACK_BYTES ((size_t)256 << 10)

enum reclaimer_word {
	RECLAIMER_AWAKE,
	RECLAIMER_ASLEEP,
	RECLAIMER_STOP,
};

static struct {
	pthread_mutex_t lock;
	unsigned users;	  /* L */
	pthread_t thread; /* L */
	_Atomic(struct rcu_deferred *) deferred;
	_Atomic uint32_t word; /* enum reclaimer_word */
} reclaimer = {.lock = PTHREAD_MUTEX_INITIALIZER};

#ifdef WSRT_TSAN
char rcu_tsan_tag;
#endif

static void release_all(struct rcu_deferred *deferred)
{
	if (!deferred)
		return;
	urcu_bp_synchronize_rcu();
#ifdef WSRT_TSAN
	__tsan_acquire(&rcu_tsan_tag);
#endif
	while (deferred) {
		struct rcu_deferred *next = deferred->next;

		deferred->release(deferred);
		deferred = next;
	}
}

static struct rcu_deferred *take_all(void)
{
	/* (T) Acquire: pairs with (D) in rcu_defer(). */
	return atomic_exchange_explicit(&reclaimer.deferred, NULL,
					memory_order_acquire);
}

void rcu_defer(struct rcu_deferred *deferred,
	       void (*release)(struct rcu_deferred *deferred))
{
	struct rcu_deferred *head =
		atomic_load_explicit(&reclaimer.deferred, memory_order_relaxed);
	uint32_t asleep = RECLAIMER_ASLEEP;

	deferred->release = release;
	do
		deferred->next = head;
	/* (D) Release: pairs with (T) in take_all(). Seq_cst, with (W). */
	while (!atomic_compare_exchange_weak_explicit(
		&reclaimer.deferred, &head, deferred, memory_order_seq_cst,
		memory_order_relaxed));

	/*
	 * (W) Pairs with (S) in sleep_until_deferred():
	 *
	 *	deferrer			reclaimer
	 *	cas[deferred]	(D)		w[word] = ASLEEP  (S)
	 *	r[word]		(W)		r[deferred]
	 *
	 * One of the two reads sees the other's store.
	 */
	if (atomic_load_explicit(&reclaimer.word, memory_order_seq_cst) ==
		    RECLAIMER_ASLEEP &&
	    atomic_compare_exchange_strong_explicit(
		    &reclaimer.word, &asleep, RECLAIMER_AWAKE,
		    memory_order_relaxed, memory_order_relaxed))
		os_futex_wake(&reclaimer.word, 1);
}

/* Returns false when it is time to stop. */
static bool sleep_until_deferred(void)
{
	uint32_t word = RECLAIMER_AWAKE;

	/* (S) Pairs with (W) in rcu_defer(). The CAS keeps a STOP. */
	if (!atomic_compare_exchange_strong_explicit(
		    &reclaimer.word, &word, RECLAIMER_ASLEEP,
		    memory_order_seq_cst, memory_order_relaxed))
		return false;
	if (atomic_load_explicit(&reclaimer.deferred, memory_order_seq_cst)) {
		word = RECLAIMER_ASLEEP;
		atomic_compare_exchange_strong_explicit(
			&reclaimer.word, &word, RECLAIMER_AWAKE,
			memory_order_relaxed, memory_order_relaxed);
	}
	while ((word = atomic_load_explicit(&reclaimer.word,
					    memory_order_relaxed)) ==
	       RECLAIMER_ASLEEP)
		os_futex_wait(&reclaimer.word, RECLAIMER_ASLEEP, NULL);
	return word != RECLAIMER_STOP;
}

/* A pause that a stop cuts short. */
static void rest(void)
{
	struct timespec end = os_timespec(os_clock_ns() + REST_NS);

	while (atomic_load_explicit(&reclaimer.word, memory_order_relaxed) ==
		       RECLAIMER_AWAKE &&
	       os_futex_wait(&reclaimer.word, RECLAIMER_AWAKE, &end) == 0)
		;
}

static void *reclaimer_main(void *unused)
{
	os_thread_name("wsrt-reclaim", 0);
	while (sleep_until_deferred()) {
		rest();
		release_all(take_all());
	}
	return unused;
}

int rcu_reclaimer_get(void)
{
	int error = 0;

	pthread_mutex_lock(&reclaimer.lock);
	if (reclaimer.users == 0) {
		atomic_store_explicit(&reclaimer.word, RECLAIMER_AWAKE,
				      memory_order_relaxed);
		error = os_thread_start(&reclaimer.thread,
					RECLAIMER_STACK_BYTES, reclaimer_main,
					NULL);
	}
	if (!error)
		reclaimer.users++;
	pthread_mutex_unlock(&reclaimer.lock);
	return error;
}

void rcu_reclaimer_put(void)
{
	pthread_mutex_lock(&reclaimer.lock);
	if (--reclaimer.users == 0) {
		atomic_store_explicit(&reclaimer.word, RECLAIMER_STOP,
				      memory_order_relaxed);
		os_futex_wake(&reclaimer.word, 1);
		pthread_join(reclaimer.thread, NULL);
		release_all(take_all());
	}
	pthread_mutex_unlock(&reclaimer.lock);
}

/*
 * liburcu 0.13 leaves one lock as it was, that of registering a reader: another
 * thread may hold it. The child's only thread shall not need it.
 */
void rcu_before_fork(void)
{
	rcu_read_begin();
	rcu_read_end();
	pthread_mutex_lock(&reclaimer.lock);
	urcu_bp_before_fork();
}

void rcu_after_fork_parent(void)
{
	urcu_bp_after_fork_parent();
	pthread_mutex_unlock(&reclaimer.lock);
}

void rcu_after_fork_child(void)
{
	urcu_bp_after_fork_child();
	reclaimer.users = 0;
	pthread_mutex_unlock(&reclaimer.lock);
}
