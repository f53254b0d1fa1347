/* SPDX-License-Identifier: MIT */
/* All of wsrt's public interface but the inline fork/join path. */
#ifndef WSRT_H
#define WSRT_H

#include <wsrt/base.h>
#include <wsrt/blocking.h>
#include <wsrt/fail.h>
#include <wsrt/pool.h>
#include <wsrt/stats.h>
#include <wsrt/task.h>
#include <wsrt/topology.h>

#endif
