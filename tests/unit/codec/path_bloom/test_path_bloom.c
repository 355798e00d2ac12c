/* SPDX-License-Identifier: Apache-2.0 */
/* Path filters against plain enumeration: bits, filters of paths, decoding, counts of verification,
 * and assigned path IDs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../naive.h"
#include "codec/marks.h"
#include "codec/path_bloom/mark.h"
#include "codec/path_bloom/path_bloom.h"
#include "codec/path_ids.h"
#include "packet/filter.h"

static const char *const variants[] = {
    "{}",
    "{\"bits\":12,\"hashes\":2}",
    "{\"carrier\":\"vlan\",\"hashes\":2}",
    "{\"order\":true}",
    "{\"order\":true,\"bits\":17}",
    "{\"monitors\":\"tor+top\"}",
};
#define VARIANTS (sizeof variants / sizeof *variants)

/* ---- the oracle: filters by formula ---- */

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static uint64_t bits_of(const struct pd_path_bloom_options *options, uint64_t path_id)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < options->hashes; i++) {
        bits |= UINT64_C(1) << mix(64 * path_id + i) % options->bits;
    }
    return bits;
}

static uint32_t filter_of(const struct pd_codec *codec, const struct pd_path *path)
{
    const struct pd_path_bloom_options *options = &pd_path_bloom(codec)->options;
    uint64_t held = 0;

    for (uint32_t i = 0; i + 1 < path->len; i++) {
        const uint32_t sw = pd_topology_switch(codec->topology, path->switches[i]);
        const struct pd_switch *entry = &codec->topology->switches[sw];

        if (options->top && entry->role == PD_ROLE_CORE) {
            held = 0;
        }
        if (options->order) {
            held = (held << 1 | held >> (options->bits - 1)) & ((UINT64_C(1) << options->bits) - 1);
        }
        held |= bits_of(options, entry->path_id);
    }
    return (uint32_t)held;
}

/* ---- networks ---- */

static struct pd_codec *open_codec(const char *options, struct pd_topology **ret_topology)
{
    struct pd_codec *codec = NULL;
    struct pd_error error = {0};

    assert_int_equal(pd_topology_fat_tree(4, ret_topology, &error), 0);
    if (pd_codec_new_with(*ret_topology, "path-bloom", options, &codec, &error)) {
        fail_msg("%s", error.text);
    }
    return codec;
}

static void close_codec(struct pd_codec *codec, struct pd_topology *topology)
{
    pd_codec_free(codec);
    pd_topology_free(topology);
}

/* All paths between two racks, and their filters. */
struct paths {
    const struct pd_codec *codec;
    struct pd_path items[256];
    uint32_t filters[256];
    size_t len, shortest_len; /* switches of the shortest */
};

static void add_path(void *context, const struct pd_path *path)
{
    struct paths *paths = context;

    assert_true(paths->len < 256);
    paths->items[paths->len] = *path;
    paths->filters[paths->len++] = filter_of(paths->codec, path);
    if (!paths->shortest_len || path->len < paths->shortest_len) {
        paths->shortest_len = path->len;
    }
}

static void list_paths(const struct pd_codec *codec, uint32_t src, uint32_t dst, unsigned max_hops,
                       struct paths *ret_paths)
{
    *ret_paths = (struct paths){.codec = codec};
    naive_paths(codec->topology, src, dst, max_hops, add_path, ret_paths);
}

/* Calls `check` for each two racks. */
static void on_pairs(const struct pd_codec *codec, unsigned max_hops,
                     void (*check)(const struct paths *paths, void *context), void *context)
{
    static struct paths paths;

    for (uint32_t src = 1; src <= 8; src++) {
        for (uint32_t dst = 1; dst <= 8; dst++) {
            if (src != dst) {
                list_paths(codec, src, dst, max_hops, &paths);
                check(&paths, context);
            }
        }
    }
}

/* ---- decoding ---- */

/* How many shortest paths leave this filter; where none does, how many detours. */
static size_t count_alike(const struct paths *paths, uint32_t filter)
{
    size_t shortest = 0, detours = 0;

    for (size_t i = 0; i < paths->len; i++) {
        const bool same = paths->filters[i] == filter;
        shortest += same && paths->items[i].len == paths->shortest_len;
        detours += same && paths->items[i].len > paths->shortest_len;
    }
    return shortest ? shortest : detours;
}

