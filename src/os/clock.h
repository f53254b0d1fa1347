/* SPDX-License-Identifier: MIT */
/* The monotonic clock: steps of the wall clock do not concern us. */
#ifndef WSRT_OS_CLOCK_H
#define WSRT_OS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull

static inline uint64_t os_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static inline struct timespec os_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NS_PER_SECOND),
		.tv_nsec = (long)(ns % NS_PER_SECOND),
	};
}

#endif
