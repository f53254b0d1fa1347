/* SPDX-License-Identifier: MIT */
/* How much of the machine other processes use, from /proc/stat. */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "machine.h"

static double own_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct load machine_load(void)
{
	/* user nice system idle iowait irq softirq steal */
	double ticks[8], hertz = (double)sysconf(_SC_CLK_TCK);
	struct load load = {.own = own_seconds()};
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return (struct load){0};
	if (fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0],
		   &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5],
		   &ticks[6], &ticks[7]) == 8) {
		for (int i = 0; i < 8; i++)
			load.total += ticks[i] / hertz;
		load.busy = load.total - (ticks[3] + ticks[4]) / hertz;
	}
	(void)fclose(file); /* it was only read */
	return load;
}

double machine_load_of_others(const struct load *before)
{
	struct load after = machine_load();
	double total = after.total - before->total;
	double others = after.busy - before->busy - (after.own - before->own);

	/* The kernel counts in ticks: a short time tells nothing. */
	if (total < 0.1)
		return 0;
	return fmin(fmax(others / total, 0), 1);
}
