/* SPDX-License-Identifier: MIT */
/* How much CPU time the control groups leave us. */
#ifndef WSRT_OS_CGROUP_H
#define WSRT_OS_CGROUP_H

/*
 * The smallest CPU quota from our cgroup up to the mount that we see, version
 * 1 or 2, in 1/1000 CPU, rounded up. 0 when there is none, or none that makes
 * sense. 0 or -ENOMEM.
 */
int os_cgroup_quota_milli(unsigned *ret_quota_milli);

#endif
