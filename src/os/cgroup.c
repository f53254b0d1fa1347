/* SPDX-License-Identifier: MIT */
/*
 * Where the limits are: /proc/self/cgroup has the path of our cgroup within
 * its hierarchy, /proc/self/mountinfo where a hierarchy, or a part of one, is
 * mounted. A limit holds for all below it, so each step from ours up to the
 * mount counts. Above the mount, or the cgroup namespace, we cannot see.
 */
#include "os/cgroup.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"

#define MICROSECONDS_LIMIT (1ull << 50) /* 35 years; keeps products in range */

struct mount {
	bool v2;
	char *root;  /* what of the hierarchy is mounted, "" for all */
	char *point; /* where, "" for the root directory */
};

static bool microseconds_next(const char **text, unsigned long long *ret_value)
{
	char *end;

	while (**text == ' ')
		(*text)++;
	if (!isdigit((unsigned char)**text))
		return false;

	unsigned long long value = strtoull(*text, &end, 10);

	if (value == 0 || value >= MICROSECONDS_LIMIT ||
	    (*end != '\0' && !isspace((unsigned char)*end)))
		return false;
	*ret_value = value;
	*text = end;
	return true;
}

/* 0 for "max", -1, and what makes no sense */
static unsigned quota_parse(const char *quota_text, const char *period_text)
{
	unsigned long long quota, period;

	if (!microseconds_next(&quota_text, &quota))
		return 0;
	/* Version 2 has both in one file. */
	if (!microseconds_next(period_text ? &period_text : &quota_text,
			       &period))
		return 0;

	unsigned long long milli = (quota * 1000 + period - 1) / period;

	return milli < UINT_MAX ? (unsigned)milli : UINT_MAX;
}

static int quota_read_v1(const char *dir, unsigned *ret_milli)
{
	char *quota, *period;
	int error = os_file_read(&quota, "%s/cpu.cfs_quota_us", dir);

	if (error)
		return error;
	error = os_file_read(&period, "%s/cpu.cfs_period_us", dir);
	if (error) {
		free(quota);
		return error;
	}
	*ret_milli = quota && period ? quota_parse(quota, period) : 0;
	free(quota);
	free(period);
	return 0;
}

static int quota_read_v2(const char *dir, unsigned *ret_milli)
{
	char *text;
	int error = os_file_read(&text, "%s/cpu.max", dir);

	if (error)
		return error;
	*ret_milli = text ? quota_parse(text, NULL) : 0;
	free(text);
	return 0;
}

static unsigned smaller_quota(unsigned a, unsigned b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

/* Whether a list of words between commas has @word. */
static bool list_has(const char *list, size_t length, const char *word)
{
	size_t word_length = strlen(word);

	for (const char *end = list + length; list < end;) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		const char *stop = comma ? comma : end;

		if ((size_t)(stop - list) == word_length &&
		    memcmp(list, word, word_length) == 0)
			return true;
		list = stop + 1;
	}
	return false;
}

/* Of "7:cpu,cpuacct:/path", the path if the hierarchy is the wanted one. */
static const char *line_path(const char *line, const char *line_end, bool v2)
{
	const char *names = memchr(line, ':', (size_t)(line_end - line));

	if (!names++)
		return NULL;

	const char *path = memchr(names, ':', (size_t)(line_end - names));

	if (!path)
		return NULL;

	size_t length = (size_t)(path - names);
	bool wanted = v2 ? length == 0 : list_has(names, length, "cpu");

	return wanted ? path + 1 : NULL;
}

/* Our path within the hierarchy, "" for its root. False when not in it. */
static bool own_path(const char *cgroups, bool v2, char *ret_path, size_t size)
{
	while (*cgroups) {
		const char *end = strchrnul(cgroups, '\n');
		const char *path = line_path(cgroups, end, v2);

		if (path) {
			size_t length = (size_t)(end - path);

			if (length == 0 || length >= size || *path != '/')
				return false;
			if (length == 1)
				length = 0;
			memcpy(ret_path, path, length);
			ret_path[length] = '\0';
			return true;
		}
		cgroups = *end ? end + 1 : end;
	}
	return false;
}

