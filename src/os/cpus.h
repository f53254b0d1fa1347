/* SPDX-License-Identifier: MIT */
/*
 * CPUs by the kernel's numbers, of any size: which ones we may use, which
 * share a core or an L3 cache, and staying on some of them.
 */
#ifndef WSRT_OS_CPUS_H
#define WSRT_OS_CPUS_H

#include <sched.h>
#include <stdbool.h>

/* No kernel has as many CPUs or nodes; a larger number is garbage. */
#define OS_CPU_LIMIT (1 << 20)

/* The system calls, for tests to replace. */
extern int (*os_getaffinity)(pid_t pid, size_t bytes, cpu_set_t *ret_mask);
extern int (*os_setaffinity)(pid_t pid, size_t bytes, const cpu_set_t *mask);

/*
 * The CPUs that the calling thread may use, ascending; at least one. Where
 * the kernel does not tell, those online, or else CPU 0. @ret_cpus is to be
 * freed. 0 or -ENOMEM.
 */
int os_cpus_allowed(int **ret_cpus, unsigned *ret_count);

/*
 * Groups of @cpus that share a core or an L3 cache: each gets the number of
 * the first of @cpus in its group. One with an unknown core has one of its
 * own, one with an unknown L3 gets -1. 0 or -ENOMEM.
 */
int os_cpu_cores(const int *cpus, unsigned count, int *ret_cores);
int os_cpu_l3s(const int *cpus, unsigned count, int *ret_l3s);

/*
 * Whether a list such as "0-3,8\n" has @cpu. NULL has none, nor has one with
 * garbage anywhere: half of a list would tell lies.
 */
bool os_cpulist_has(const char *list, int cpu);

/*
 * Keeps the calling thread on @cpus. 0, -ENOMEM, -EINVAL for no CPU, a number
 * out of range or none that we may use, or what else the kernel says.
 */
int os_thread_pin(const int *cpus, unsigned count);

/* Where the calling thread runs, which may change at once; -1 unknown. */
int os_cpu_current(void);

#endif
