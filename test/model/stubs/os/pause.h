/* SPDX-License-Identifier: MIT */
/* The spin hint for the model checker, in place of src/os/pause.h: it has no
 * instruction for it, and os/clock.h bounds who spins. */
#ifndef MODEL_OS_PAUSE_H
#define MODEL_OS_PAUSE_H

static inline void os_pause(void)
{
}

#endif
