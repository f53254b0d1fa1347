/* SPDX-License-Identifier: MIT */
/*
 * CPUs and distances come from sysfs and not by way of libnuma, which reads
 * the same files. Its numa_node_to_cpus() ends the program when there is no
 * memory, races with any other caller in the process, and answers "all CPUs"
 * on failure; it and numa_distance() print to stderr about what they cannot
 * read, unless a library exports its own numa_warn(). They are safe to ask
 * only where all files are sound, and there they tell us nothing new.
 *
 * Memory policies are libnuma's: numa_available() and mbind() do not print.
 */
#include "os/numa.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <numa.h>
#include <numaif.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cpus.h"
#include "os/file.h"

#define NODE_DIR "/sys/devices/system/node"
#define NODE_BITS 1024 /* the most that a kernel can be built with */
#define WORD_BITS (8 * sizeof(unsigned long))
#define DISTANCE_LOCAL 10 /* less is reserved */

struct node_list {
	int *ids; /* ascending, with gaps */
	unsigned count;
};

static int compare(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return (a > b) - (a < b);
}

/* -1 for names that are not "node" and a number */
static int node_id_of(const char *name)
{
	char *end;

	if (strncmp(name, "node", 4) != 0 || !isdigit((unsigned char)name[4]))
		return -1;

	unsigned long id = strtoul(name + 4, &end, 10);

	return *end == '\0' && id < OS_CPU_LIMIT ? (int)id : -1;
}

static int node_list_add(struct node_list *list, int id)
{
	int *ids = realloc(list->ids, (list->count + 1) * sizeof *ids);

	if (!ids)
		return -ENOMEM;
	ids[list->count++] = id;
	list->ids = ids;
	return 0;
}

/* All nodes that are online, those without CPUs too. @ret_list: free its ids */
static int node_list_read(struct node_list *ret_list)
{
	char path[PATH_MAX];
	struct dirent *entry;
	struct node_list list = {0};
	int error = 0;

	snprintf(path, sizeof path, "%s" NODE_DIR, os_root);

	DIR *dir = opendir(path);

	if (!dir && errno == ENOMEM)
		return -ENOMEM;
	while (dir && !error && (entry = readdir(dir))) {
		int id = node_id_of(entry->d_name);

		if (id >= 0)
			error = node_list_add(&list, id);
	}
	if (dir)
		closedir(dir);
	if (error) {
		free(list.ids);
		return error;
	}
	if (list.count > 0)
		qsort(list.ids, list.count, sizeof *list.ids, compare);
	*ret_list = list;
	return 0;
}

int os_numa_nodes(const int *cpus, unsigned count, int *ret_node_ids)
{
	struct node_list nodes;
	int error = node_list_read(&nodes);

	if (error)
		return error;
	for (unsigned i = 0; i < count; i++)
		ret_node_ids[i] = -1;

	for (unsigned n = 0; n < nodes.count; n++) {
		char *list;

		error = os_file_read(&list, NODE_DIR "/node%d/cpulist",
				     nodes.ids[n]);
		if (error)
			break;
		for (unsigned i = 0; i < count; i++)
			if (ret_node_ids[i] < 0 &&
			    os_cpulist_has(list, cpus[i]))
				ret_node_ids[i] = nodes.ids[n];
		free(list);
	}
	free(nodes.ids);
	return error;
}

/*
 * One number of a row, 0 when it or the row makes no sense. A row has a column
 * for each node online, not for each number.
 */
static unsigned row_value(const char *row, unsigned column, unsigned columns)
{
	unsigned long value = 0;
	unsigned seen = 0;

	for (;; seen++) {
		char *end;

		while (isspace((unsigned char)*row))
			row++;
		if (!isdigit((unsigned char)*row))
			break;

		unsigned long number = strtoul(row, &end, 10);

		if (seen == column)
			value = number;
		row = end;
	}
	if (*row != '\0' || seen != columns || value < DISTANCE_LOCAL ||
	    value > UINT_MAX)
		return 0;
	return (unsigned)value;
}

static unsigned column_of(const struct node_list *nodes, int id)
{
	unsigned column = 0;

	while (column < nodes->count && nodes->ids[column] != id)
		column++;
	return column;
}

int os_numa_distances(const int *node_ids, unsigned count,
		      unsigned *ret_distances)
{
	struct node_list nodes;
	int error = node_list_read(&nodes);

	if (error)
		return error;
	for (unsigned from = 0; from < count; from++) {
		char *row;

		error = os_file_read(&row, NODE_DIR "/node%d/distance",
				     node_ids[from]);
		if (error)
			break;
		for (unsigned to = 0; to < count; to++)
			ret_distances[from * count + to] =
				row ? row_value(row,
						column_of(&nodes, node_ids[to]),
						nodes.count)
				    : 0;
		free(row);
	}
	free(nodes.ids);
	return error;
}

void os_numa_prefer(void *memory, size_t bytes, int node_id)
{
	unsigned long mask[NODE_BITS / WORD_BITS] = {0};

	if (node_id < 0 || node_id >= NODE_BITS || numa_available() < 0)
		return;
	mask[(size_t)node_id / WORD_BITS] = 1ul << (size_t)node_id % WORD_BITS;
	mbind(memory, bytes, MPOL_PREFERRED, mask, NODE_BITS + 1, MPOL_MF_MOVE);
}
