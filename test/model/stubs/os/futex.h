/* SPDX-License-Identifier: MIT */
/*
 * The futex for the model checker, in place of src/os/futex.h. Who waits is
 * gone for good, and model_main() asks at the end whether the word still is
 * what it slept on. If so nobody woke it: an error, in models where all are to
 * end. If not this execution is given up, for there is another one in which it
 * saw the word change. Thread 0 must not wait.
 */
#ifndef MODEL_OS_FUTEX_H
#define MODEL_OS_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

#include "model.h"

struct timespec;

static inline int os_futex_wait(_Atomic uint32_t *word, uint32_t expected,
				const struct timespec *deadline)
{
	(void)deadline;
	model_sleeps[model_self].word = word;
	model_sleeps[model_self].expected = expected;
	pthread_exit(NULL);
	return 0;
}

static inline void os_futex_wake(_Atomic uint32_t *word, int count)
{
	(void)word;
	(void)count;
}

#endif
