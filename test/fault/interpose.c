/* SPDX-License-Identifier: MIT */
#include "interpose.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LIVE_MAX 65536u /* a power of two */
#define GONE ((void *)-1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool counting;		 /* L */
static int left = -1;		 /* L allocations before one fails */
static bool for_ever, failed;	 /* L */
static void *live[LIVE_MAX];	 /* L by hash, GONE where one was */
static unsigned live_count;	 /* L */
static int threads_left = -1;	 /* L threads before one is refused */
static unsigned thread_refusals; /* L */
static int thread_error;	 /* L */
static unsigned threads_refused; /* L */

static void **find(void *memory)
{
	uintptr_t hash = (uintptr_t)memory >> 4;

	for (unsigned i = 0; i < LIVE_MAX; i++) {
		void **entry = &live[(hash + i) % LIVE_MAX];

		if (*entry == memory || !*entry)
			return entry;
	}
	abort();
}

/* One more allocation: whether it is to fail. */
static bool fails(void)
{
	bool fail = false;

	pthread_mutex_lock(&lock);
	if (counting && left >= 0 && left-- == 0) {
		fail = true;
		failed = true;
		left = for_ever ? 0 : -1;
	}
	pthread_mutex_unlock(&lock);
	if (fail)
		errno = ENOMEM;
	return fail;
}

static void *keep(void *memory)
{
	pthread_mutex_lock(&lock);
	if (counting && memory) {
		*find(memory) = memory;
		live_count++;
	}
	pthread_mutex_unlock(&lock);
	return memory;
}

static void forget(void *memory)
{
	if (!memory)
		return;
	pthread_mutex_lock(&lock);

	void **entry = find(memory);

	if (*entry) {
		*entry = GONE;
		live_count--;
	}
	pthread_mutex_unlock(&lock);
}

void fault_begin(int count, bool forever)
{
	pthread_mutex_lock(&lock);
	/* So that searches do not grow longer and longer. */
	for (unsigned i = 0; !live_count && i < LIVE_MAX; i++)
		live[i] = NULL;
	left = count;
	for_ever = forever;
	failed = false;
	counting = true;
	pthread_mutex_unlock(&lock);
}

bool fault_end(void)
{
	pthread_mutex_lock(&lock);

	bool result = failed;

	left = -1;
	counting = false;
	pthread_mutex_unlock(&lock);
	return result;
}

unsigned fault_live(void)
{
	pthread_mutex_lock(&lock);

	unsigned result = live_count;

	pthread_mutex_unlock(&lock);
	return result;
}

void fault_threads(int count, unsigned times, int error)
{
	pthread_mutex_lock(&lock);
	threads_left = count;
	thread_refusals = times;
	thread_error = error;
	threads_refused = 0;
	pthread_mutex_unlock(&lock);
}

unsigned fault_threads_refused(void)
{
	pthread_mutex_lock(&lock);

	unsigned result = threads_refused;

	pthread_mutex_unlock(&lock);
	return result;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : keep(__real_malloc(size));
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : keep(__real_calloc(count, size));
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : keep(__real_aligned_alloc(alignment, size));
}

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
	if (fails())
		return NULL;
	/* Before: once given back, another thread may get the same piece. */
	forget(memory);
	return keep(__real_realloc(memory, size));
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
	forget(memory);
	__real_free(memory);
}

/* Which name it has depends on the size of off_t. */
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset)
{
	if (fails())
		return MAP_FAILED;

	void *memory = __real_mmap64(at, size, protection, flags, fd, offset);

	return memory == MAP_FAILED ? memory : keep(memory);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset)
{
	return __wrap_mmap64(at, size, protection, flags, fd, offset);
}

int __real_munmap(void *memory, size_t size);
int __wrap_munmap(void *memory, size_t size);
int __wrap_munmap(void *memory, size_t size)
{
	forget(memory);
	return __real_munmap(memory, size);
}

int __real_pthread_create(pthread_t *ret_thread, const pthread_attr_t *how,
			  void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *how,
			  void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *how,
			  void *(*run)(void *), void *argument)
{
	int error = 0;

	pthread_mutex_lock(&lock);
	if (threads_left == 0 && thread_refusals > 0) {
		error = thread_error;
		thread_refusals--;
		threads_refused++;
	} else if (threads_left > 0) {
		threads_left--;
	}
	pthread_mutex_unlock(&lock);
	if (error)
		return error;
	return __real_pthread_create(ret_thread, how, run, argument);
}
