/* SPDX-License-Identifier: MIT */
/* The command line, by argp. */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wsrt/wsrt.h>

/* Options without a letter. */
enum {
	KEY_THREADS = 256,
	KEY_N,
	KEY_WORK,
	KEY_PRODUCERS,
	KEY_GAP_US,
	KEY_REPS,
	KEY_JSON,
	KEY_PROGRESS,
};

/* What is being parsed. @given has the options that @given_keys tells of. */
struct parse {
	struct options *options;
	struct bench_options given;
	unsigned int given_keys;
};

static const struct argp_option argp_options[] = {
	{"threads", KEY_THREADS, "T", 0,
	 "Worker threads (default: as many as suit the machine)", 0},
	{"n", KEY_N, "N", 0, "Size of the workload, see list", 0},
	{"work", KEY_WORK, "W", 0, "Steps of work in a task", 0},
	{"producers", KEY_PRODUCERS, "P", 0, "Threads that submit", 0},
	{"gap-us", KEY_GAP_US, "G", 0, "Pause before each submit, in us", 0},
	{"reps", KEY_REPS, "R", 0, "Repetitions, each a sample", 0},
	{"json", KEY_JSON, "FILE", 0,
	 "Also write a line of JSON a workload to FILE; - is standard output, "
	 "instead of the table",
	 1},
	{"progress", KEY_PROGRESS, "WHEN", 0,
	 "Progress on standard error: auto (default: on a terminal), always, "
	 "never",
	 1},
	{0},
};

static const char argp_doc[] =
	"Measure the wsrt work-stealing runtime.\v"
	"list names the workloads, with their defaults. topology shows the "
	"machine as the runtime sees it. run measures workloads, each on a "
	"pool of its own, and prints a table; each uses those of the options "
	"that mean something to it. The workload files may be followed by "
	"the directory to read.\n\n"
	"Exit status: 0, or 1 when a workload failed or computed something "
	"wrong, or 2 when the command line makes no sense.";

static unsigned int key_bit(int key)
{
	return 1u << (key - KEY_THREADS);
}

static uint64_t parse_number(struct argp_state *state, const char *option,
			     const char *text, uint64_t min, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < min ||
	    value > max)
		argp_error(state,
			   "%s takes a number from %" PRIu64 " to %" PRIu64
			   ", not '%s'",
			   option, min, max, text);
	return value;
}

static enum progress_mode parse_progress(struct argp_state *state,
					 const char *text)
{
	static const char *const names[] = {"auto", "always", "never"};

	for (int mode = 0; mode < 3; mode++) {
		if (!strcmp(text, names[mode]))
			return (enum progress_mode)mode;
	}
	argp_error(state, "--progress takes auto, always or never, not '%s'",
		   text);
	return PROGRESS_AUTO;
}

static void parse_command(struct argp_state *state, const char *word)
{
	struct parse *parse = state->input;

	if (!strcmp(word, "list"))
		parse->options->command = COMMAND_LIST;
	else if (!strcmp(word, "topology"))
		parse->options->command = COMMAND_TOPOLOGY;
	else if (!strcmp(word, "run"))
		parse->options->command = COMMAND_RUN;
	else
		argp_error(state, "unknown command '%s'", word);
}

/* The item whose directory the next word may be, or NULL. */
static struct item *item_without_dir(const struct options *options)
{
	struct item *last = options->items + options->item_count - 1;

	if (!options->item_count || !(last->workload->uses & BENCH_DIR) ||
	    last->options.dir != last->workload->defaults.dir)
		return NULL;
	return last;
}

static void parse_word(struct argp_state *state, const char *word)
{
	struct options *options = ((struct parse *)state->input)->options;
	const struct bench_workload *workload = bench_workload_find(word);
	struct item *undirected = item_without_dir(options);

	if (options->command != COMMAND_RUN)
		argp_error(state, "unexpected word '%s'", word);
	if (workload)
		options->items[options->item_count++] = (struct item){
			.workload = workload,
			.options = workload->defaults,
		};
	else if (undirected)
		undirected->options.dir = word;
	else
		argp_error(state, "unknown workload '%s'", word);
}

/* So that a mistyped name is told before anything runs. */
static void check_dir(struct argp_state *state, const char *name)
{
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		argp_error(state, "cannot read directory '%s': %s", name,
			   strerror(errno));
	close(fd);
}

