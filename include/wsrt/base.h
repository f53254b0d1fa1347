/* SPDX-License-Identifier: MIT */
/* What every public header needs: version, export mark. */
#ifndef WSRT_BASE_H
#define WSRT_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WSRT_VERSION_MAJOR 0
#define WSRT_VERSION_MINOR 1
#define WSRT_VERSION_PATCH 0

#define WSRT_API __attribute__((visibility("default")))

/**
 * wsrt_version() - version of the library that is loaded
 *
 * The WSRT_VERSION_ macros tell the version of the headers instead.
 *
 * Thread-safety: any thread, signal handlers too.
 * Return: a static string, "MAJOR.MINOR.PATCH".
 * Since: 0.1
 */
WSRT_API const char *wsrt_version(void);

#ifdef __cplusplus
}
#endif

#endif
