/* SPDX-License-Identifier: MIT */
/* The command line of wsbench. */
#ifndef WSBENCH_OPTIONS_H
#define WSBENCH_OPTIONS_H

#include "bench.h"
#include "progress.h"

/* Exit status for a command line that makes no sense. */
#define EXIT_USAGE 2

enum command {
	COMMAND_NONE,
	COMMAND_LIST,
	COMMAND_TOPOLOGY,
	COMMAND_RUN,
};

/* One workload to run. */
struct item {
	const struct bench_workload *workload;
	struct bench_options options;
};

struct options {
	enum command command;
	struct item *items;
	size_t item_count;
	const char *json; /* file name, "-" for stdout, or NULL */
	enum progress_mode progress;
};

/**
 * options_parse() - read the command line
 * @ret_options: end with options_fini()
 *
 * Exits by itself after --help and --version, and, with a message and
 * EXIT_USAGE, when the command line makes no sense.
 */
void options_parse(int argc, char **argv, struct options *ret_options);

void options_fini(struct options *options);

#endif
