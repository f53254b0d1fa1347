/* SPDX-License-Identifier: MIT */
/* Progress on standard error: a line that redraws itself on a terminal. */
#ifndef WSBENCH_PROGRESS_H
#define WSBENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_mode {
	PROGRESS_AUTO, /* if standard error is a terminal */
	PROGRESS_ALWAYS,
	PROGRESS_NEVER,
};

struct progress {
	bool shown;
	bool terminal;
	const char *name;
	uint32_t reps;
};

void progress_init(struct progress *progress, enum progress_mode mode);

/* Starts on a workload. */
void progress_begin(struct progress *progress, const char *name, uint32_t reps);

/* For bench_options: @progress_arg is a struct progress. */
void progress_step(void *progress_arg, uint32_t reps_done);

/* Leaves the line empty for what comes next. */
void progress_end(struct progress *progress);

#endif
