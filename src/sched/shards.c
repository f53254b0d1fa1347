/* SPDX-License-Identifier: MIT */
/* What concerns the shards of all nodes and priorities alike. */
#include "sched/pool.h"

void pool_close_shards(struct wsrt_pool *pool)
{
	for (unsigned i = 0; i < pool->node_count; i++)
		for (unsigned p = 0; p < PRIORITY_COUNT; p++)
			injector_close(&pool->nodes[i]->shards[p]);
}

bool pool_drained(struct wsrt_pool *pool)
{
	for (unsigned i = 0; i < pool->node_count; i++)
		for (unsigned p = 0; p < PRIORITY_COUNT; p++)
			if (!injector_drained(&pool->nodes[i]->shards[p]))
				return false;
	return true;
}
