/* SPDX-License-Identifier: MIT */
#include "task/wait.h"

#include <errno.h>

#include "os/futex.h"

static int sleep_until_over(const struct waitable_ops *ops, void *object,
			    const struct timespec *deadline)
{
	uint32_t word;

	while (!ops->over(object, &word))
		if (os_futex_wait(ops->word(object), word, deadline))
			return ops->over(object, &word) ? 0 : -ETIMEDOUT;
	return 0;
}

int task_wait(const struct waitable_ops *ops, void *object,
	      const struct timespec *deadline)
{
	uint32_t word;

	if (ops->over(object, &word))
		return 0;

	int error = wait_begin(ops->kind, object);

	if (error)
		return error;
	error = sleep_until_over(ops, object, deadline);
	wait_end();
	return error;
}
