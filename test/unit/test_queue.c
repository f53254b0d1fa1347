/* SPDX-License-Identifier: MIT */
/*
 * Deque and injector: each alone, by its rules, against a model at tiny sizes,
 * at the ends of rings, blocks and indices, without memory, and with threads.
 * test/stress does the last at length.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/random.h"
#include "os/rcu.h"
#include "queue/deque.h"
#include "queue/injector.h"
#include "support.h"

/* Link arguments send the core's allocations through here. */
static _Thread_local bool no_memory;
static _Thread_local size_t last_size;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	last_size = size;
	return no_memory ? NULL : __real_aligned_alloc(alignment, size);
}

/* Which name it has depends on the size of off_t. */
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
		    off64_t offset)
{
	last_size = size;
	if (no_memory)
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

static struct deque deque;

static void setup(void)
{
	ck_assert_int_eq(rcu_reclaimer_get(), 0);
}

static void teardown(void)
{
	no_memory = false;
	rcu_reclaimer_put();
}

static uint32_t top_of(void)
{
	return (uint32_t)atomic_load(&deque.top);
}

static uint32_t public_count(void)
{
	return atomic_load(&deque.split) - top_of();
}

static uint32_t size_of_deque(void)
{
	return deque_bottom(&deque) - top_of();
}

static uintptr_t word(unsigned index)
{
	return 2 * (uintptr_t)index + 2;
}

static void push_words(unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ck_assert(deque_push(&deque, word(first + i)));
}

START_TEST(empty_deque_has_nothing)
{
	uintptr_t words[4];

	ck_assert_int_eq(deque_init(&deque), 0);
	ck_assert_uint_eq(deque_pop(&deque), 0);
	ck_assert_uint_eq(deque_pop_oldest(&deque), 0);
	ck_assert_int_eq(deque_steal(&deque, words, 4), 0);
	ck_assert(!deque_look(&deque));
	deque_fini(&deque);
}
END_TEST

START_TEST(pop_takes_newest_steal_oldest)
{
	uintptr_t got;

	ck_assert_int_eq(deque_init(&deque), 0);
	push_words(0, 3);
	deque_publish(&deque);
	ck_assert(deque_look(&deque));
	ck_assert_int_eq(deque_steal(&deque, &got, 1), 1);
	ck_assert_uint_eq(got, word(0));
	ck_assert_uint_eq(deque_pop(&deque), word(2));
	ck_assert_uint_eq(deque_pop(&deque), word(1));
	ck_assert_uint_eq(deque_pop(&deque), 0);
	deque_fini(&deque);
}
END_TEST

START_TEST(pop_oldest_goes_from_the_old_end)
{
	ck_assert_int_eq(deque_init(&deque), 0);
	push_words(0, 5);
	deque_publish(&deque);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(deque_pop_oldest(&deque), word(i));
	ck_assert_uint_eq(deque_pop_oldest(&deque), 0);
	deque_fini(&deque);
}
END_TEST

START_TEST(private_words_are_not_stolen_but_asked_for)
{
	uintptr_t got[8];

	ck_assert_int_eq(deque_init(&deque), 0);
	push_words(0, 2);
	ck_assert_int_eq(deque_steal(&deque, got, 8), 0);
	ck_assert_ptr_null(deque.end.limit);
	/* The slow path forgets the wish: its caller grants it. */
	push_words(2, 1);
	ck_assert_ptr_nonnull(deque.end.limit);
	deque_publish(&deque);
	ck_assert_int_eq(deque_steal(&deque, got, 8), 2);
	ck_assert_ptr_nonnull(deque.end.limit);
	/* Took the last: asks at once. */
	ck_assert_int_eq(deque_steal(&deque, got, 8), 1);
	ck_assert_ptr_null(deque.end.limit);
	deque_fini(&deque);
}
END_TEST

START_TEST(look_asks_when_it_finds_nothing)
{
	ck_assert_int_eq(deque_init(&deque), 0);
	push_words(0, 1);
	ck_assert(!deque_look(&deque));
	ck_assert_ptr_null(deque.end.limit);
	deque_fini(&deque);
}
END_TEST

START_TEST(steal_takes_half_rounded_up)
{
	uintptr_t got[64];

	for (unsigned count = 1; count < 40; count++) {
		for (unsigned max = 1; max <= 33; max += 8) {
			int want = (int)(count + 1) / 2;

			if (want > (int)max)
				want = (int)max;
			ck_assert_int_eq(deque_init(&deque), 0);
			push_words(0, count);
			deque_publish(&deque);
			ck_assert_int_eq(deque_steal(&deque, got, max), want);
			for (int i = 0; i < want; i++)
				ck_assert_uint_eq(got[i], word((unsigned)i));
			deque_fini(&deque);
		}
	}
}
END_TEST

START_TEST(single_is_stolen_alone)
{
	uintptr_t got[8];
	uintptr_t words[] = {2, 4, 6 | DEQUE_SINGLE, 8, 10, 12};

	ck_assert_int_eq(deque_init(&deque), 0);
	for (int i = 0; i < 6; i++)
		ck_assert(deque_push(&deque, words[i]));
	deque_publish(&deque);
	ck_assert_int_eq(deque_steal(&deque, got, 8), 2);
	ck_assert_uint_eq(got[1], 4);
	ck_assert_int_eq(deque_steal(&deque, got, 8), 1);
	ck_assert_uint_eq(got[0], 6 | DEQUE_SINGLE);
	ck_assert_int_eq(deque_steal(&deque, got, 8), 2);
	ck_assert_uint_eq(got[0], 8);
	deque_fini(&deque);
}
END_TEST

START_TEST(steal_single_keeps_to_its_terms)
{
	uint32_t state = 5;
	uintptr_t got;

	ck_assert_int_eq(deque_init_at(&deque, UINT32_MAX - 1, 8), 0);
	/* nothing public */
	ck_assert(deque_push(&deque, 2 | DEQUE_SINGLE));
	ck_assert_int_eq(
		deque_steal_single(&deque, UINT32_MAX - 1, &state, 5, &got), 0);
	ck_assert_ptr_null(deque.end.limit);
	ck_assert(deque_push(&deque, 4 | DEQUE_SINGLE));
	ck_assert(deque_push(&deque, 6));
	deque_publish(&deque);
	/* older than the base */
	ck_assert_int_eq(
		deque_steal_single(&deque, UINT32_MAX, &state, 5, &got), 0);
	ck_assert_int_eq(deque_steal_single(&deque, 0, &state, 5, &got), 0);
	/* of a fork that is over */
	ck_assert_int_eq(
		deque_steal_single(&deque, UINT32_MAX - 1, &state, 6, &got), 0);
	ck_assert_int_eq(
		deque_steal_single(&deque, UINT32_MAX - 1, &state, 5, &got), 1);
	ck_assert_uint_eq(got, 2 | DEQUE_SINGLE);
	ck_assert_int_eq(
		deque_steal_single(&deque, UINT32_MAX - 1, &state, 5, &got), 1);
	ck_assert_uint_eq(got, 4 | DEQUE_SINGLE);
	/* a stranger's word */
	ck_assert_int_eq(
		deque_steal_single(&deque, UINT32_MAX - 1, &state, 5, &got), 0);
	ck_assert_uint_eq(deque_pop(&deque), 6);
	deque_fini(&deque);
}
END_TEST

/* A fork may be private again, and half of all come back at once. */
START_TEST(reclaim_takes_the_newer_half_of_forks)
{
	for (unsigned count = 1; count < 40; count++) {
		ck_assert_int_eq(deque_init(&deque), 0);
		for (unsigned i = 0; i < count; i++)
			ck_assert(deque_push(&deque, word(i) | DEQUE_SINGLE));
		deque_publish(&deque);
		ck_assert_uint_eq(public_count(), count);
		ck_assert_uint_eq(deque_pop(&deque),
				  word(count - 1) | DEQUE_SINGLE);
		ck_assert_uint_eq(public_count(), count / 2);
		deque_fini(&deque);
	}
}
END_TEST

/* A task must stay within reach of thieves: the one that is popped apart. */
START_TEST(reclaim_hides_no_task)
{
	for (unsigned forks = 0; forks < 6; forks++) {
		ck_assert_int_eq(deque_init(&deque), 0);
		push_words(0, 10);
		for (unsigned i = 0; i < forks; i++)
			ck_assert(deque_push(&deque, word(10) | DEQUE_SINGLE));
		deque_publish(&deque);
		for (unsigned left = 9 + forks; left > 0; left--) {
			ck_assert_uint_ne(deque_pop(&deque), 0);
			ck_assert_uint_ge(public_count(),
					  left < 10 ? left : 10);
		}
		deque_fini(&deque);
	}
}
END_TEST

/* A thief that was between its load and its CAS must fail after a reclaim:
 * the tag is what tells it. */
START_TEST(reclaim_changes_the_tag)
{
	ck_assert_int_eq(deque_init(&deque), 0);
	push_words(0, 4);
	deque_publish(&deque);

	uint64_t before = atomic_load(&deque.top);

	deque_pop(&deque);
	ck_assert_uint_eq((uint32_t)atomic_load(&deque.top), (uint32_t)before);
	ck_assert_uint_ne(atomic_load(&deque.top), before);
	deque_fini(&deque);
}
END_TEST

START_TEST(deque_grows_and_keeps_order)
{
	const unsigned count = 100000;

	ck_assert_int_eq(deque_init(&deque), 0);
	push_words(0, count);
	deque_publish(&deque);
	for (unsigned i = 0; i < count / 2; i++) {
		ck_assert_uint_eq(deque_pop_oldest(&deque), word(i));
		ck_assert_uint_eq(deque_pop(&deque), word(count - 1 - i));
		deque_publish(&deque);
	}
	ck_assert_uint_eq(deque_pop(&deque), 0);
	deque_fini(&deque);
}
END_TEST

static size_t capacity_asked(void)
{
	return (last_size - OS_ALLOC_HEADER - CACHE_LINE) / sizeof(uintptr_t);
}

static void fill_and_drain(unsigned count)
{
	push_words(0, count);
	while (deque_pop(&deque))
		;
}

START_TEST(trim_gives_memory_back_with_hysteresis)
{
	ck_assert_int_eq(deque_init(&deque), 0);
	fill_and_drain(3000);
	ck_assert_uint_ge(capacity_asked(), 4096);
	ck_assert_uint_lt(capacity_asked(), 4096 + CACHE_PAIR);

	/* It grew since the last: not now. */
	last_size = 0;
	deque_trim(&deque, false);
	ck_assert_uint_eq(last_size, 0);
	deque_trim(&deque, false);
	ck_assert_uint_ge(capacity_asked(), 2048);
	ck_assert_uint_lt(capacity_asked(), 2048 + CACHE_PAIR);
	deque_trim(&deque, true);
	ck_assert_uint_ge(capacity_asked(), DEQUE_CAPACITY_MIN);
	ck_assert_uint_lt(capacity_asked(), DEQUE_CAPACITY_MIN + CACHE_PAIR);
	/* No less than that. */
	last_size = 0;
	deque_trim(&deque, true);
	deque_trim(&deque, false);
	ck_assert_uint_eq(last_size, 0);

	fill_and_drain(3000);
	deque_fini(&deque);
}
END_TEST

START_TEST(trim_without_memory_keeps_the_large_buffer)
{
	ck_assert_int_eq(deque_init(&deque), 0);
	fill_and_drain(3000);
	no_memory = true;
	deque_trim(&deque, true);
	push_words(0, 4000);
	no_memory = false;
	for (unsigned i = 4000; i > 0; i--)
		ck_assert_uint_eq(deque_pop(&deque), word(i - 1));
	deque_fini(&deque);
}
END_TEST

START_TEST(realign_moves_off_the_end)
{
	ck_assert_int_eq(deque_init_at(&deque, 0, 8), 0);
	fill_and_drain(3);
	deque_realign(&deque);
	ck_assert_uint_eq(deque_bottom(&deque), 0);

	/* In the second half: on to the next lap. */
	push_words(0, 5);
	deque_publish(&deque);
	while (deque_pop_oldest(&deque))
		;
	ck_assert_uint_eq(deque_bottom(&deque), 5);

	uint64_t before = atomic_load(&deque.top);

	deque_realign(&deque);
	ck_assert_uint_eq(deque_bottom(&deque), 8);
	ck_assert_uint_eq(top_of(), 8);
	ck_assert_uint_eq(public_count(), 0);
	ck_assert_uint_ne(atomic_load(&deque.top) >> 32, before >> 32);
	push_words(0, 5);
	deque_publish(&deque);
	ck_assert_uint_eq(deque_pop_oldest(&deque), word(0));
	ck_assert_uint_eq(deque_pop(&deque), word(4));
	deque_fini(&deque);
}
END_TEST

/*
 * A thief asks once, and sleeps. Nothing that the owner does of its own accord
 * may make it forget before it publishes (design: "stays set").
 */
START_TEST(wish_outlives_realign_and_trim)
{
	uintptr_t got;

	ck_assert_int_eq(deque_init(&deque), 0);
	fill_and_drain(200);
	push_words(0, 200);
	deque_publish(&deque);
	while (deque_pop_oldest(&deque))
		;
	ck_assert(!deque_look(&deque));
	deque_realign(&deque);
	ck_assert_ptr_null(deque.end.limit);

	fill_and_drain(3000);
	ck_assert_int_eq(deque_steal(&deque, &got, 1), 0);
	deque_trim(&deque, true);
	ck_assert_ptr_null(deque.end.limit);
	push_words(0, 1);
	ck_assert_ptr_nonnull(deque.end.limit);
	deque_fini(&deque);
}
END_TEST

START_TEST(push_without_memory_is_undone)
{
	ck_assert_int_eq(deque_init_at(&deque, UINT32_MAX - 7, 8), 0);
	push_words(0, 6);
	no_memory = true;
	for (int i = 0; i < 3; i++) {
		ck_assert(!deque_push(&deque, word(6)));
		ck_assert_uint_eq(size_of_deque(), 6);
	}
	/* A thief's wish changes nothing. */
	ck_assert(!deque_look(&deque));
	ck_assert(!deque_push(&deque, word(6)));
	ck_assert_uint_eq(size_of_deque(), 6);
	/* Room made by others serves as well as memory. */
	deque_publish(&deque);
	ck_assert_uint_eq(deque_pop_oldest(&deque), word(0));
	ck_assert(deque_push(&deque, word(6)));
	ck_assert(!deque_push(&deque, word(7)));
	no_memory = false;
	ck_assert(deque_push(&deque, word(7)));
	for (unsigned i = 7; i >= 1; i--)
		ck_assert_uint_eq(deque_pop(&deque), word(i));
	ck_assert_uint_eq(deque_pop(&deque), 0);
	deque_fini(&deque);
}
END_TEST

START_TEST(deque_init_without_memory_fails)
{
	no_memory = true;
	ck_assert_int_eq(deque_init(&deque), -ENOMEM);
	no_memory = false;
}
END_TEST

/*
 * The deque against a list: what one thread does to it in any order, from all
 * indices that could matter. The model knows which words there are; how many
 * are public it asks.
 */
#define MODEL_MAX 200u

struct model {
	uintptr_t words[MODEL_MAX];
	unsigned count;
	unsigned next;
	uint64_t random;
};

static void model_push(struct model *model)
{
	uintptr_t new = word(model->next++);

	if (random_below(&model->random, 8) == 0)
		new |= DEQUE_SINGLE;
	no_memory = random_below(&model->random, 16) == 0;

	bool pushed = deque_push(&deque, new);

	ck_assert(pushed || no_memory);
	no_memory = false;
	if (pushed)
		model->words[model->count++] = new;
}

static void model_pop(struct model *model)
{
	uintptr_t got = deque_pop(&deque);

	ck_assert_uint_eq(got,
			  model->count ? model->words[model->count - 1] : 0);
	if (model->count)
		model->count--;
}

static void model_drop_oldest(struct model *model, unsigned count)
{
	model->count -= count;
	memmove(model->words, model->words + count,
		model->count * sizeof *model->words);
}

/* How many a steal of up to @max must bring. */
static unsigned model_batch(const struct model *model, unsigned max)
{
	unsigned public = public_count(), count = 0;

	if (max > (public + 1) / 2)
		max = (public + 1) / 2;
	while (count < max && !(model->words[count] & DEQUE_SINGLE))
		count++;
	return count == 0 && public ? 1 : count;
}

static void model_steal(struct model *model)
{
	uintptr_t got[16];
	unsigned max = 1 + random_below(&model->random, 16);
	unsigned want = model_batch(model, max);

	ck_assert_int_eq(deque_steal(&deque, got, max), (int)want);
	for (unsigned i = 0; i < want; i++)
		ck_assert_uint_eq(got[i], model->words[i]);
	model_drop_oldest(model, want);
}

static void model_steal_single(struct model *model)
{
	uint32_t state = random_below(&model->random, 4) != 0;
	uint32_t base = top_of() - 1 + random_below(&model->random, 3);
	bool want = state == 1 && public_count() &&
		    (int32_t)(top_of() - base) >= 0 &&
		    model->words[0] & DEQUE_SINGLE;
	uintptr_t got;

	ck_assert_int_eq(deque_steal_single(&deque, base, &state, 1, &got),
			 want);
	if (want) {
		ck_assert_uint_eq(got, model->words[0]);
		model_drop_oldest(model, 1);
	}
}

static void model_pop_oldest(struct model *model)
{
	deque_publish(&deque);

	uintptr_t got = deque_pop_oldest(&deque);

	ck_assert_uint_eq(got, model->count ? model->words[0] : 0);
	if (model->count)
		model_drop_oldest(model, 1);
}

static void model_when_empty(struct model *model)
{
	if (deque_pop(&deque)) {
		model->count--;
		return;
	}
	if (random_below(&model->random, 2))
		deque_realign(&deque);
	else
		deque_trim(&deque, random_below(&model->random, 2));
}

static void model_step(struct model *model, unsigned fill)
{
	switch (random_below(&model->random, 8)) {
	case 0:
	case 1:
	case 2:
		if (model->count < fill)
			model_push(model);
		else
			model_pop(model);
		break;
	case 3:
	case 4:
		model_pop(model);
		break;
	case 5:
		deque_publish(&deque);
		break;
	case 6:
		if (random_below(&model->random, 3))
			model_steal(model);
		else
			model_steal_single(model);
		break;
	default:
		if (random_below(&model->random, 2))
			model_pop_oldest(model);
		else
			model_when_empty(model);
	}
	ck_assert_uint_eq(size_of_deque(), model->count);
	ck_assert_uint_le(public_count(), model->count);
	ck_assert_int_eq(deque_look(&deque), public_count() > 0);
}

START_TEST(deque_does_as_a_list_would)
{
	static const uint32_t firsts[] = {
		0,
		1,
		3,
		7,
		250,
		0x7ffffff9,
		0x7fffffff,
		0x80000000,
		UINT32_MAX - 260,
		UINT32_MAX - 8,
		UINT32_MAX - 1,
		UINT32_MAX,
	};
	struct model model = {.random = 1};

	for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
		for (uint32_t capacity = 2; capacity <= 16; capacity *= 2) {
			for (unsigned fill = 3; fill < MODEL_MAX; fill *= 3) {
				model.count = 0;
				ck_assert_int_eq(deque_init_at(&deque,
							       firsts[i],
							       capacity),
						 0);
				for (unsigned s = 0; s < 3000 / TEST_SLOWER;
				     s++)
					model_step(&model, fill);
				deque_fini(&deque);
			}
		}
	}
}
END_TEST

