/* SPDX-License-Identifier: MIT */
#include "queue/deque.h"

#include <assert.h>
#include <errno.h>

#include "os/rcu.h"

#define TAG_ONE (1ull << 32)

struct deque_buffer {
	struct rcu_deferred deferred;
	uint32_t capacity; /* a power of two */
	_Alignas(CACHE_LINE) uintptr_t slots[];
};

static uint32_t top_index(uint64_t top)
{
	return (uint32_t)top;
}

static bool index_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static uintptr_t *slot_of(struct deque_buffer *buffer, uint32_t index)
{
	return &buffer->slots[index & (buffer->capacity - 1)];
}

static uintptr_t read_slot(struct deque_buffer *buffer, uint32_t index)
{
	return __atomic_load_n(slot_of(buffer, index), __ATOMIC_RELAXED);
}

static struct deque_buffer *buffer_create(uint32_t capacity)
{
	struct deque_buffer *buffer =
		os_alloc(sizeof *buffer + capacity * sizeof(uintptr_t));

	if (buffer)
		buffer->capacity = capacity;
	return buffer;
}

static void buffer_release(struct rcu_deferred *deferred)
{
	os_free(deferred);
}

uint32_t deque_bottom(const struct deque *deque)
{
	return deque->lap +
	       (uint32_t)(deque->end.bottom - deque->buffer_own->slots);
}

/* Puts bottom at @index of the owner's buffer, with nothing private. */
static void place(struct deque *deque, uint32_t index)
{
	struct deque_buffer *buffer = deque->buffer_own;

	deque->end.bottom = slot_of(buffer, index);
	deque->end.floor = deque->end.bottom;
	deque->lap = index & ~(buffer->capacity - 1);
}

/* A slot before a push runs into @top, or the end of the buffer. */
static uintptr_t *limit_of(struct deque *deque, uint32_t top)
{
	struct deque_buffer *buffer = deque->buffer_own;
	uint32_t full = top + buffer->capacity - 1 - deque_bottom(deque);
	uintptr_t *end = buffer->slots + buffer->capacity;

	if (full < (uint32_t)(end - deque->end.bottom))
		end = deque->end.bottom + full;
	return end;
}

/* Where the next push must be slow. Whatever a thief asked is forgotten. */
static void set_limit(struct deque *deque, uint32_t top)
{
	__atomic_store_n(&deque->end.limit, limit_of(deque, top),
			 __ATOMIC_RELAXED);
}

/* The same, but a wish stays: who asked may be asleep, and not ask again. */
static void move_limit(struct deque *deque, uint32_t top)
{
	if (!__atomic_exchange_n(&deque->end.limit, limit_of(deque, top),
				 __ATOMIC_RELAXED))
		__atomic_store_n(&deque->end.limit, NULL, __ATOMIC_RELAXED);
}

int deque_init_at(struct deque *deque, uint32_t index, uint32_t capacity)
{
	struct deque_buffer *buffer = buffer_create(capacity);

	if (!buffer)
		return -ENOMEM;
	deque->buffer_own = buffer;
	deque->grown = false;
	place(deque, index);
	set_limit(deque, index);
	atomic_init(&deque->buffer, buffer);
	atomic_init(&deque->split, index);
	atomic_init(&deque->top, index);
	return 0;
}

int deque_init(struct deque *deque)
{
	return deque_init_at(deque, 0, DEQUE_CAPACITY_MIN);
}

void deque_fini(struct deque *deque)
{
	os_free(deque->buffer_own);
}

#ifdef WSRT_INVARIANTS
static void deque_check(const struct deque *deque)
{
	struct deque_buffer *buffer = deque->buffer_own;
	uint32_t bottom = deque_bottom(deque);
	uint32_t split =
		deque->lap + (uint32_t)(deque->end.floor - buffer->slots);
	uint32_t top = top_index(
		atomic_load_explicit(&deque->top, memory_order_relaxed));

	assert((deque->lap & (buffer->capacity - 1)) == 0);
	assert(deque->end.floor >= buffer->slots);
	assert(deque->end.floor <= deque->end.bottom);
	assert(deque->end.bottom <= buffer->slots + buffer->capacity);
	assert(!index_before(bottom, split));
	assert(!index_before(split, top));
	assert(bottom - top < buffer->capacity);
}
#else
static void deque_check(const struct deque *deque)
{
	(void)deque;
}
#endif

/*
 * (P) Release, as all stores to split: pairs with (S) in steal(), which reads
 * the slots below it, and the buffer that holds them. Seq_cst: pairs with (L)
 * in deque_look().
 */
void deque_publish(struct deque *deque)
{
	struct deque_buffer *buffer = deque->buffer_own;
	uint32_t bottom = deque_bottom(deque);

	atomic_store_explicit(&deque->split, bottom, memory_order_seq_cst);
	/* Nothing private is left that would span the end of the buffer. */
	if (deque->end.bottom == buffer->slots + buffer->capacity)
		place(deque, bottom);
	deque->end.floor = deque->end.bottom;
	deque_check(deque);
}

