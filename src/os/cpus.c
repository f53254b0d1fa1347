/* SPDX-License-Identifier: MIT */
/*
 * A fixed cpu_set_t ends at CPU 1023, and the kernel refuses masks that are
 * shorter than its own: masks here are allocated, and grow.
 */
#include "os/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "os/file.h"

#define MASK_BITS_FIRST 1024
#define MASK_BITS_WORD (8 * sizeof(unsigned long))
#define CACHE_INDEXES 16 /* kernels have up to 5 */

int (*os_getaffinity)(pid_t, size_t, cpu_set_t *) = sched_getaffinity;
int (*os_setaffinity)(pid_t, size_t, const cpu_set_t *) = sched_setaffinity;

static bool number_next(const char **text, int *ret_number)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;

	unsigned long number = strtoul(*text, &end, 10);

	if (number >= OS_CPU_LIMIT)
		return false;
	*ret_number = (int)number;
	*text = end;
	return true;
}

/* 1 for a range, and steps over it; 0 at the end; -1 at garbage. */
static int range_next(const char **list, int *ret_first, int *ret_last)
{
	const char *at = *list;

	if (*at == '\0' || *at == '\n')
		return 0;
	if (!number_next(&at, ret_first))
		return -1;
	*ret_last = *ret_first;
	if (*at == '-') {
		at++;
		if (!number_next(&at, ret_last) || *ret_last < *ret_first)
			return -1;
	}
	if (*at == ',')
		at++;
	else if (*at != '\0' && *at != '\n')
		return -1;
	*list = at;
	return 1;
}

bool os_cpulist_has(const char *list, int cpu)
{
	int first, last, got;
	bool found = false;

	if (!list)
		return false;
	while ((got = range_next(&list, &first, &last)) > 0)
		found = found || (first <= cpu && cpu <= last);
	return got == 0 && found;
}

static int mask_allowed(cpu_set_t **ret_mask, size_t *ret_bytes)
{
	for (size_t bits = MASK_BITS_FIRST; bits <= OS_CPU_LIMIT; bits *= 2) {
		cpu_set_t *mask = calloc(1, bits / 8);

		if (!mask)
			return -ENOMEM;
		if (os_getaffinity(0, bits / 8, mask) == 0) {
			*ret_mask = mask;
			*ret_bytes = bits / 8;
			return 0;
		}
		free(mask);
		/* The kernel's masks are longer, or it will not tell at all. */
		if (errno != EINVAL)
			break;
	}
	return -ENODATA;
}

/* For sandboxes that refuse the question. */
static int mask_online(cpu_set_t **ret_mask, size_t *ret_bytes)
{
	size_t bytes = OS_CPU_LIMIT / 8;
	int first, last;
	char *list;
	int error = os_file_read(&list, "/sys/devices/system/cpu/online");

	if (error)
		return error;

	cpu_set_t *mask = calloc(1, bytes);

	if (!mask) {
		free(list);
		return -ENOMEM;
	}
	if (list) {
		const char *at = list;

		while (range_next(&at, &first, &last) > 0)
			for (int cpu = first; cpu <= last; cpu++)
				CPU_SET_S(cpu, bytes, mask);
	}
	if (CPU_COUNT_S(bytes, mask) == 0)
		CPU_SET_S(0, bytes, mask);
	free(list);
	*ret_mask = mask;
	*ret_bytes = bytes;
	return 0;
}

static int mask_read(cpu_set_t **ret_mask, size_t *ret_bytes)
{
	int error = mask_allowed(ret_mask, ret_bytes);

	if (error == -ENOMEM)
		return error;
	if (error)
		return mask_online(ret_mask, ret_bytes);
	if (CPU_COUNT_S(*ret_bytes, *ret_mask) > 0)
		return 0;
	free(*ret_mask);
	return mask_online(ret_mask, ret_bytes);
}