/* Threads over one deque: every word comes out once. */
#define THIEVES 3
#define WORDS (400000u / TEST_SLOWER)

static _Atomic unsigned char taken[400000];
static _Atomic unsigned taken_count;
static _Atomic bool over;

static void take(uintptr_t got)
{
	must(atomic_fetch_add_explicit(&taken[got / 2 - 1], 1,
				       memory_order_relaxed) == 0);
	atomic_fetch_add_explicit(&taken_count, 1, memory_order_relaxed);
}

static void *thieve(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument;
	uintptr_t got[32];

	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		unsigned max = 1 + random_below(&random, 32);
		int count = deque_steal(&deque, got, max);

		for (int i = 0; i < count; i++)
			take(got[i]);
		if (count == 0)
			sched_yield();
	}
	return NULL;
}

static void own(unsigned fill)
{
	uint64_t random = 12345;
	unsigned pushed = 0;
	uintptr_t got;

	while (pushed < WORDS) {
		unsigned burst = 1 + random_below(&random, fill);

		for (; burst && pushed < WORDS; burst--) {
			must(deque_push(&deque, word(pushed++)));
			if (random_below(&random, 4) == 0)
				deque_publish(&deque);
		}
		deque_publish(&deque);
		for (unsigned pops = random_below(&random, fill); pops; pops--)
			if ((got = deque_pop(&deque)))
				take(got);
		if (random_below(&random, 8))
			continue;
		while ((got = deque_pop(&deque)))
			take(got);
		if (random_below(&random, 2))
			deque_realign(&deque);
		else
			deque_trim(&deque, true);
	}
	while ((got = deque_pop(&deque)))
		take(got);
}

