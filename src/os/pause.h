/* SPDX-License-Identifier: MIT */
/* Tells the CPU that we spin. */
#ifndef WSRT_OS_PAUSE_H
#define WSRT_OS_PAUSE_H

static inline void os_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
	__asm__ volatile("yield");
#endif
}

#endif
