/* SPDX-License-Identifier: MIT */
/*
 * A machine to order: sysfs and proc in a temporary directory, an affinity
 * mask, and memory that runs out. A checked fixture of each test case.
 */
#ifndef WSRT_TEST_FIXTURE_H
#define WSRT_TEST_FIXTURE_H

#include <sched.h>
#include <stdbool.h>

void fixture_setup(void);
void fixture_teardown(void);

/* Writes a file of the machine, with the directories above it. */
void fixture_file(const char *path, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "node@id/cpulist" and, unless NULL, "node@id/distance" */
void fixture_node(int id, const char *cpus, const char *distances);

/* What the affinity call answers from now on; none at first. */
void fixture_allow(int first, int last);
void fixture_mask_bits(unsigned bits); /* it wants masks as long as these */
void fixture_refuse(int error);	       /* it fails */

/* Whether the last call to pin a thread was for these CPUs and no other. */
bool fixture_pinned(const int *cpus, unsigned count);
void fixture_refuse_pin(int error);

/*
 * The allocation after @count others fails, and only this one; -1 for none.
 * Counts what the library allocates, opendir() and mmap() too.
 */
void fixture_fail_after(int count);

/* Whether one did; from now on none does, since asserts allocate too. */
bool fixture_failed(void);

#endif