int os_cpus_allowed(int **ret_cpus, unsigned *ret_count)
{
	cpu_set_t *mask = NULL;
	size_t bytes = 0;
	int error = mask_read(&mask, &bytes);

	if (error)
		return error;

	unsigned count = 0;
	unsigned limit = (unsigned)CPU_COUNT_S(bytes, mask);
	int *cpus = malloc(limit * sizeof *cpus);

	if (!cpus) {
		free(mask);
		return -ENOMEM;
	}
	for (int cpu = 0; count < limit; cpu++)
		if (CPU_ISSET_S(cpu, bytes, mask))
			cpus[count++] = cpu;
	free(mask);
	*ret_cpus = cpus;
	*ret_count = count;
	return 0;
}

/* The file's name has changed; old kernels know only the second. */
static int core_list(int cpu, char **ret_list)
{
	static const char *const names[] = {"core_cpus_list",
					    "thread_siblings_list"};
	int error = 0;

	*ret_list = NULL;
	for (size_t i = 0; i < 2 && !*ret_list && !error; i++)
		error = os_file_read(
			ret_list, "/sys/devices/system/cpu/cpu%d/topology/%s",
			cpu, names[i]);
	return error;
}

/* The index says nothing: what is 3 on one machine is 2 on another. */
static int l3_list(int cpu, char **ret_list)
{
	*ret_list = NULL;
	for (int index = 0; index < CACHE_INDEXES; index++) {
		char *level;
		int error = os_file_read(
			&level,
			"/sys/devices/system/cpu/cpu%d/cache/index%d/level",
			cpu, index);

		if (error)
			return error;

		bool found = level && strtoul(level, NULL, 10) == 3;

		free(level);
		if (found)
			return os_file_read(ret_list,
					    "/sys/devices/system/cpu/cpu%d/"
					    "cache/index%d/shared_cpu_list",
					    cpu, index);
	}
	return 0;
}

/* Reads one list for each group. */
static int group(const int *cpus, unsigned count, int *ret_groups,
		 int (*read_list)(int cpu, char **ret_list))
{
	for (unsigned i = 0; i < count; i++)
		ret_groups[i] = -1;

	for (unsigned i = 0; i < count; i++) {
		char *list;

		if (ret_groups[i] >= 0)
			continue;

		int error = read_list(cpus[i], &list);

		if (error)
			return error;
		if (os_cpulist_has(list, cpus[i]))
			for (unsigned j = i; j < count; j++)
				if (ret_groups[j] < 0 &&
				    os_cpulist_has(list, cpus[j]))
					ret_groups[j] = cpus[i];
		free(list);
	}
	return 0;
}

int os_cpu_cores(const int *cpus, unsigned count, int *ret_cores)
{
	int error = group(cpus, count, ret_cores, core_list);

	for (unsigned i = 0; i < count; i++)
		if (ret_cores[i] < 0)
			ret_cores[i] = cpus[i];
	return error;
}

int os_cpu_l3s(const int *cpus, unsigned count, int *ret_l3s)
{
	return group(cpus, count, ret_l3s, l3_list);
}

int os_thread_pin(const int *cpus, unsigned count)
{
	int cpu_max = -1;

	for (unsigned i = 0; i < count; i++) {
		if (cpus[i] < 0 || cpus[i] >= OS_CPU_LIMIT)
			return -EINVAL;
		if (cpus[i] > cpu_max)
			cpu_max = cpus[i];
	}
	if (cpu_max < 0)
		return -EINVAL;

	size_t words = (size_t)cpu_max / MASK_BITS_WORD + 1;
	size_t bytes = words * sizeof(unsigned long);
	cpu_set_t *mask = calloc(1, bytes);

	if (!mask)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		CPU_SET_S(cpus[i], bytes, mask);

	int error = os_setaffinity(0, bytes, mask) == 0 ? 0 : -errno;

	free(mask);
	return error;
}

int os_cpu_current(void)
{
	return sched_getcpu();
}
