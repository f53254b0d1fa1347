/* SPDX-License-Identifier: MIT */
/* One step of walking a directory tree; see scan.h. */
#include "scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* As isspace() in the C locale. */
static const bool white_space[256] = {
	['\t'] = true, ['\n'] = true, ['\v'] = true,
	['\f'] = true, ['\r'] = true, [' '] = true,
};

struct scan_node *scan_root_create(const char *dir, void *owner)
{
	size_t size = strlen(dir) + 1;
	struct scan_node *node = malloc(sizeof *node + size);

	if (!node)
		return NULL;
	*node = (struct scan_node){
		.owner = owner,
		.directory = true,
		.root = true,
	};
	memcpy(node->path, dir, size);
	return node;
}

static struct scan_node *create_entry(const struct scan_node *parent,
				      const char *name, bool directory)
{
	size_t length = strlen(parent->path);
	bool slash = length && parent->path[length - 1] == '/';
	size_t size = length + strlen(name) + 2;
	struct scan_node *node = malloc(sizeof *node + size);

	if (!node)
		return NULL;
	*node = (struct scan_node){
		.owner = parent->owner,
		.directory = directory,
	};
	snprintf(node->path, size, "%s%s%s", parent->path, slash ? "" : "/",
		 name);
	return node;
}

/* Words that begin in a piece. @in_word says if the last piece ended in one. */
static uint64_t count_words(const unsigned char *bytes, size_t count,
			    bool *in_word)
{
	bool inside = *in_word;
	uint64_t words = 0;

	for (size_t i = 0; i < count; i++) {
		bool now = !white_space[bytes[i]];

		words += now && !inside;
		inside = now;
	}
	*in_word = inside;
	return words;
}

static ssize_t read_piece(int fd, unsigned char *buffer, size_t size)
{
	ssize_t got;

	do
		got = read(fd, buffer, size);
	while (got < 0 && errno == EINTR);
	return got;
}

/* False when reading failed. */
static bool read_all(struct scanner *scanner, int fd, struct scan_totals *file)
{
	uLong crc = crc32(0, NULL, 0);
	bool in_word = false;
	ssize_t got;

	while ((got = read_piece(fd, scanner->buffer, sizeof scanner->buffer)) >
	       0) {
		crc = crc32(crc, scanner->buffer, (uInt)got);
		file->bytes += (uint64_t)got;
		file->words +=
			count_words(scanner->buffer, (size_t)got, &in_word);
	}
	file->crc_sum = crc;
	return got == 0;
}

/* Not blocking: by now the name may be that of a FIFO. */
static void read_file(struct scanner *scanner, const struct scan_node *node)
{
	struct scan_totals file = {.files = 1};
	int fd = open(node->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					  O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && read_all(scanner, fd, &file))
		scan_totals_add(&scanner->totals, &file);
	else
		scanner->totals.errors++;
	if (fd >= 0)
		close(fd);
}

static DIR *open_directory(const struct scan_node *node)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = open(node->path, node->root ? flags : flags | O_NOFOLLOW);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* Emits an entry if it is a regular file or a directory. */
static int emit_entry(const struct scan_node *parent, DIR *dir,
		      const struct dirent *entry, scan_emit_fn *emit)
{
	struct scan_node *node;
	struct stat status;
	mode_t mode = DTTOIF(entry->d_type);
	int error;

	if (entry->d_type == DT_UNKNOWN &&
	    !fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
		mode = status.st_mode;
	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return 0;
	node = create_entry(parent, entry->d_name, S_ISDIR(mode));
	if (!node)
		return -ENOMEM;
	error = emit(node);
	if (error)
		free(node);
	return error;
}

static bool is_self_or_parent(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static int list_directory(struct scanner *scanner, const struct scan_node *node,
			  scan_emit_fn *emit)
{
	DIR *dir = open_directory(node);
	const struct dirent *entry;
	int error = 0;

	if (!dir) {
		scanner->totals.errors++;
		return 0;
	}
	/* A thread's own stream: readdir() shares nothing. */
	errno = 0;
	while (!error && (entry = readdir(dir))) { /* NOLINT(concurrency-*) */
		if (!is_self_or_parent(entry->d_name))
			error = emit_entry(node, dir, entry, emit);
		errno = 0;
	}
	if (errno)
		scanner->totals.errors++;
	else
		scanner->totals.directories++;
	closedir(dir);
	return error;
}

int scan_visit(struct scanner *scanner, const struct scan_node *node,
	       scan_emit_fn *emit)
{
	if (node->directory)
		return list_directory(scanner, node, emit);
	read_file(scanner, node);
	return 0;
}

void scan_totals_add(struct scan_totals *sum, const struct scan_totals *more)
{
	sum->files += more->files;
	sum->directories += more->directories;
	sum->errors += more->errors;
	sum->bytes += more->bytes;
	sum->words += more->words;
	sum->crc_sum += more->crc_sum;
}

bool scan_totals_equal(const struct scan_totals *left,
		       const struct scan_totals *right)
{
	return left->files == right->files &&
	       left->directories == right->directories &&
	       left->errors == right->errors && left->bytes == right->bytes &&
	       left->words == right->words && left->crc_sum == right->crc_sum;
}
