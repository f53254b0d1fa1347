/* SPDX-License-Identifier: MIT */
/* The pool and its workers as the files of this folder share them. */
#ifndef WSRT_SCHED_POOL_H
#define WSRT_SCHED_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <wsrt/pool.h>
#include <wsrt/stats.h>

#include "park/idle.h"
#include "queue/deque.h"
#include "queue/injector.h"
#include "topology/topology.h"
#include "topology/victims.h"

#define PRIORITY_COUNT 3u
#define SPARES_DEFAULT 256u /* and one for each worker */
#define GUESTS_MAX 64u

/* Most words taken at once from the injector or a near victim; a far one. */
#define BATCH_NEAR 32u
#define BATCH_FAR 64u

/* Counters of one worker: it alone writes, anyone reads. */
struct counters {
	_Atomic uint64_t submitted; /* to its own deque */
	_Atomic uint64_t executed;
	_Atomic uint64_t cancelled;
	_Atomic uint64_t injected;
	_Atomic uint64_t steals[WSRT_TIER_COUNT];
	_Atomic uint64_t stolen_tasks[WSRT_TIER_COUNT];
	_Atomic uint64_t forks_stolen;
	_Atomic uint64_t searches;
	_Atomic uint64_t parks;
	_Atomic uint64_t wakes;
	_Atomic uint64_t failed;
	_Atomic(const struct wsrt_task *) running;
	_Atomic uint32_t waiting; /* enum wsrt_waiting */
	_Atomic(const void *) waiting_for;
};

static inline void count_add(_Atomic uint64_t *counter, uint64_t more)
{
	uint64_t count = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, count + more, memory_order_relaxed);
}

/* O: its own thread's, I: set at init */
struct worker {
	struct deque deque; /* first: a wsrt_worker is a worker */

	_Alignas(CACHE_PAIR) struct wsrt_pool *pool; /* I */
	unsigned index, node;			     /* I */
	unsigned home;		   /* I the worker that it is placed like */
	struct victims victims;	   /* I */
	unsigned *last_victims;	   /* O for each tier: whom it robbed last */
	uint64_t random;	   /* O */
	uint32_t patience_ns;	   /* O how long to search */
	unsigned picks;		   /* O since the last fair one */
	unsigned inline_forks;	   /* O run at once, and not joined yet */
	unsigned fair_turns;	   /* O fair picks so far */
	bool working;		   /* O runs tasks: is in no hook */
	bool leaving;		   /* O runs no task any more */
	bool spare;		   /* I sleeps at first */
	bool blocked;		   /* O has handed over its permit */
	struct call *call;	   /* O innermost of those under way */
	struct boundary *boundary; /* O where a failure goes */
	struct wsrt_cleanup *cleanups; /* O newest */
	struct wsrt_fork *forks;       /* O newest published and not joined */
	struct worker *outer; /* O of a guest: what its thread was before */
	struct counters counts;
	pthread_t thread;   /* I, but when a task ended its thread */
	pthread_t ended;    /* the thread before, to be joined by this one */
	bool replaces;	    /* there was one */
	bool started;	    /* L of the pool's lock: to be joined */
	_Atomic bool taken; /* A a guest is in */
	struct worker *next_retired; /* L of the pool's permit_lock */

	struct parker parker;
};

/* Queues of one NUMA node. */
struct node {
	struct injector shards[PRIORITY_COUNT];
};

/* I: set at init, A: atomic, L: under the lock */
struct wsrt_pool {
	/* What every task reads and hardly anything writes. */
	_Atomic int task_status;	   /* A 0 or -ECANCELED */
	_Atomic uint32_t priorities_used;  /* A bits that only get set */
	struct wsrt_pool_config config;	   /* I with defaults filled in */
	unsigned worker_count, node_count; /* I */
	unsigned slot_max;		   /* I length of workers */
	_Atomic unsigned slot_count;	   /* A how many there are by now */
	_Atomic uint32_t permits;	   /* A enabled 16 | blocked 16 */
	struct worker **workers;	   /* each set before slot_count */
	struct node **nodes;		   /* I */
	struct wsrt_topology *topology;	   /* I */
	unsigned *cpus;			   /* I of each worker */
	char name[16];			   /* I */

	struct idle_set idle;

	/* Who may run: permits.h. */
	pthread_mutex_t permit_lock;
	struct worker *retired;	  /* L of permit_lock */
	unsigned thread_count;	  /* L of permit_lock: but guests' */
	struct worker *unstarted; /* L its thread could not be started */
	struct worker *guests[GUESTS_MAX]; /* L */
	_Atomic unsigned guest_count;	   /* A how many of these there are */

	/* Producers asleep for want of capacity. */
	_Alignas(CACHE_PAIR) _Atomic uint32_t full_waiters;
	_Atomic uint32_t full_word; /* A changes when there is room */

	/* Ending. */
	_Alignas(CACHE_PAIR) _Atomic bool closing; /* A no work from outside */
	_Atomic bool stopping;	     /* A workers leave when out of work */
	_Atomic bool owner_dead;     /* A the fork of a process that had it */
	_Atomic uint32_t quiet_word; /* A changes when all fell asleep */
	_Atomic uint32_t pin_failures;
	pthread_mutex_t lock; /* who joins the threads */

	struct wsrt_pool *next; /* L of the list of pools */
};

/* The worker whose thread this is; NULL on other threads. */
extern _Thread_local struct worker *worker_self;

/* worker.c */
void *worker_main(void *argument);
/* Whether a queue holds something that a worker could take, now or soon. */
bool worker_look(struct wsrt_pool *pool);
/* Runs any one task, though not a fork, inside the running one. */
bool worker_help(struct worker *worker);
/* A rest between looks for work: longer from step to step, up to a limit. */
void worker_rest(struct worker *worker, unsigned step);

/* A task is there for anyone to take: wakes a worker if none looks for it. */
static inline void pool_notify(struct wsrt_pool *pool, unsigned node)
{
	if (idle_wants_wake(&pool->idle))
		idle_wake(&pool->idle, node);
}

/* shards.c: whether every slot claimed in any shard has been taken; */
bool pool_drained(struct wsrt_pool *pool);
/* no submit from outside succeeds from now on. */
void pool_close_shards(struct wsrt_pool *pool);

static inline unsigned pool_slots(const struct wsrt_pool *pool)
{
	/* Acquire: pairs with the release in worker_add(). */
	return atomic_load_explicit(&pool->slot_count, memory_order_acquire);
}

/*
 * slots.c: adds a worker that is like worker @home, its node apart. NULL when
 * there is no memory or no room. One thread at a time.
 */
/* Where to put what belongs to a node; anywhere when there is but one. */
int pool_memory_node(const struct wsrt_pool *pool, unsigned node);
struct worker *worker_add(struct wsrt_pool *pool, unsigned home);
void worker_free(struct worker *worker);
int worker_start(struct worker *worker);

/* pool.c: tells who waits for the pool to fall quiet, if it has. */
void pool_check_quiet(struct wsrt_pool *pool);
/* Wakes those who wait for the pool to fall quiet. */
void pool_tell_quiet(struct wsrt_pool *pool);

/* lives.c: all pools of the process, for fork(). */
int lives_add(struct wsrt_pool *pool);
void lives_remove(struct wsrt_pool *pool);

/* submit.c */
void submit_room_made(struct wsrt_pool *pool);

#endif