/* Moves all to another buffer, everything being public already. */
static void replace_buffer(struct deque *deque, uint32_t top,
			   struct deque_buffer *new)
{
	struct deque_buffer *old = deque->buffer_own;
	uint32_t bottom = deque_bottom(deque);

	for (uint32_t i = top; i != bottom; i++)
		__atomic_store_n(
			slot_of(new, i),
			__atomic_load_n(slot_of(old, i), __ATOMIC_RELAXED),
			__ATOMIC_RELAXED);
	deque->buffer_own = new;
	/* (B) Release: pairs with (S) in steal(), which reads the slots. */
	atomic_store_explicit(&deque->buffer, new, memory_order_release);
	place(deque, bottom);
	rcu_defer(&old->deferred, buffer_release);
}

static bool grow(struct deque *deque, uint32_t top)
{
	uint32_t capacity = deque->buffer_own->capacity;
	struct deque_buffer *new = NULL;

	if (capacity < DEQUE_CAPACITY_MAX)
		new = buffer_create(2 * capacity);
	if (!new)
		return false;
	/* The private part must not span the end of the new buffer. */
	deque_publish(deque);
	replace_buffer(deque, top, new);
	deque->grown = true;
	return true;
}

bool deque_make_room(struct deque *deque)
{
	struct deque_buffer *buffer = deque->buffer_own;
	uint32_t bottom = deque_bottom(deque);
	/*
	 * (M) Acquire: pairs with (C) in claim(): the slots that we write
	 * again have been read.
	 */
	uint32_t top = top_index(
		atomic_load_explicit(&deque->top, memory_order_acquire));

	if (bottom - top >= buffer->capacity - 1) {
		if (!grow(deque, top)) {
			deque->end.bottom--;
			return false;
		}
	} else if (deque->end.bottom == buffer->slots + buffer->capacity) {
		deque_publish(deque);
	}
	set_limit(deque, top);
	deque_check(deque);
	return true;
}

/*
 * Where to put split so as to take back some of [top, end): the newest word,
 * and with it as many more as have DEQUE_SINGLE, up to half of all.
 */
static uint32_t split_for_reclaim(struct deque_buffer *buffer, uint32_t top,
				  uint32_t end)
{
	uint32_t lowest = top + (end - top) / 2, split = end;

	do
		split--;
	while (split != lowest &&
	       (read_slot(buffer, split) & read_slot(buffer, split - 1) &
		DEQUE_SINGLE));
	return split;
}

bool deque_reclaim(struct deque *deque)
{
	struct deque_buffer *buffer = deque->buffer_own;
	bool at_start = deque->end.bottom == buffer->slots;
	uint32_t lap = at_start ? deque->lap - buffer->capacity : deque->lap;
	uint32_t end = deque_bottom(deque);
	uint32_t top = top_index(
		atomic_load_explicit(&deque->top, memory_order_relaxed));

	if (top == end)
		return false;

	uint32_t split = split_for_reclaim(buffer, top, end);

	if (index_before(split, lap))
		split = lap;

	/* Release, as (P): pairs with (S); a thief needs the slots below. */
	atomic_store_explicit(&deque->split, split, memory_order_release);
	/*
	 * (R) Pairs with (T) in steal():
	 *
	 *	owner			thief
	 *	w[split] = lower	r[top] = tag, t		(T)
	 *	rmw[top] tag + 1  (R)	r[split]
	 *				cas[top] tag, t -> tag, t + k	(C)
	 *
	 * A thief that read the old tag fails its CAS. One that read the new
	 * tag sees the lower split, and leaves our half alone.
	 */
	uint32_t seen = top_index(atomic_fetch_add_explicit(
		&deque->top, TAG_ONE, memory_order_acq_rel));

	if (index_before(split, seen)) {
		split = seen;
		/* Release, as (P): pairs with (S) in steal(). */
		atomic_store_explicit(&deque->split, split,
				      memory_order_release);
	}
	if (split == end)
		return false;
	if (at_start) {
		deque->lap = lap;
		deque->end.bottom = buffer->slots + buffer->capacity;
	}
	deque->end.floor = buffer->slots + (split - lap);
	deque_check(deque);
	return true;
}

/* (C) Acq_rel: pairs with (R) in deque_reclaim() and (M). */
static bool claim(struct deque *deque, uint64_t top, unsigned count)
{
	uint64_t next = (top & ~(TAG_ONE - 1)) | (uint32_t)(top + count);

	return atomic_compare_exchange_strong_explicit(&deque->top, &top, next,
						       memory_order_acq_rel,
						       memory_order_relaxed);
}

/* Reads up to @max words from @top on, but a DEQUE_SINGLE only alone. */
static unsigned read_batch(struct deque_buffer *buffer, uint32_t top,
			   uintptr_t *ret_words, unsigned max)
{
	unsigned count = 0;

	do
		ret_words[count] = read_slot(buffer, top + count);
	while (!(ret_words[count] & DEQUE_SINGLE) && ++count < max);
	return count ? count : 1;
}

