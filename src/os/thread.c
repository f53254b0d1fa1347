/* SPDX-License-Identifier: MIT */
#include "os/thread.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_DEFAULT_MIN ((size_t)1 << 20)
#define NAME_BYTES 16 /* the kernel's, with the end */
#define CREATE_TRIES 4

static void worker_signals(sigset_t *blocked)
{
	static const int open[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,
				   SIGTRAP, SIGSYS, SIGABRT, SIGPROF};

	sigfillset(blocked);
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		sigdelset(blocked, open[i]);
}

static int set_stack(pthread_attr_t *attributes, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (bytes == 0) {
		if (pthread_attr_getstacksize(attributes, &bytes) != 0 ||
		    bytes < STACK_DEFAULT_MIN)
			bytes = STACK_DEFAULT_MIN;
	} else if (bytes < (size_t)PTHREAD_STACK_MIN ||
		   bytes > SIZE_MAX - page) {
		return EINVAL;
	}
	bytes = (bytes + page - 1) & ~(page - 1);
	return pthread_attr_setstacksize(attributes, bytes);
}

/* EAGAIN can pass: a machine under load is short of threads for moments. */
static int create(pthread_t *ret_thread, const pthread_attr_t *attributes,
		  void *(*run)(void *), void *argument)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int error = 0;

	for (int i = 0; i < CREATE_TRIES; i++) {
		error = pthread_create(ret_thread, attributes, run, argument);
		if (error != EAGAIN)
			break;
		nanosleep(&pause, NULL);
		pause.tv_nsec *= 2;
	}
	return error;
}

int os_thread_start(pthread_t *ret_thread, size_t stack_bytes,
		    void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;
	sigset_t blocked, before;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	error = set_stack(&attributes, stack_bytes);
	if (error)
		goto out;

	/* The new thread inherits our mask: no moment without it. */
	worker_signals(&blocked);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	error = create(ret_thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
out:
	pthread_attr_destroy(&attributes);
	return -error;
}

void os_thread_name(const char *prefix, unsigned index)
{
	char name[NAME_BYTES];
	size_t room = NAME_BYTES - 1 - (size_t)snprintf(NULL, 0, "-%u", index);
	size_t length = strlen(prefix);

	if (length > room) {
		/* Do not leave half of a UTF-8 character. */
		length = room;
		while (length > 0 &&
		       ((unsigned char)prefix[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(name, prefix, length);
	snprintf(name + length, sizeof name - length, "-%u", index);
	pthread_setname_np(pthread_self(), name);
}
