/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/cpus.h"
#include "os/file.h"

#define MASK_BITS 65536
#define MASK_BYTES (MASK_BITS / 8)
#define MASK_WORDS (MASK_BYTES / sizeof(unsigned long))

static char root[] = "/tmp/wsrt-test-XXXXXX";
static unsigned long allowed[MASK_WORDS], pinned[MASK_WORDS];
static unsigned mask_bits;
static int refuse_error, pin_error;
static int fail_count = -1;
static bool failed;

static bool fails(void)
{
	if (fail_count < 0 || fail_count-- > 0)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
	return fails() ? NULL : __real_opendir(path);
}

/* Which name it has depends on the size of off_t. */
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset)
{
	if (fails())
		return MAP_FAILED;
	return __real_mmap64(at, size, protection, flags, fd, offset);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
		  off_t offset)
{
	return __wrap_mmap64(at, size, protection, flags, fd, offset);
}

void fixture_fail_after(int count)
{
	failed = false;
	fail_count = count;
}

bool fixture_failed(void)
{
	fail_count = -1;
	return failed;
}

/* These two may run while memory is short: no asserts, which allocate. */
static int getaffinity(pid_t pid, size_t bytes, cpu_set_t *ret_mask)
{
	size_t copied = bytes < MASK_BYTES ? bytes : MASK_BYTES;

	if (pid != 0)
		abort();
	if (refuse_error || bytes * 8 < mask_bits) {
		errno = refuse_error ? refuse_error : EINVAL;
		return -1;
	}
	memset(ret_mask, 0, bytes);
	memcpy(ret_mask, allowed, copied);
	return 0;
}

static int setaffinity(pid_t pid, size_t bytes, const cpu_set_t *mask)
{
	if (pid != 0 || bytes > MASK_BYTES)
		abort();
	memset(pinned, 0, sizeof pinned);
	memcpy(pinned, mask, bytes);
	errno = pin_error;
	return pin_error ? -1 : 0;
}

void fixture_setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(root));
	os_root = root;
	os_getaffinity = getaffinity;
	os_setaffinity = setaffinity;
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

/* Whatever a test did to the root, ours is what goes. */
void fixture_teardown(void)
{
	fixture_fail_after(-1);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_parents(char *path)
{
	for (char *slash = path + sizeof root; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
}

void fixture_file(const char *path, const char *format, ...)
{
	char name[PATH_MAX];
	va_list arguments;

	snprintf(name, sizeof name, "%s%s", root, path);
	make_parents(name);

	FILE *file = fopen(name, "we");

	ck_assert_ptr_nonnull(file);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	ck_assert_int_eq(fclose(file), 0);
}

void fixture_node(int id, const char *cpus, const char *distances)
{
	char path[PATH_MAX];
	const char *dir = "/sys/devices/system/node/node";

	snprintf(path, sizeof path, "%s%d/cpulist", dir, id);
	fixture_file(path, "%s\n", cpus);
	snprintf(path, sizeof path, "%s%d/distance", dir, id);
	if (distances)
		fixture_file(path, "%s\n", distances);
}

void fixture_allow(int first, int last)
{
	for (int cpu = first; cpu <= last; cpu++)
		CPU_SET_S(cpu, MASK_BYTES, (cpu_set_t *)allowed);
}

void fixture_mask_bits(unsigned bits)
{
	mask_bits = bits;
}

void fixture_refuse(int error)
{
	refuse_error = error;
}

bool fixture_pinned(const int *cpus, unsigned count)
{
	cpu_set_t *mask = (cpu_set_t *)pinned;

	for (unsigned i = 0; i < count; i++)
		if (!CPU_ISSET_S(cpus[i], MASK_BYTES, mask))
			return false;
	return (unsigned)CPU_COUNT_S(MASK_BYTES, mask) == count;
}

void fixture_refuse_pin(int error)
{
	pin_error = error;
}
