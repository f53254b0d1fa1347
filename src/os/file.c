/* SPDX-License-Identifier: MIT */
/* Reads whole files whose size is not known before: sysfs says 4096 to all. */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOM_FIRST 256

const char *os_root = "";

static int grow(char **text, size_t *room)
{
	char *grown = realloc(*text, *room * 2);

	if (!grown)
		return -ENOMEM;
	*text = grown;
	*room *= 2;
	return 0;
}

/* Reads to the end. On failure too, *@text is the caller's to free. */
static int read_all(int fd, char **text, size_t room)
{
	size_t length = 0;

	for (;;) {
		ssize_t got = read(fd, *text + length, room - length - 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		length += (size_t)got;
		(*text)[length] = '\0';
		if (got == 0)
			return 0;
		if (length == room - 1 && grow(text, &room) != 0)
			return -ENOMEM;
	}
}

static int read_path(const char *path, char **ret_text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;

	char *text = malloc(ROOM_FIRST);
	int error = text ? read_all(fd, &text, ROOM_FIRST) : -ENOMEM;

	close(fd);
	if (error)
		free(text);
	else
		*ret_text = text;
	return error;
}

int os_file_read(char **ret_text, const char *path_format, ...)
{
	char name[PATH_MAX], path[PATH_MAX];
	char *text = NULL;
	va_list arguments;

	va_start(arguments, path_format);
	int length = vsnprintf(name, sizeof name, path_format, arguments);
	va_end(arguments);

	if (length >= 0 && (size_t)length < sizeof name)
		length = snprintf(path, sizeof path, "%s%s", os_root, name);
	/* What is too long for a path cannot be read. */
	if (length >= 0 && (size_t)length < sizeof path &&
	    read_path(path, &text) == -ENOMEM)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}
