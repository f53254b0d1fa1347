/* SPDX-License-Identifier: MIT */
/* Small text files of the kernel, below a root that tests can move. */
#ifndef WSRT_OS_FILE_H
#define WSRT_OS_FILE_H

/* Put before every path of sysfs and proc: "", but for tests. */
extern const char *os_root;

/*
 * Sets @ret_text to the file's text, to be freed, or to NULL when it cannot
 * be read: a file that is missing is no error here. 0 or -ENOMEM.
 */
int os_file_read(char **ret_text, const char *path_format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