static void check_decoding(const struct paths *paths, void *context)
{
    const struct pd_codec *codec = paths->codec;
    size_t *exact = context;

    for (size_t i = 0; i < paths->len; i++) {
        const struct pd_path *path = &paths->items[i];
        const uint64_t mark = PD_FILTER_PRESENT | paths->filters[i];
        const uint32_t src = pd_topology_switch(codec->topology, path->switches[0]);
        const uint32_t dst = pd_topology_switch(codec->topology, path->switches[path->len - 1]);
        const size_t alike = count_alike(paths, paths->filters[i]);
        struct pd_encoding encoding;
        struct pd_path decoded;

        assert_int_equal(pd_codec_encode(codec, path, &encoding, NULL), 0);
        assert_true(encoding.mark == mark && !encoding.punted);
        assert_int_equal(pd_codec_decode(codec, src, dst, mark, &decoded, NULL),
                         alike == 1 ? 0 : -PD_E_AMBIGUOUS);
        if (alike == 1) {
            assert_int_equal(filter_of(codec, &decoded), paths->filters[i]);
            assert_true(decoded.len <= path->len); /* a detour may be misread, never the shortest */
            assert_true(decoded.len < path->len || pd_path_equal(&decoded, path));
            ++*exact;
        }
    }
}

static void paths_are_told_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        struct pd_topology *topology;
        struct pd_codec *codec = open_codec(variants[i], &topology);
        size_t exact = 0;

        on_pairs(codec, 6, check_decoding, &exact);
        assert_true(exact > 100);
        close_codec(codec, topology);
    }
}

static void what_no_path_leaves_is_refused(void **state)
{
    struct pd_topology *topology;
    struct pd_codec *codec = open_codec("{}", &topology);
    struct pd_error error = {0};
    struct pd_path path;
    const uint64_t wrong[] = {PD_FILTER_PRESENT, PD_FILTER_PRESENT | UINT32_MAX,
                              PD_FILTER_PRESENT | PD_FILTER_MALFORMED | 7};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pd_codec_decode(codec, 0, 2, wrong[i], &path, &error), -PD_E_INFEASIBLE);
        /* in VXLAN the fields are always there */
        assert_int_equal(pd_codec_decode(codec, 0, 0, wrong[i], &path, &error),
                         wrong[i] == PD_FILTER_PRESENT ? 0 : -PD_E_INFEASIBLE);
    }
    assert_int_equal(pd_codec_decode(codec, 0, 2, 0, &path, &error), -PD_E_UNSUPPORTED);
    assert_int_equal(pd_codec_decode(codec, 0, 0, 0, &path, &error), 0);
    assert_int_equal(path.len, 1);
    close_codec(codec, topology);
    codec = open_codec("{\"carrier\":\"vlan2\"}", &topology);
    assert_int_equal(pd_codec_decode(codec, 0, 2, 0, &path, &error), -PD_E_INFEASIBLE);
    close_codec(codec, topology);
}

/* ---- verification ---- */

static void check_counts(const struct paths *paths, void *context)
{
    struct pd_verification *wanted = context;

    for (size_t i = 0; i < paths->len; i++) {
        bool same = false, passed = false;

        wanted->paths++;
        if (paths->items[i].len > paths->shortest_len) {
            for (size_t j = 0; j < paths->len; j++) {
                same |= paths->items[j].len == paths->shortest_len &&
                        paths->filters[j] == paths->filters[i];
            }
            wanted->misread += same;
            continue;
        }
        for (size_t j = 0; j < paths->len; j++) {
            const bool other = j != i && paths->items[j].len == paths->shortest_len;
            same |= other && paths->filters[j] == paths->filters[i];
            passed |= other && !(paths->filters[j] & ~paths->filters[i]);
        }
        wanted->shortest.paths++;
        wanted->shortest.ambiguous += same;
        wanted->membership_undecodable += passed;
    }
}

static void verification_counts_what_enumeration_finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        struct pd_topology *topology;
        struct pd_codec *codec = open_codec(variants[i], &topology);
        struct pd_verification wanted = {0}, found;

        on_pairs(codec, 6, check_counts, &wanted);
        assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 6, NULL, NULL, &found), 0);
        assert_int_equal(found.paths, wanted.paths);
        assert_int_equal(found.shortest.paths, wanted.shortest.paths);
        assert_int_equal(found.shortest.ambiguous, wanted.shortest.ambiguous);
        assert_int_equal(found.misread, wanted.misread);
        assert_int_equal(found.membership_undecodable, wanted.membership_undecodable);
        close_codec(codec, topology);
    }
}