static void storm(uint32_t first, uint32_t capacity, unsigned fill)
{
	pthread_t threads[THIEVES];

	memset((void *)taken, 0, sizeof taken);
	atomic_store(&taken_count, 0);
	atomic_store(&over, false);
	ck_assert_int_eq(deque_init_at(&deque, first, capacity), 0);
	for (uintptr_t i = 0; i < THIEVES; i++)
		pthread_create(&threads[i], NULL, thieve, (void *)(i + 1));
	own(fill);
	ck_assert(await(&taken_count, WORDS));
	atomic_store(&over, true);
	for (int i = 0; i < THIEVES; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(atomic_load(&taken_count), WORDS);
	deque_fini(&deque);
}

/* B33: steal half from a deque of eight that is being stolen from */
START_TEST(every_word_once_from_a_tiny_ring)
{
	storm(0, 8, 6);
}
END_TEST

/* B32 */
START_TEST(every_word_once_across_the_wrap)
{
	storm(UINT32_MAX - 1000, 4, 3);
}
END_TEST

/* B34 */
START_TEST(every_word_once_while_it_grows_and_shrinks)
{
	storm(UINT32_MAX - 20000, 2, 5000);
}
END_TEST

static struct injector injector;

static int inject(unsigned first, unsigned count, bool inside)
{
	uintptr_t words[1024];

	if (count > 1024)
		count = 1024;
	for (unsigned i = 0; i < count; i++)
		words[i] = word(first + i);
	return injector_push(&injector, words, count, inside);
}

/* In as many calls as the ends of blocks make necessary. */
static void inject_all(unsigned first, unsigned count)
{
	while (count) {
		int pushed = inject(first, count, false);

		ck_assert_int_gt(pushed, 0);
		first += (unsigned)pushed;
		count -= (unsigned)pushed;
	}
}

/* Takes all there is, and says that it came in order from @first on. */
static unsigned take_all(unsigned first, unsigned max, unsigned takers)
{
	uintptr_t words[64];
	unsigned count, total = 0;

	while ((count = injector_take(&injector, words, max, takers))) {
		ck_assert_uint_le(count, max);
		for (unsigned i = 0; i < count; i++)
			ck_assert_uint_eq(words[i], word(first + total++));
	}
	return total;
}

START_TEST(empty_injector_has_nothing)
{
	uintptr_t words[4];

	ck_assert_int_eq(injector_init(&injector, 0, 0), 0);
	ck_assert_uint_eq(injector_take(&injector, words, 4, 1), 0);
	ck_assert(injector_drained(&injector));
	ck_assert_uint_eq(injector_pushed(&injector), 0);
	injector_fini(&injector);
}
END_TEST

/* B35: bursts about the size of a block, from every offset near its ends */
START_TEST(injector_is_fifo_across_blocks)
{
	static const uint64_t firsts[] = {0, 1ull << 32, 1ull << 62};
	unsigned sizes[] = {1,
			    2,
			    INJECTOR_BLOCK_SLOTS - 1,
			    INJECTOR_BLOCK_SLOTS,
			    INJECTOR_BLOCK_SLOTS + 1,
			    2 * INJECTOR_BLOCK_SLOTS,
			    3 * INJECTOR_BLOCK_SLOTS + 1};

	for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
		unsigned next = 0;

		ck_assert_int_eq(injector_init(&injector, 0, firsts[f]), 0);
		for (unsigned round = 0; round < 70; round++) {
			unsigned size = sizes[round % 7];

			inject_all(next, size);
			ck_assert(!injector_drained(&injector));
			ck_assert_uint_eq(
				take_all(next, 1 + round % 64, 1 + round % 3),
				size);
			ck_assert(injector_drained(&injector));
			next += size;
		}
		ck_assert_uint_eq(injector_pushed(&injector), firsts[f] + next);
		injector_fini(&injector);
	}
}
END_TEST

