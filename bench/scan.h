/* SPDX-License-Identifier: MIT */
/*
 * One step of walking a directory tree: list a directory, or read a file.
 * Who does the steps, and in which order, is the caller's choice.
 */
#ifndef BENCH_SCAN_H
#define BENCH_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include <wsrt/task.h>

struct scan_totals {
	uint64_t files;	      /* read to the end */
	uint64_t directories; /* listed to the end */
	uint64_t errors;      /* files and directories that were not */
	uint64_t bytes;
	uint64_t words;	  /* runs of other bytes than white space */
	uint64_t crc_sum; /* sum of the files' crc32: any order gives it */
};

/* A file or directory yet to be visited. */
struct scan_node {
	struct wsrt_task task;
	struct scan_node *next; /* the emitting caller's */
	void *owner;		/* the same as its parent's */
	bool directory;
	bool root; /* may be a symbolic link */
	char path[];
};

/* What a thread needs to visit nodes. */
struct scanner {
	struct scan_totals totals;
	unsigned char buffer[65536];
} __attribute__((aligned(128)));

/* Takes over a node that was found. 0 or a negative errno, node kept then. */
typedef int scan_emit_fn(struct scan_node *node);

/* The tree's root; free() it. NULL without memory. */
struct scan_node *scan_root_create(const char *dir, void *owner);

/**
 * scan_visit() - read a file, or list a directory and emit its entries
 * @emit: called for each regular file and directory; links are not followed
 *
 * What cannot be opened or read is counted as an error. At most one file
 * descriptor is open, and none after return.
 *
 * Return: 0, or a negative errno: no memory, or that of @emit.
 */
int scan_visit(struct scanner *scanner, const struct scan_node *node,
	       scan_emit_fn *emit);

void scan_totals_add(struct scan_totals *sum, const struct scan_totals *more);
bool scan_totals_equal(const struct scan_totals *left,
		       const struct scan_totals *right);

#endif
