/* SPDX-License-Identifier: MIT */
/* Size-versioned structs, as old and newer callers bring them; random numbers;
 * the version. */
#include <string.h>
#include <sys/mman.h>

#include "base/random.h"
#include "base/sized.h"
#include "support.h"

/* As it was in the first release, as we know it, and as it will be. */
struct first {
	size_t size;
	uint64_t a;
};

struct known {
	size_t size;
	uint64_t a, b;
};

struct newer {
	size_t size;
	uint64_t a, b, c;
};

static int in(struct known *to, const void *from)
{
	return sized_copy_in(to, sizeof *to, from, sizeof(struct first));
}

static int out(void *to, const struct known *from)
{
	return sized_copy_out(to, from, sizeof *from, sizeof(struct first));
}

START_TEST(in_of_our_size_is_copied)
{
	struct known from = {sizeof from, 1, 2}, to = {0, 9, 9};

	ck_assert_int_eq(in(&to, &from), 0);
	ck_assert_uint_eq(to.a, 1);
	ck_assert_uint_eq(to.b, 2);
}
END_TEST

START_TEST(in_of_older_caller_is_zero_beyond)
{
	struct first from = {sizeof from, 1};
	struct known to = {0, 9, 9};

	ck_assert_int_eq(in(&to, &from), 0);
	ck_assert_uint_eq(to.a, 1);
	ck_assert_uint_eq(to.b, 0);
}
END_TEST

START_TEST(in_of_newer_caller_must_be_zero_beyond)
{
	struct newer from = {sizeof from, 1, 2, 0};
	struct known to = {0, 9, 9};

	ck_assert_int_eq(in(&to, &from), 0);
	ck_assert_uint_eq(to.b, 2);

	to = (struct known){0, 9, 9};
	/* The last byte counts as well. */
	((unsigned char *)&from.c)[sizeof from.c - 1] = 1;
	ck_assert_int_eq(in(&to, &from), -E2BIG);
	ck_assert_uint_eq(to.a, 9);
}
END_TEST

START_TEST(sizes_of_no_release_are_refused)
{
	static const size_t sizes[] = {
		0,
		1,
		8,
		sizeof(struct first) - 1,
		sizeof(struct first) + 1,
		sizeof(struct known) - 4,
		sizeof(struct newer) + 7,
	};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct newer theirs = {sizes[i], 1, 2, 0};
		struct known ours = {0, 9, 9};

		ck_assert_int_eq(in(&ours, &theirs), -EINVAL);
		ck_assert_uint_eq(ours.a, 9);
		ck_assert_int_eq(out(&theirs, &ours), -EINVAL);
		ck_assert_uint_eq(theirs.a, 1);
	}
}
END_TEST

/* A size that was never set may say anything: do not walk off memory. */
START_TEST(absurd_size_is_refused_unread)
{
	static const size_t sizes[] = {SIZE_MAX & ~7ul, SIZE_MAX / 2 + 1,
				       (size_t)1 << 20};
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + page, (size_t)page, PROT_NONE), 0);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct known *theirs =
			(void *)(pages + page - sizeof(struct known));
		struct known ours = {0};

		theirs->size = sizes[i];
		ck_assert_int_eq(in(&ours, theirs), -EINVAL);
		ck_assert_int_eq(out(theirs, &ours), -EINVAL);
	}
	munmap(pages, 2 * (size_t)page);
}
END_TEST

START_TEST(out_keeps_their_size)
{
	struct known ours = {77, 1, 2};
	struct known same = {.size = sizeof same};
	struct newer newer = {.size = sizeof newer};
	struct {
		struct first first;
		uint64_t after;
	} older = {{sizeof(struct first), 0}, 9};

	ck_assert_int_eq(out(&same, &ours), 0);
	ck_assert_uint_eq(same.size, sizeof same);
	ck_assert_uint_eq(same.b, 2);
	ck_assert_int_eq(out(&newer, &ours), 0);
	ck_assert_uint_eq(newer.size, sizeof newer);
	ck_assert_uint_eq(newer.b, 2);
	ck_assert_int_eq(out(&older, &ours), 0);
	ck_assert_uint_eq(older.first.size, sizeof(struct first));
	ck_assert_uint_eq(older.first.a, 1);
	ck_assert_uint_eq(older.after, 9);
}
END_TEST

START_TEST(out_to_newer_not_zero_is_refused)
{
	struct known ours = {0, 1, 2};
	struct newer newer = {sizeof newer, 9, 9, 9};

	ck_assert_int_eq(out(&newer, &ours), -E2BIG);
	ck_assert_uint_eq(newer.a, 9);
}
END_TEST

START_TEST(random_below_fills_its_range_evenly)
{
	static const uint32_t limits[] = {1, 2, 3, 61, 976, UINT32_MAX};
	unsigned hits[61] = {0};
	uint64_t state = 1;

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		for (unsigned n = 0; n < 1000; n++)
			ck_assert_uint_lt(random_below(&state, limits[i]),
					  limits[i]);
	for (unsigned n = 0; n < 61 * 1000; n++)
		hits[random_below(&state, 61)]++;
	/* Six standard deviations. */
	for (unsigned i = 0; i < 61; i++) {
		ck_assert_uint_gt(hits[i], 1000 - 190);
		ck_assert_uint_lt(hits[i], 1000 + 190);
	}
}
END_TEST

START_TEST(random_of_small_seeds_differ)
{
	uint32_t seen[64];

	for (unsigned i = 0; i < 64; i++) {
		uint64_t state = i + 1; /* as workers are seeded */

		seen[i] = random_next(&state);
		ck_assert_uint_ne(state, 0);
		for (unsigned k = 0; k < i; k++)
			ck_assert_uint_ne(seen[i], seen[k]);
	}
}
END_TEST

START_TEST(version_is_that_of_the_headers)
{
	char text[32];

	snprintf(text, sizeof text, "%d.%d.%d", WSRT_VERSION_MAJOR,
		 WSRT_VERSION_MINOR, WSRT_VERSION_PATCH);
	ck_assert_str_eq(wsrt_version(), text);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("base");

	tcase_add_test(tc, in_of_our_size_is_copied);
	tcase_add_test(tc, in_of_older_caller_is_zero_beyond);
	tcase_add_test(tc, in_of_newer_caller_must_be_zero_beyond);
	tcase_add_test(tc, sizes_of_no_release_are_refused);
	tcase_add_test(tc, absurd_size_is_refused_unread);
	tcase_add_test(tc, out_keeps_their_size);
	tcase_add_test(tc, out_to_newer_not_zero_is_refused);
	tcase_add_test(tc, random_below_fills_its_range_evenly);
	tcase_add_test(tc, random_of_small_seeds_differ);
	tcase_add_test(tc, version_is_that_of_the_headers);
	return run_suite("base", tc);
}