START_TEST(batch_ends_with_its_block)
{
	ck_assert_int_eq(injector_init(&injector, 0, 0), 0);
	inject_all(0, INJECTOR_BLOCK_SLOTS - 4);
	ck_assert_int_eq(inject(INJECTOR_BLOCK_SLOTS - 4, 10, false), 4);
	ck_assert_int_eq(inject(INJECTOR_BLOCK_SLOTS, 10, false), 10);
	ck_assert_uint_eq(take_all(0, 32, 1), INJECTOR_BLOCK_SLOTS + 10);
	injector_fini(&injector);
}
END_TEST

START_TEST(take_is_a_fair_share)
{
	uintptr_t words[64];

	ck_assert_int_eq(injector_init(&injector, 0, 0), 0);
	inject_all(0, 10);
	ck_assert_uint_eq(injector_take(&injector, words, 32, 4),
			  3); /* of 10 */
	ck_assert_uint_eq(injector_take(&injector, words, 32, 2), 4); /* of 7 */
	ck_assert_uint_eq(injector_take(&injector, words, 32, 100), 1);
	ck_assert_uint_eq(injector_take(&injector, words, 32, 1), 2);
	/* Enough for all takers: as many as one likes. */
	inject_all(10, 100);
	ck_assert_uint_eq(injector_take(&injector, words, 32, 2), 32);
	ck_assert_uint_eq(injector_take(&injector, words, 8, 4), 8);
	injector_fini(&injector);
}
END_TEST