/* Spaces and the like are written "\040". */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') * 64 +
				       (text[2] - '0') * 8 + text[3] - '0');
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static char *path_field(char *field)
{
	unescape(field);
	return strcmp(field, "/") == 0 ? field + 1 : field;
}

/*
 * "36 35 98:0 /root /point rw shared:1 - cgroup2 source options". False when
 * it is no mount of CPU limits.
 */
static bool mount_parse(char *line, struct mount *ret_mount)
{
	char *rest, *fields[5];
	char *field = strtok_r(line, " ", &rest);

	for (int i = 0; i < 5; i++) {
		if (!field)
			return false;
		fields[i] = field;
		field = strtok_r(NULL, " ", &rest);
	}
	while (field && strcmp(field, "-") != 0)
		field = strtok_r(NULL, " ", &rest);
	if (!field)
		return false;

	char *type = strtok_r(NULL, " ", &rest);
	char *source = type ? strtok_r(NULL, " ", &rest) : NULL;
	char *options = source ? strtok_r(NULL, " ", &rest) : NULL;

	if (!type)
		return false;
	ret_mount->v2 = strcmp(type, "cgroup2") == 0;
	ret_mount->root = path_field(fields[3]);
	ret_mount->point = path_field(fields[4]);
	return ret_mount->v2 || (strcmp(type, "cgroup") == 0 && options &&
				 list_has(options, strlen(options), "cpu"));
}

/* A path that leaves the cgroup namespace: names are not known there. */
static bool is_outside(const char *path)
{
	return strcmp(path, "/..") == 0 || strncmp(path, "/../", 4) == 0;
}

/* What of our path lies below the mount; NULL when we are not in there. */
static const char *path_below(const char *root, const char *path)
{
	size_t length = strlen(root);

	/* The mount starts above our namespace, or we have left that. */
	if (is_outside(root) || (length == 0 && is_outside(path)))
		return "";
	if (strncmp(path, root, length) != 0 ||
	    (path[length] != '/' && path[length] != '\0'))
		return NULL;
	return path + length;
}

static int mount_quota(const struct mount *mount, const char *cgroups,
		       unsigned *ret_milli)
{
	char path[PATH_MAX], dir[PATH_MAX];
	unsigned milli = 0;
	const char *below = NULL;

	if (own_path(cgroups, mount->v2, path, sizeof path))
		below = path_below(mount->root, path);
	*ret_milli = 0;
	if (!below || snprintf(dir, sizeof dir, "%s%s", mount->point, below) >=
			      (int)sizeof dir)
		return 0;

	char *mount_end = dir + strlen(mount->point);

	for (char *cut = mount_end; cut;) {
		int error = mount->v2 ? quota_read_v2(dir, &milli)
				      : quota_read_v1(dir, &milli);

		if (error)
			return error;
		*ret_milli = smaller_quota(*ret_milli, milli);
		cut = strrchr(mount_end, '/');
		if (cut)
			*cut = '\0';
	}
	return 0;
}

static int mounts_quota(char *mounts, const char *cgroups, unsigned *ret_milli)
{
	char *rest;

	*ret_milli = 0;
	for (char *line = strtok_r(mounts, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct mount mount;
		unsigned milli;

		if (!mount_parse(line, &mount))
			continue;

		int error = mount_quota(&mount, cgroups, &milli);

		if (error)
			return error;
		*ret_milli = smaller_quota(*ret_milli, milli);
	}
	return 0;
}

int os_cgroup_quota_milli(unsigned *ret_quota_milli)
{
	char *cgroups, *mounts;
	unsigned milli = 0;
	int error = os_file_read(&cgroups, "/proc/self/cgroup");

	if (error)
		return error;
	error = os_file_read(&mounts, "/proc/self/mountinfo");
	if (error)
		goto out;
	if (cgroups && mounts)
		error = mounts_quota(mounts, cgroups, &milli);
	free(mounts);
	if (!error)
		*ret_quota_milli = milli;
out:
	free(cgroups);
	return error;
}
