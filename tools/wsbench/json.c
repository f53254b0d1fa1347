/* SPDX-License-Identifier: MIT */
/* A line of JSON a workload, with every sample. */
#include <jansson.h>
#include <math.h>

#include "report.h"

/* Counts stay whole; a double holds them exactly up to 2^53. */
static json_t *number(double value)
{
	if (value == trunc(value) && fabs(value) < 0x1p53)
		return json_integer((json_int_t)value);
	return json_real(value);
}

static json_t *samples(const struct bench_metric *metric)
{
	json_t *array = json_array();

	for (size_t i = 0; i < metric->count; i++) {
		if (json_array_append_new(array, number(metric->values[i]))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *all_metrics(const struct bench_result *result)
{
	json_t *object = json_object();

	for (size_t i = 0; i < result->metric_count; i++) {
		const struct bench_metric *metric = &result->metrics[i];

		if (json_object_set_new(object, metric->name,
					samples(metric))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

/* NULL without memory. */
static json_t *line(const struct report *report)
{
	const struct bench_options *options = report->options;
	const struct bench_result *result = report->result;
	json_t *object = json_pack(
		"{ss ss sI sI sI sI sI ss sI so so sf}", "impl", "wsrt",
		"workload", report->workload->name, "threads",
		(json_int_t)result->threads, "n", (json_int_t)options->n,
		"work", (json_int_t)options->work, "producers",
		(json_int_t)options->producers, "gap_us",
		(json_int_t)options->gap_us, "api", report->workload->api,
		"tasks", (json_int_t)result->tasks, "seconds",
		samples(&result->seconds), "extra", all_metrics(result),
		"others", report->others);

	/* A name that is not UTF-8 has no place in JSON. */
	if (object && options->dir)
		json_object_set_new(object, "dir", json_string(options->dir));
	return object;
}

int report_json_line(FILE *stream, const struct report *report)
{
	json_t *object = line(report);
	int error = -1;

	if (object)
		error = json_dumpf(object, stream,
				   JSON_COMPACT | JSON_REAL_PRECISION(12));
	json_decref(object);
	if (error || fputc('\n', stream) == EOF || fflush(stream))
		return -1;
	return 0;
}