START_TEST(capacity_is_kept)
{
	uintptr_t words[4];

	ck_assert_int_eq(injector_init(&injector, 5, 3), 0);
	ck_assert_int_eq(inject(0, 3, false), 3);
	ck_assert_int_eq(inject(3, 3, false), 2); /* what there is room for */
	ck_assert_int_eq(inject(5, 1, false), -EAGAIN);
	/* Workers are not held up, and count. */
	ck_assert_int_eq(inject(5, 3, true), 3);
	ck_assert_int_eq(inject(8, 1, false), -EAGAIN);
	ck_assert_uint_eq(injector_take(&injector, words, 3, 1), 3);
	ck_assert_int_eq(inject(8, 1, false), -EAGAIN);
	ck_assert_uint_eq(injector_take(&injector, words, 1, 1), 1);
	ck_assert_int_eq(inject(8, 2, false), 1);
	ck_assert_uint_eq(take_all(4, 4, 1), 5);
	injector_fini(&injector);
}
END_TEST

START_TEST(capacity_of_many_blocks_is_kept)
{
	const unsigned capacity = 2 * INJECTOR_BLOCK_SLOTS + 100;
	unsigned count = 0;
	int pushed;

	ck_assert_int_eq(injector_init(&injector, capacity, 0), 0);
	while ((pushed = inject(count, 7, false)) > 0)
		count += (unsigned)pushed;
	ck_assert_int_eq(pushed, -EAGAIN);
	ck_assert_uint_eq(count, capacity);
	ck_assert_uint_eq(take_all(0, 32, 1), capacity);
	injector_fini(&injector);
}
END_TEST

