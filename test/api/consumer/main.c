/* SPDX-License-Identifier: MIT */
/* The least that shows that headers and library fit: one task, run once. */
#include <stdio.h>
#include <string.h>

#include <wsrt/wsrt.h>

static int runs; /* written by the task, read when the pool has ended */

static void count(struct wsrt_task *task, int status)
{
	(void)task;
	if (status == 0)
		runs++;
}

static const char *header_version(void)
{
	static char version[32];

	snprintf(version, sizeof version, "%d.%d.%d", WSRT_VERSION_MAJOR,
		 WSRT_VERSION_MINOR, WSRT_VERSION_PATCH);
	return version;
}

int main(void)
{
	struct wsrt_task task = {.run = count};
	struct wsrt_pool *pool;
	int error = wsrt_pool_create(NULL, &pool);

	if (error) {
		fprintf(stderr, "wsrt_pool_create: %s\n", strerror(-error));
		return 1;
	}
	error = wsrt_pool_submit(pool, &task, NULL);
	if (error)
		fprintf(stderr, "wsrt_pool_submit: %s\n", strerror(-error));
	error = wsrt_pool_destroy(pool);
	if (error) {
		fprintf(stderr, "wsrt_pool_destroy: %s\n", strerror(-error));
		return 1;
	}
	printf("headers %s, library %s, runs %d\n", header_version(),
	       wsrt_version(), runs);
	return strcmp(header_version(), wsrt_version()) != 0 || runs != 1;
}