/* ---- path IDs ---- */

static void assigned_ids_tell_paths_apart(void **state)
{
    static const char *const options[] = {"{\"bits\":12,\"hashes\":2}",
                                          "{\"carrier\":\"vlan\",\"hashes\":2}"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pd_topology *topology;
        struct pd_codec *codec = open_codec(options[i], &topology);
        struct pd_path_bloom *bloom = (struct pd_path_bloom *)codec;
        struct pd_path_ids a = {0}, same = {0};
        struct pd_verification found;

        assert_int_equal(pd_codec_assign(codec, 6, 7, &a), 0);
        assert_int_equal(pd_codec_assign(codec, 6, 7, &same), 0);
        assert_memory_equal(a.path_ids, same.path_ids, topology->switches_len * sizeof *a.path_ids);
        for (uint32_t sw = 0; sw < topology->switches_len; sw++) {
            assert_in_range(a.path_ids[sw], 1, PD_PATH_ID_MAX);
            bloom->masks[sw] = (uint32_t)bits_of(&bloom->options, a.path_ids[sw]);
        }
        assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 6, NULL, NULL, &found), 0);
        assert_int_equal(found.shortest.ambiguous + found.misread, 0);
        free(a.path_ids);
        free(same.path_ids);
        close_codec(codec, topology);
    }
}

/* Three bits cannot tell four paths of five switches apart. */
static void what_cannot_be_told_apart_is_named(void **state)
{
    struct pd_topology *topology;
    struct pd_codec *codec = open_codec("{\"bits\":2,\"hashes\":1}", &topology);
    struct pd_path_ids a = {0};

    (void)state;
    assert_int_equal(pd_codec_assign(codec, 4, 1, &a), -PD_E_TOPOLOGY);
    assert_in_range(a.left[0], 1, 8);
    assert_in_range(a.left[1], 1, 8);
    assert_int_not_equal(a.left[0], a.left[1]);
    close_codec(codec, topology);
}

/* ---- options, marks ---- */

static void wrong_options_are_named(void **state)
{
    static const char *const wrong[] = {
        "{\"carrier\":\"mpls\"}", "{\"carrier\":7}",     "{\"bits\":0}",
        "{\"bits\":33}",          "{\"bits\":\"8\"}",    "{\"carrier\":\"vlan\",\"bits\":16}",
        "{\"hashes\":0}",         "{\"hashes\":9}",      "{\"monitors\":\"top\"}",
        "{\"order\":1}",          "{\"monitors\":null}",
    };
    struct pd_path_bloom_options options;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pd_error error = {0};
        assert_int_equal(pd_path_bloom_options_read(wrong[i], &options, &error), -PD_E_VALUE);
        assert_non_null(strstr(error.text, "path-bloom: "));
    }
    assert_int_equal(pd_path_bloom_options_read(NULL, &options, NULL), 0);
    assert_int_equal(options.bits, 32);
    assert_int_equal(options.hashes, 3);
}

static void marks_round_trip(void **state)
{
    const uint64_t filters[] = {PD_FILTER_PRESENT, PD_FILTER_PRESENT | 0x12345678,
                                PD_FILTER_PRESENT | PD_FILTER_MALFORMED};

    (void)state;
    assert_int_equal(pd_path_bloom_mark(0).scheme, PD_MARK_NONE);
    for (size_t i = 0; i < 3; i++) {
        const struct pd_mark mark = pd_path_bloom_mark(filters[i]);
        struct pd_mark_field fields[PD_MARK_FIELDS_MAX];

        assert_int_equal(pd_codec_mark_check(&mark), 0);
        assert_int_equal(pd_codec_mark_fields(&mark, fields), 2);
        assert_int_equal(fields[0].values[0], (uint32_t)filters[i]);
        assert_int_equal(fields[1].values[0], i == 2);
        const struct pd_mark made = pd_path_bloom_scheme.make(fields);
        assert_true(pd_mark_equal(&made, &mark));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_told_or_refused),
        cmocka_unit_test(what_no_path_leaves_is_refused),
        cmocka_unit_test(verification_counts_what_enumeration_finds),
        cmocka_unit_test(assigned_ids_tell_paths_apart),
        cmocka_unit_test(what_cannot_be_told_apart_is_named),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(marks_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