START_TEST(closed_injector_takes_from_inside_alone)
{
	ck_assert_int_eq(injector_init(&injector, 0, 0), 0);
	ck_assert_int_eq(inject(0, 2, false), 2);
	injector_close(&injector);
	injector_close(&injector);
	ck_assert_int_eq(inject(2, 1, false), -ESHUTDOWN);
	ck_assert_int_eq(inject(2, 3, true), 3);
	ck_assert_int_eq(inject(5, 1, false), -ESHUTDOWN);
	ck_assert_uint_eq(injector_pushed(&injector), 5);
	ck_assert(!injector_drained(&injector));
	ck_assert_uint_eq(take_all(0, 2, 1), 5);
	ck_assert(injector_drained(&injector));
	injector_fini(&injector);
}
END_TEST

START_TEST(closed_goes_before_full)
{
	ck_assert_int_eq(injector_init(&injector, 1, 0), 0);
	ck_assert_int_eq(inject(0, 1, false), 1);
	injector_close(&injector);
	ck_assert_int_eq(inject(1, 1, false), -ESHUTDOWN);
	ck_assert_uint_eq(take_all(0, 2, 1), 1);
	injector_fini(&injector);
}
END_TEST

/* A producer that sleeps between claim and fill, played by a word of 0. */
START_TEST(claimed_slot_is_work_but_is_not_passed)
{
	uintptr_t words[4] = {0};

	ck_assert_int_eq(injector_init(&injector, 0, 0), 0);
	ck_assert_int_eq(inject(0, 2, false), 2);
	ck_assert_int_eq(injector_push(&injector, words, 1, false), 1);
	ck_assert_int_eq(inject(9, 2, false), 2);
	ck_assert_uint_eq(injector_take(&injector, words, 4, 1), 2);
	ck_assert_uint_eq(injector_take(&injector, words, 4, 1), 0);
	ck_assert(!injector_drained(&injector));
	injector_fini(&injector);
}
END_TEST

