/* SPDX-License-Identifier: MIT */
/* Threads of the library: signals blocked, stacks sized, names that fit. */
#ifndef WSRT_OS_THREAD_H
#define WSRT_OS_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Starts a thread that blocks all signals but those of its own faults and
 * SIGPROF. @stack_bytes 0: the system's default, 1 MiB at least. 0, -EINVAL
 * for a stack under the system's minimum, -EAGAIN or -ENOMEM.
 */
int os_thread_start(pthread_t *ret_thread, size_t stack_bytes,
		    void *(*run)(void *), void *argument);

/* Names the calling thread @prefix and @index, cutting the prefix to fit. */
void os_thread_name(const char *prefix, unsigned index);

#endif
