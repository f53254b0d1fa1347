/* SPDX-License-Identifier: MIT */
/* Results as a table for people, and as lines of JSON for programs. */
#ifndef WSBENCH_REPORT_H
#define WSBENCH_REPORT_H

#include <stdio.h>

#include "bench.h"

/* One finished workload. */
struct report {
	const struct bench_workload *workload;
	const struct bench_options *options;
	const struct bench_result *result;
	double others; /* share of the machine that other processes used */
};

void report_table_head(FILE *stream);
void report_table_row(FILE *stream, const struct report *report);

/* 0, or -1 when there was no memory or the stream failed. */
int report_json_line(FILE *stream, const struct report *report);

/* The workloads there are, for `list`. */
void report_list(FILE *stream);

#endif