/* Puts the given options over the defaults, where they mean something. */
static void settle_item(struct argp_state *state, struct item *item)
{
	const struct parse *parse = state->input;
	const struct bench_options *given = &parse->given;
	const struct bench_workload *workload = item->workload;
	unsigned int keys = parse->given_keys;

	if (keys & key_bit(KEY_THREADS))
		item->options.threads = given->threads;
	if (keys & key_bit(KEY_N) && workload->uses & BENCH_N)
		item->options.n = given->n;
	if (keys & key_bit(KEY_WORK) && workload->uses & BENCH_WORK)
		item->options.work = given->work;
	if (keys & key_bit(KEY_PRODUCERS) && workload->uses & BENCH_PRODUCERS)
		item->options.producers = given->producers;
	if (keys & key_bit(KEY_GAP_US) && workload->uses & BENCH_GAP)
		item->options.gap_us = given->gap_us;
	if (keys & key_bit(KEY_REPS) && workload->uses & BENCH_REPS)
		item->options.reps = given->reps;
	if (workload->uses & BENCH_N && item->options.n > workload->n_max)
		argp_error(state, "--n is at most %" PRIu64 " for %s",
			   workload->n_max, workload->name);
	if (workload->uses & BENCH_DIR)
		check_dir(state, item->options.dir);
}

static void settle(struct argp_state *state)
{
	const struct parse *parse = state->input;
	struct options *options = parse->options;
	bool run_only = parse->given_keys || options->json;

	if (options->command == COMMAND_NONE)
		argp_error(state, "no command: list, topology or run");
	if (options->command != COMMAND_RUN && run_only)
		argp_error(state, "only run takes options");
	if (options->command == COMMAND_RUN && !options->item_count)
		argp_error(state, "run which workload? See list");
	for (size_t i = 0; i < options->item_count; i++)
		settle_item(state, &options->items[i]);
}

static void parse_given(struct argp_state *state, int key, const char *text)
{
	struct parse *parse = state->input;
	struct bench_options *given = &parse->given;

	parse->given_keys |= key_bit(key);
	if (key == KEY_THREADS)
		given->threads = (uint32_t)parse_number(
			state, "--threads", text, 1, WSRT_WORKERS_MAX);
	else if (key == KEY_N)
		given->n = parse_number(state, "--n", text, 1, INT64_MAX);
	else if (key == KEY_WORK)
		given->work =
			parse_number(state, "--work", text, 0, BENCH_WORK_MAX);
	else if (key == KEY_PRODUCERS)
		given->producers = (uint32_t)parse_number(
			state, "--producers", text, 1, BENCH_PRODUCERS_MAX);
	else if (key == KEY_GAP_US)
		given->gap_us = parse_number(state, "--gap-us", text, 0,
					     BENCH_GAP_US_MAX);
	else
		given->reps = (uint32_t)parse_number(state, "--reps", text, 1,
						     BENCH_REPS_MAX);
}

static error_t parse_key(int key, char *arg, struct argp_state *state)
{
	struct options *options = ((struct parse *)state->input)->options;

	if (key >= KEY_THREADS && key <= KEY_REPS)
		parse_given(state, key, arg);
	else if (key == KEY_JSON)
		options->json = arg;
	else if (key == KEY_PROGRESS)
		options->progress = parse_progress(state, arg);
	else if (key == ARGP_KEY_ARG && options->command == COMMAND_NONE)
		parse_command(state, arg);
	else if (key == ARGP_KEY_ARG)
		parse_word(state, arg);
	else if (key == ARGP_KEY_END)
		settle(state);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "wsbench %d.%d.%d, wsrt %s\n", WSRT_VERSION_MAJOR,
		WSRT_VERSION_MINOR, WSRT_VERSION_PATCH, wsrt_version());
}

void options_parse(int argc, char **argv, struct options *ret_options)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse_key,
		.args_doc = "list\ntopology\nrun WORKLOAD... [files DIR]",
		.doc = argp_doc,
	};
	struct parse parse = {.options = ret_options};

	*ret_options = (struct options){
		.items = calloc((size_t)argc + 1, sizeof(struct item)),
	};
	if (!ret_options->items) {
		fprintf(stderr, "%s: no memory\n", argv[0]);
		exit(EXIT_FAILURE);
	}
	argp_err_exit_status = EXIT_USAGE;
	argp_program_version_hook = print_version;
	argp_parse(&argp, argc, argv, 0, NULL, &parse);
}

void options_fini(struct options *options)
{
	free(options->items);
	options->items = NULL;
}