START_TEST(injector_without_memory_fails_and_goes_on)
{
	ck_assert_int_eq(injector_init(&injector, 0, 0), 0);
	no_memory = true;
	/* The next block is made ahead of need; without it nothing changes. */
	for (unsigned i = 0; i < INJECTOR_BLOCK_SLOTS; i++)
		ck_assert_int_eq(inject(i, 1, false), 1);
	ck_assert_int_eq(inject(INJECTOR_BLOCK_SLOTS, 1, false), -ENOMEM);
	ck_assert_int_eq(inject(INJECTOR_BLOCK_SLOTS, 1, true), -ENOMEM);
	ck_assert_uint_eq(take_all(0, 32, 1), INJECTOR_BLOCK_SLOTS);
	ck_assert(injector_drained(&injector));
	no_memory = false;
	inject_all(INJECTOR_BLOCK_SLOTS, 300);
	ck_assert_uint_eq(take_all(INJECTOR_BLOCK_SLOTS, 32, 1), 300);
	injector_fini(&injector);

	no_memory = true;
	ck_assert_int_eq(injector_init(&injector, 0, 0), -ENOMEM);
	no_memory = false;
}
END_TEST

/* Producers and consumers at once: all once, each producer's in order. */
#define PRODUCERS 3u
#define CONSUMERS 2u
#define EACH (60000u / TEST_SLOWER)

