/* SPDX-License-Identifier: MIT */
/* The machine: its topology, and who else is using it. */
#ifndef WSBENCH_MACHINE_H
#define WSBENCH_MACHINE_H

#include <stdio.h>

#include <wsrt/topology.h>

/* CPU time so far, in seconds. */
struct load {
	double busy, total; /* of the machine */
	double own;	    /* of this process */
};

/* 0, or -1 when there is no memory. */
int machine_print(FILE *stream, const struct wsrt_topology *topology);

/* All zero when the kernel does not tell. */
struct load machine_load(void);

/* Share of the machine, 0 to 1, that other processes used since @before. */
double machine_load_of_others(const struct load *before);

#endif
