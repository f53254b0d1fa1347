/* SPDX-License-Identifier: MIT */
/* The table of results, and that of workloads. */
#include <inttypes.h>
#include <stdio.h>

#include "report.h"

void report_table_head(FILE *stream)
{
	fprintf(stream, "%-10s %7s %10s %11s %11s %7s  %s\n", "workload",
		"threads", "tasks", "min ns/task", "median", "tasks/s",
		"notes");
}

/* With three digits or more: "12.3M". */
static void format_rate(double rate, char *ret_text, size_t size)
{
	static const char *const units[] = {"", "k", "M", "G"};
	size_t unit = 0;

	while (rate >= 1000 && unit + 1 < sizeof units / sizeof *units) {
		rate /= 1000;
		unit++;
	}
	snprintf(ret_text, size, "%.*f%s", rate < 9.995 ? 2 : rate < 99.95,
		 rate, units[unit]);
}

void report_table_row(FILE *stream, const struct report *report)
{
	const struct bench_result *result = report->result;
	double tasks = (double)result->tasks;
	char rate[32], note[80] = "";

	format_rate(tasks / result->seconds.median, rate, sizeof rate);
	if (report->workload->note)
		report->workload->note(result, note, sizeof note);
	fprintf(stream,
		"%-10s %7" PRIu32 " %10" PRIu64 " %11.1f %11.1f %7s%s%s\n",
		report->workload->name, result->threads, result->tasks,
		1e9 * result->seconds.min / tasks,
		1e9 * result->seconds.median / tasks, rate, *note ? "  " : "",
		note);
	(void)fflush(stream); /* main() asks for errors */
}

/* One default, or a dash where the workload has no use for it. */
static void format_default(const struct bench_workload *workload,
			   unsigned int use, uint64_t value, char ret_text[24])
{
	if (workload->uses & use)
		snprintf(ret_text, 24, "%" PRIu64, value);
	else
		snprintf(ret_text, 24, "-");
}

void report_list(FILE *stream)
{
	size_t count;
	const struct bench_workload *const *all = bench_workloads(&count);

	fprintf(stream, "%-10s %8s %8s %9s %6s %4s  %s\n", "workload", "n",
		"work", "producers", "gap-us", "reps", "what it measures");
	for (size_t i = 0; i < count; i++) {
		const struct bench_options *defaults = &all[i]->defaults;
		char n[24], work[24], producers[24], gap_us[24];

		format_default(all[i], BENCH_N, defaults->n, n);
		format_default(all[i], BENCH_WORK, defaults->work, work);
		format_default(all[i], BENCH_PRODUCERS, defaults->producers,
			       producers);
		format_default(all[i], BENCH_GAP, defaults->gap_us, gap_us);
		fprintf(stream, "%-10s %8s %8s %9s %6s %4" PRIu32 "  %s\n",
			all[i]->name, n, work, producers, gap_us,
			defaults->reps, all[i]->summary);
	}
}
