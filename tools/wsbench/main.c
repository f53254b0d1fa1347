/* SPDX-License-Identifier: MIT */
/* wsbench: measures the runtime. Lists, shows the machine, runs workloads. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wsrt/wsrt.h>

#include "machine.h"
#include "options.h"
#include "report.h"

/* Above this share of the machine used by others, times mean little. */
#define OTHERS_LIMIT 0.10

struct session {
	const struct options *options;
	struct progress progress;
	uint32_t cpu_count;
	FILE *json; /* NULL, a file, or stdout, which then has no table */
};

__attribute__((format(printf, 1, 2))) static void complain(const char *format,
							   ...)
{
	va_list args;

	fputs("wsbench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* An exit status. */
static int read_topology(struct wsrt_topology **ret_topology)
{
	int error = wsrt_topology_read(ret_topology);

	if (!error)
		return EXIT_SUCCESS;
	if (error == -EINVAL)
		complain("WSRT_TOPOLOGY does not parse");
	else
		complain("no topology: %s", strerror(-error));
	return error == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

static int show_topology(void)
{
	struct wsrt_topology *topology;
	int status = read_topology(&topology);

	if (status)
		return status;
	if (machine_print(stdout, topology)) {
		complain("no memory");
		status = EXIT_FAILURE;
	}
	wsrt_topology_destroy(topology);
	return status;
}

/* Says, before anything runs, what will make the numbers poor. */
static void warn_before(const struct session *session)
{
	uint32_t threads = session->options->items->options.threads;

#ifndef __OPTIMIZE__
	complain("warning: built without optimization; configure with "
		 "--buildtype=release to measure");
#endif
	if (threads > session->cpu_count)
		complain("warning: %" PRIu32 " threads on %" PRIu32
			 " CPUs; times include waiting for a CPU",
			 threads, session->cpu_count);
}

/* What is measured once is not a time, and does not suffer. */
static void warn_after(const struct report *report)
{
	if (report->workload->uses & BENCH_REPS &&
	    report->others > OTHERS_LIMIT)
		complain("warning: other processes used %.0f %% of the machine "
			 "during %s; stop them and measure again",
			 100 * report->others, report->workload->name);
}

/* An exit status. */
static int print_report(const struct session *session,
			const struct report *report)
{
	if (session->json != stdout)
		report_table_row(stdout, report);
	if (!session->json || !report_json_line(session->json, report))
		return EXIT_SUCCESS;
	complain("cannot write JSON: %s", strerror(errno));
	return EXIT_FAILURE;
}

/* An exit status. */
static int run_item(struct session *session, const struct item *item)
{
	struct bench_options options = item->options;
	const struct bench_workload *workload = item->workload;
	struct load before = machine_load();
	struct bench_result result;
	int error, status;

	options.progress = progress_step;
	options.progress_arg = &session->progress;
	progress_begin(&session->progress, workload->name, options.reps);
	error = bench_measure(workload, &options, &result);
	progress_end(&session->progress);
	if (error) {
		complain("%s: %s", workload->name, result.message);
		status = error == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	} else {
		struct report report = {
			.workload = workload,
			.options = &options,
			.result = &result,
			.others = machine_load_of_others(&before),
		};

		status = print_report(session, &report);
		warn_after(&report);
	}
	bench_result_fini(&result);
	return status;
}

/* An exit status: the first that is not success. */
static int run_items(struct session *session)
{
	const struct options *options = session->options;
	int status = EXIT_SUCCESS;

	warn_before(session);
	if (session->json != stdout)
		report_table_head(stdout);
	for (size_t i = 0; i < options->item_count; i++) {
		int item_status = run_item(session, &options->items[i]);

		if (!status)
			status = item_status;
	}
	return status;
}

/* Opens where JSON goes. An exit status. */
static int open_json(struct session *session)
{
	const char *name = session->options->json;

	if (!name)
		return EXIT_SUCCESS;
	session->json = strcmp(name, "-") ? fopen(name, "we") : stdout;
	if (session->json)
		return EXIT_SUCCESS;
	complain("cannot write '%s': %s", name, strerror(errno));
	return EXIT_USAGE;
}

static int close_json(struct session *session)
{
	if (!session->json || session->json == stdout || !fclose(session->json))
		return EXIT_SUCCESS;
	complain("cannot write JSON: %s", strerror(errno));
	return EXIT_FAILURE;
}

static int run(const struct options *options)
{
	struct session session = {.options = options};
	struct wsrt_topology *topology;
	int status = read_topology(&topology);

	if (status)
		return status;
	session.cpu_count = wsrt_topology_cpu_count(topology);
	wsrt_topology_destroy(topology);
	progress_init(&session.progress, options->progress);
	status = open_json(&session);
	if (status)
		return status;
	status = run_items(&session);
	return close_json(&session) ? EXIT_FAILURE : status;
}

static int run_command(const struct options *options)
{
	switch (options->command) {
	case COMMAND_LIST:
		report_list(stdout);
		return EXIT_SUCCESS;
	case COMMAND_TOPOLOGY:
		return show_topology();
	case COMMAND_RUN:
		return run(options);
	default:
		return EXIT_USAGE;
	}
}

int main(int argc, char **argv)
{
	struct options options;
	int status;

	options_parse(argc, argv, &options);
	status = run_command(&options);
	options_fini(&options);
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write standard output: %s", strerror(errno));
		status = EXIT_FAILURE;
	}
	return status;
}
