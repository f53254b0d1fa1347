/* SPDX-License-Identifier: MIT */
/* Every workload, for the table of them. */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include "bench.h"

extern const struct bench_workload bench_inject;
extern const struct bench_workload bench_fib;
extern const struct bench_workload bench_spawn_tree;
extern const struct bench_workload bench_roundtrip;
extern const struct bench_workload bench_many_small;
extern const struct bench_workload bench_few_large;
extern const struct bench_workload bench_uneven;
extern const struct bench_workload bench_idle;
extern const struct bench_workload bench_memory;
extern const struct bench_workload bench_files;

#endif
