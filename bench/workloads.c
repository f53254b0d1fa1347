/* SPDX-License-Identifier: MIT */
/* The table of workloads. */
#include "workloads.h"

#include <string.h>

static const struct bench_workload *const table[] = {
	&bench_inject,	  &bench_fib,	     &bench_spawn_tree,
	&bench_roundtrip, &bench_many_small, &bench_few_large,
	&bench_uneven,	  &bench_idle,	     &bench_memory,
	&bench_files,
};

const struct bench_workload *const *bench_workloads(size_t *ret_count)
{
	*ret_count = sizeof table / sizeof *table;
	return table;
}

const struct bench_workload *bench_workload_find(const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (!strcmp(table[i]->name, name))
			return table[i];
	}
	return NULL;
}