static int steal(struct deque *deque, uintptr_t *ret_words, unsigned max,
		 int32_t *ret_left)
{
	/* (T) Acquire: pairs with (R) in deque_reclaim(). */
	uint64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);
	/* (S) Acquire: pairs with (P) in deque_publish(). */
	uint32_t split =
		atomic_load_explicit(&deque->split, memory_order_acquire);
	int32_t public = (int32_t)(split - top_index(top));

	*ret_left = 0;
	if (public <= 0)
		return 0;

	/* After split: it holds all slots below. Pairs with (B). */
	struct deque_buffer *buffer =
		atomic_load_explicit(&deque->buffer, memory_order_acquire);
	unsigned half = ((unsigned)public + 1) / 2;
	unsigned count = read_batch(buffer, top_index(top), ret_words,
				    half < max ? half : max);

	*ret_left = public - (int32_t)count;
	return claim(deque, top, count) ? (int)count : DEQUE_RETRY;
}

static void ask(struct deque *deque)
{
	if (__atomic_load_n(&deque->end.limit, __ATOMIC_RELAXED))
		__atomic_store_n(&deque->end.limit, NULL, __ATOMIC_RELAXED);
}

int deque_steal(struct deque *deque, uintptr_t *ret_words, unsigned max)
{
	int32_t left;

	rcu_read_begin();
	int count = steal(deque, ret_words, max, &left);
	rcu_read_end();
	if (left <= 0)
		ask(deque);
	return count;
}

uintptr_t deque_pop_oldest(struct deque *deque)
{
	uintptr_t word;
	int32_t left;
	int count;

	do
		count = steal(deque, &word, 1, &left);
	while (count == DEQUE_RETRY);
	return count ? word : 0;
}

int deque_steal_single(struct deque *deque, uint32_t base,
		       const uint32_t *state, uint32_t expected,
		       uintptr_t *ret_word)
{
	int result = 0;

	rcu_read_begin();
	/* Acquire, as (T) in steal(): pairs with (R). */
	uint64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);
	/* Acquire, as (S) in steal(): pairs with (P). */
	uint32_t split =
		atomic_load_explicit(&deque->split, memory_order_acquire);

	if (!index_before(top_index(top), split)) {
		ask(deque);
		goto out;
	}
	if (index_before(top_index(top), base))
		goto out;

	/* Acquire, as in steal(): pairs with (B). */
	struct deque_buffer *buffer =
		atomic_load_explicit(&deque->buffer, memory_order_acquire);

	*ret_word = read_slot(buffer, top_index(top));
	/*
	 * After (T): if the state stood then, what lies at top was put there
	 * under it, and whatever ended it since has changed top.
	 */
	if (!(*ret_word & DEQUE_SINGLE) ||
	    __atomic_load_n(state, __ATOMIC_RELAXED) != expected)
		goto out;
	result = claim(deque, top, 1) ? 1 : DEQUE_RETRY;
out:
	rcu_read_end();
	return result;
}

bool deque_look(struct deque *deque)
{
	/* (L) Seq_cst: pairs with (P) in deque_publish(). */
	uint32_t top = top_index(
		atomic_load_explicit(&deque->top, memory_order_seq_cst));
	uint32_t split =
		atomic_load_explicit(&deque->split, memory_order_seq_cst);

	if (index_before(top, split))
		return true;
	ask(deque);
	return false;
}

void deque_realign(struct deque *deque)
{
	struct deque_buffer *buffer = deque->buffer_own;
	uint32_t used = (uint32_t)(deque->end.bottom - buffer->slots);

	if (used < buffer->capacity / 2)
		return;

	uint32_t next = deque->lap + buffer->capacity;
	/* Empty: no thief's CAS can succeed, so a store is enough. */
	uint64_t top = atomic_load_explicit(&deque->top, memory_order_relaxed);

	/*
	 * (A) Release: pairs with (T) in steal(). Top goes first: a thief that
	 * sees it alone finds less than nothing; one that sees the new split
	 * with the old top fails its CAS.
	 */
	atomic_store_explicit(&deque->top,
			      ((top + TAG_ONE) & ~(TAG_ONE - 1)) | next,
			      memory_order_release);
	/* Release, as (P): pairs with (S). */
	atomic_store_explicit(&deque->split, next, memory_order_release);
	place(deque, next);
	move_limit(deque, next);
	deque_check(deque);
}

void deque_trim(struct deque *deque, bool all)
{
	uint32_t capacity = deque->buffer_own->capacity;
	uint32_t bottom = deque_bottom(deque);

	if (capacity <= DEQUE_CAPACITY_MIN)
		return;
	if (deque->grown && !all) {
		deque->grown = false;
		return;
	}
	deque->grown = false;

	struct deque_buffer *new =
		buffer_create(all ? DEQUE_CAPACITY_MIN : capacity / 2);

	if (!new)
		return; /* the large one serves on */
	replace_buffer(deque, bottom, new);
	move_limit(deque, bottom);
}
