/* SPDX-License-Identifier: MIT */
#include "os/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * WAIT_BITSET takes an absolute time, so that a wait resumed after a signal
 * ends when it should. EAGAIN, EINTR and a bare 0 all mean: look again.
 */
int os_futex_wait(_Atomic uint32_t *word, uint32_t expected,
		  const struct timespec *deadline)
{
	long result =
		syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
			expected, deadline, NULL, FUTEX_BITSET_MATCH_ANY);

	return result < 0 && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
}

void os_futex_wake(_Atomic uint32_t *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count);
}
