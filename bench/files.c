/* SPDX-License-Identifier: MIT */
/*
 * files: a task for each directory and each file of a tree. Directories
 * submit a task for each entry; files are read, checksummed, and their words
 * counted. A sequential pass over the same tree says what must come out.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "support.h"
#include "workloads.h"

/* I: set at creation. A: atomic. Else the measuring thread's. */
struct files {
	struct bench_run *run;	  /* I */
	_Atomic uint64_t pending; /* A, tasks submitted and not done */
	sem_t done;
	struct scan_node *stack; /* nodes the sequential pass has to visit */
	struct scan_totals expected;
	struct scanner *scanners; /* I, one a worker, its own */
};

static int push(struct scan_node *node)
{
	struct files *files = node->owner;

	node->next = files->stack;
	files->stack = node;
	return 0;
}

static int visit_all(struct files *files, struct scanner *scanner)
{
	int error = 0;

	while (files->stack) {
		struct scan_node *node = files->stack;

		files->stack = node->next;
		if (!error)
			error = scan_visit(scanner, node, push);
		free(node);
	}
	return error;
}

static int sequential_pass(struct bench_run *run)
{
	struct files *files = run->state;
	struct scanner *scanner = files->scanners;
	struct scan_node *root = scan_root_create(run->options->dir, files);
	int error = root ? push(root) : -ENOMEM;

	scanner->totals = (struct scan_totals){0};
	if (!error)
		error = visit_all(files, scanner);
	if (error)
		return bench_fail(run, error, "the sequential pass failed: %s",
				  strerror(-error));
	files->expected = scanner->totals;
	return 0;
}

static int start(struct bench_run *run)
{
	struct files *files = calloc(1, sizeof *files);
	size_t bytes = run->worker_count * sizeof(struct scanner);

	if (!files)
		return bench_fail(run, -ENOMEM, "no memory");
	files->run = run;
	sem_init(&files->done, 0, 0);
	run->state = files;
	files->scanners = aligned_alloc(_Alignof(struct scanner), bytes);
	if (!files->scanners)
		return bench_fail(run, -ENOMEM, "no memory for buffers");
	/* So that all passes read from the page cache. */
	return sequential_pass(run);
}

static int baseline(struct bench_run *run)
{
	double begin = bench_now();
	int error = sequential_pass(run);

	if (!error)
		bench_metric_add(run, "serial_s", bench_now() - begin);
	return error;
}

static void one_done(struct files *files)
{
	/*
	 * (P) Pairs with itself: release for this worker's totals, acquire
	 * for the last one, whose sem_post() passes all of them on.
	 */
	if (atomic_fetch_sub_explicit(&files->pending, 1,
				      memory_order_acq_rel) == 1)
		sem_post(&files->done);
}

static int submit(struct scan_node *node);

static void visit_in_task(struct wsrt_task *task, int status)
{
	struct scan_node *node =
		wsrt_container_of(task, struct scan_node, task);
	struct files *files = node->owner;
	struct scanner *scanner = &files->scanners[bench_counter->worker_index];
	int error = scan_visit(scanner, node, submit);

	(void)status; /* pools drain here */
	free(node);
	if (error)
		bench_fail_in_task(files->run, error);
	one_done(files);
}

static int submit(struct scan_node *node)
{
	struct files *files = node->owner;
	int error;

	node->task.run = visit_in_task;
	/* Relaxed: the directory that submits it is pending itself. */
	atomic_fetch_add_explicit(&files->pending, 1, memory_order_relaxed);
	error = wsrt_pool_submit(files->run->pool, &node->task, NULL);
	if (error)
		atomic_fetch_sub_explicit(&files->pending, 1,
					  memory_order_relaxed);
	return error;
}

static struct scan_totals sum_of_workers(const struct bench_run *run)
{
	const struct files *files = run->state;
	struct scan_totals sum = {0};

	for (uint32_t i = 0; i < run->worker_count; i++)
		scan_totals_add(&sum, &files->scanners[i].totals);
	return sum;
}

static int check_and_record(struct bench_run *run, double seconds)
{
	const struct files *files = run->state;
	struct scan_totals sum = sum_of_workers(run);

	if (!scan_totals_equal(&sum, &files->expected))
		return bench_fail(run, -EBADMSG,
				  "the totals are not those of the sequential "
				  "pass (or the tree has changed meanwhile)");
	run->result->tasks = sum.files + sum.directories + sum.errors;
	bench_metric_add(run, "files", (double)sum.files);
	bench_metric_add(run, "directories", (double)sum.directories);
	bench_metric_add(run, "errors", (double)sum.errors);
	bench_metric_add(run, "bytes", (double)sum.bytes);
	bench_metric_add(run, "words", (double)sum.words);
	bench_metric_add(run, "crc_sum", (double)sum.crc_sum);
	bench_metric_add(run, "files_per_s", (double)sum.files / seconds);
	bench_metric_add(run, "mb_per_s", 1e-6 * (double)sum.bytes / seconds);
	return 0;
}

static int repeat(struct bench_run *run, double *ret_seconds)
{
	struct files *files = run->state;
	struct scan_node *root;
	double begin;
	int error;

	for (uint32_t i = 0; i < run->worker_count; i++)
		files->scanners[i].totals = (struct scan_totals){0};
	begin = bench_now();
	root = scan_root_create(run->options->dir, files);
	error = root ? submit(root) : -ENOMEM;
	if (error) {
		free(root);
		return bench_fail_submit(run, error);
	}
	bench_sem_wait(&files->done);
	*ret_seconds = bench_now() - begin;
	error = bench_check_tasks(run);
	return error ? error : check_and_record(run, *ret_seconds);
}

static void stop(struct bench_run *run)
{
	struct files *files = run->state;

	if (!files)
		return;
	sem_destroy(&files->done);
	free(files->scanners);
	free(files);
}

static void note(const struct bench_result *result, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%.3gk files/s, %.0f MB/s, seq %.3f s",
		 bench_result_median(result, "files_per_s") / 1e3,
		 bench_result_median(result, "mb_per_s"),
		 bench_result_median(result, "serial_s"));
}

const struct bench_workload bench_files = {
	.name = "files",
	.summary = "checksum and count the words of all files under DIR",
	.api = "submit",
	.uses = BENCH_DIR | BENCH_REPS,
	.defaults = {.n = 1, .producers = 1, .reps = 5, .dir = "."},
	.start = start,
	.baseline = baseline,
	.repeat = repeat,
	.stop = stop,
	.note = note,
};