static void *produce(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument, done = 0;
	uint64_t random = self + 1;
	uintptr_t words[64];

	while (done < EACH) {
		unsigned count = 1 + random_below(&random, 64);

		if (count > EACH - done)
			count = EACH - done;
		for (unsigned i = 0; i < count; i++)
			words[i] = word(self * EACH + done + i);

		int pushed = injector_push(&injector, words, count, false);

		must(pushed > 0);
		done += (unsigned)pushed;
	}
	return NULL;
}

static void *consume(void *unused)
{
	unsigned last[PRODUCERS] = {0};
	uintptr_t words[32];

	while (atomic_load(&taken_count) < PRODUCERS * EACH) {
		unsigned count = injector_take(&injector, words, 32, CONSUMERS);

		for (unsigned i = 0; i < count; i++) {
			unsigned index = (unsigned)(words[i] / 2 - 1);
			unsigned *before = &last[index / EACH];

			must(index % EACH + 1 > *before);
			*before = index % EACH + 1;
			take(words[i]);
		}
		if (count == 0)
			sched_yield();
	}
	return unused;
}

START_TEST(every_injected_word_once_and_in_order)
{
	pthread_t threads[PRODUCERS + CONSUMERS];

	ck_assert_int_eq(injector_init(&injector, 0, 0), 0);
	for (unsigned i = 0; i < PRODUCERS; i++)
		pthread_create(&threads[i], NULL, produce,
			       (void *)(uintptr_t)i);
	for (unsigned i = 0; i < CONSUMERS; i++)
		pthread_create(&threads[PRODUCERS + i], NULL, consume, NULL);
	for (unsigned i = 0; i < PRODUCERS + CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(atomic_load(&taken_count), PRODUCERS * EACH);
	ck_assert(injector_drained(&injector));
	injector_fini(&injector);
}
END_TEST

static void add_deque_tests(TCase *tc)
{
	tcase_add_test(tc, empty_deque_has_nothing);
	tcase_add_test(tc, pop_takes_newest_steal_oldest);
	tcase_add_test(tc, pop_oldest_goes_from_the_old_end);
	tcase_add_test(tc, private_words_are_not_stolen_but_asked_for);
	tcase_add_test(tc, look_asks_when_it_finds_nothing);
	tcase_add_test(tc, steal_takes_half_rounded_up);
	tcase_add_test(tc, single_is_stolen_alone);
	tcase_add_test(tc, steal_single_keeps_to_its_terms);
	tcase_add_test(tc, reclaim_takes_the_newer_half_of_forks);
	tcase_add_test(tc, reclaim_hides_no_task);
	tcase_add_test(tc, reclaim_changes_the_tag);
	tcase_add_test(tc, deque_grows_and_keeps_order);
	tcase_add_test(tc, trim_gives_memory_back_with_hysteresis);
	tcase_add_test(tc, trim_without_memory_keeps_the_large_buffer);
	tcase_add_test(tc, realign_moves_off_the_end);
	tcase_add_test(tc, wish_outlives_realign_and_trim);
	tcase_add_test(tc, push_without_memory_is_undone);
	tcase_add_test(tc, deque_init_without_memory_fails);
	tcase_add_test(tc, deque_does_as_a_list_would);
	tcase_add_test(tc, every_word_once_from_a_tiny_ring);
	tcase_add_test(tc, every_word_once_across_the_wrap);
	tcase_add_test(tc, every_word_once_while_it_grows_and_shrinks);
}

static void add_injector_tests(TCase *tc)
{
	tcase_add_test(tc, empty_injector_has_nothing);
	tcase_add_test(tc, injector_is_fifo_across_blocks);
	tcase_add_test(tc, batch_ends_with_its_block);
	tcase_add_test(tc, take_is_a_fair_share);
	tcase_add_test(tc, capacity_is_kept);
	tcase_add_test(tc, capacity_of_many_blocks_is_kept);
	tcase_add_test(tc, closed_injector_takes_from_inside_alone);
	tcase_add_test(tc, closed_goes_before_full);
	tcase_add_test(tc, claimed_slot_is_work_but_is_not_passed);
	tcase_add_test(tc, injector_without_memory_fails_and_goes_on);
	tcase_add_test(tc, every_injected_word_once_and_in_order);
}

int main(void)
{
	TCase *tc = tcase_create("queue");

	tcase_add_checked_fixture(tc, setup, teardown);
	add_deque_tests(tc);
	add_injector_tests(tc);
	return run_suite("queue", tc);
}
