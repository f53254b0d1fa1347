/* SPDX-License-Identifier: MIT */
/* Squares on all cores: cc first.c $(pkg-config --cflags --libs wsrt) */
#include <stdio.h>
#include <wsrt/wsrt.h>

struct square {
	struct wsrt_task task; /* embedded: submitting allocates nothing */
	long number, result;
};

static void square_run(struct wsrt_task *task, int status)
{
	struct square *s = wsrt_container_of(task, struct square, task);

	s->result = status ? -1 : s->number * s->number;
}

int main(void)
{
	static struct square s[10];
	struct wsrt_pool *pool;

	if (wsrt_pool_create(NULL, &pool))
		return 1;
	for (int i = 0; i < 10; i++) {
		s[i] = (struct square){.task.run = square_run, .number = i};
		if (wsrt_pool_submit(pool, &s[i].task, NULL))
			return 1;
	}
	wsrt_pool_destroy(pool); /* all have run, the threads have ended */
	return printf("9 squared is %ld\n", s[9].result) < 0;
}
