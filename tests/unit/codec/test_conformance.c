/* SPDX-License-Identifier: Apache-2.0 */
/* What every codec keeps to: rules give the tags of the formula, decoding gives the path back or
 * refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "naive.h"
#include "tests/shared/random.h"

/* Every codec is held to this on generated networks and on copies with other IDs, in another order.
 */
static const struct {
    struct naive naive;
    unsigned exact_hops; /* all paths up to here have tags of their own */
    unsigned max_hops;
} networks[] = {
    {{.kind = NAIVE_FAT_TREE, .k = 4}, 6, 8},
    {{.kind = NAIVE_FAT_TREE, .k = 6}, 6, 6},
    {{.kind = NAIVE_VL2, .k = 4}, 8, 8},
    {{.kind = NAIVE_VL2, .k = 6}, 6, 6},
    {{.kind = NAIVE_LEAF_SPINE, .k = 3, .leaves = 4}, 8, 8},
    {{.kind = NAIVE_LEAF_SPINE, .k = 1, .leaves = 2}, 8, 8},
};
#define NETWORKS (sizeof networks / sizeof *networks)

/* ---- the same network with other IDs */

#define IDS_MAX 8192

/* New IDs leave gaps and turn the layers around. Ranks within a layer stay, which positions are
 * made of; but a fat-tree's aggs are shuffled in their pod, since their position comes from their
 * cores. */
static uint32_t rename_id(const struct pd_topology *t, const struct naive *naive, uint32_t id)
{
    uint32_t sw = pd_topology_switch(t, id), h = naive->k / 2, base = 0;
    if (sw == PD_NONE) {
        return 100000 - id; /* a host */
    }
    enum pd_switch_role role = t->switches[sw].role;
    base = role == PD_ROLE_TOR || role == PD_ROLE_LEAF ? 6001 : role == PD_ROLE_AGG ? 4001 : 2;
    if (naive->kind == NAIVE_FAT_TREE && role == PD_ROLE_AGG) {
        uint32_t at = id - 1 - naive->k * h;
        id = at / h * h + (h - 1 - at % h) + 1 + naive->k * h;
    }
    return base + 5 * id;
}

static void shuffle(json_t *list)
{
    for (size_t i = json_array_size(list); i > 1; i--) {
        size_t j = (size_t)rand() % i;
        json_t *a = json_incref(json_array_get(list, i - 1));
        json_t *b = json_incref(json_array_get(list, j));
        json_array_set_new(list, i - 1, b);
        json_array_set_new(list, j, a);
    }
}

static void rename_key(const struct pd_topology *t, const struct naive *naive, json_t *object,
                       const char *key, uint32_t *ids)
{
    uint32_t id = (uint32_t)json_integer_value(json_object_get(object, key));
    uint32_t new_id = rename_id(t, naive, id);
    if (new_id < IDS_MAX) {
        ids[new_id] = id;
    }
    json_object_set_new(object, key, json_integer(new_id));
}

static struct pd_topology *renamed(const struct pd_topology *t, const struct naive *naive,
                                   uint32_t *ids)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(pd_topology_write(t, out), 0);
    fclose(out);
    json_t *root = json_loadb(text, bytes, 0, NULL), *element;
    free(text);
    size_t i;
    json_array_foreach(json_object_get(root, "nodes"), i, element)
        rename_key(t, naive, element, "id", ids);
    json_array_foreach(json_object_get(root, "links"), i, element)
    {
        rename_key(t, naive, element, "source", ids);
        rename_key(t, naive, element, "target", ids);
    }
    shuffle(json_object_get(root, "nodes"));
    shuffle(json_object_get(root, "links"));
    text = json_dumps(root, 0);
    json_decref(root);
    struct pd_topology *other = NULL;
    struct pd_error error = {0};
    if (pd_topology_parse(text, strlen(text), "renamed", &other, &error)) {
        fail_msg("%s", error.text);
    }
    free(text);
    return other;
}

/* Runs `check` on each network and its renamed copy. */
static void on_each_network(void (*check)(const struct pd_codec *codec, const struct naive *naive,
                                          unsigned exact_hops, unsigned max_hops))
{
    for (size_t i = 0; i < NETWORKS; i++) {
        static uint32_t ids[IDS_MAX];
        struct naive naive = networks[i].naive;
        struct pd_topology *t, *other;
        struct pd_codec *codec = naive_codec(&naive, &t), *other_codec = NULL;
        check(codec, &naive, networks[i].exact_hops, networks[i].max_hops);
        memset(ids, 0, sizeof ids);
        other = renamed(t, &naive, ids);
        naive.ids = ids;
        assert_int_equal(pd_codec_new(other, &other_codec, NULL), 0);
        check(other_codec, &naive, networks[i].exact_hops, networks[i].max_hops);
        pd_codec_free(codec);
        pd_codec_free(other_codec);
        pd_topology_free(t);
        pd_topology_free(other);
    }
}

/* ---- every path: the rules give the formula's tags, and decoding gives the path back */

struct pair {
    const struct pd_codec *codec;
    const struct naive *naive;
    unsigned exact_hops;
};

static void check_path(void *context, const struct pd_path *path)
{
    const struct pair *pair = context;
    const struct pd_codec *codec = pair->codec;
    unsigned max = pd_tagging(codec)->ops->max_vlans;
    uint16_t vids[PD_PATH_MAX];
    uint8_t dscp;
    struct pd_encoding encoding;
    struct pd_path decoded;
    unsigned len = naive_tags(pair->naive, path, vids, &dscp);
    assert_int_equal(pd_codec_encode(codec, path, &encoding, NULL), 0);
    assert_int_equal(encoding.punted, len > max);
    const struct pd_tags tags = pd_tags_unpack(encoding.mark);
    assert_int_equal(tags.len, len > max ? max : len);
    assert_memory_equal(tags.vids, vids, tags.len * sizeof *vids);
    assert_int_equal(tags.dscp, dscp);
    if (encoding.punted || path->len - 1U > pair->exact_hops) {
        return;
    }
    uint32_t src = pd_topology_switch(codec->topology, path->switches[0]);
    uint32_t dst = pd_topology_switch(codec->topology, path->switches[path->len - 1]);
    assert_int_equal(pd_codec_decode(codec, src, dst, encoding.mark, &decoded, NULL), 0);
    assert_true(pd_path_equal(path, &decoded));
}

static void check_all_paths(const struct pd_codec *codec, const struct naive *naive,
                            unsigned exact_hops, unsigned max_hops)
{
    const struct pd_topology *t = codec->topology;
    struct pair pair = {codec, naive, exact_hops};
    for (uint32_t s = 0; s < t->switches_len; s++) {
        for (uint32_t d = 0; d < t->switches_len; d++) {
            if (pd_topology_role_is_tor(t->switches[s].role) &&
                pd_topology_role_is_tor(t->switches[d].role)) {
                naive_paths(t, t->switches[s].id, t->switches[d].id, max_hops, check_path, &pair);
            }
        }
    }
}

static void every_path_comes_back(void **state)
{
    (void)state;
    on_each_network(check_all_paths);
}

/* ---- any tags: what decodes is simple, ends where it should, and gets these tags */

static unsigned
    decoded_len; /* how often garbage was feasible: the test must have had something to test */

static void check_tags(const struct pd_codec *codec, uint32_t src, uint32_t dst, uint64_t mark)
{
    const struct pd_topology *t = codec->topology;
    struct pd_path path;
    struct pd_encoding encoding;
    int err = pd_codec_decode(codec, src, dst, mark, &path, NULL);
    if (err) {
        assert_int_equal(err, -PD_E_INFEASIBLE);
        return;
    }
    decoded_len++;
    assert_int_equal(path.switches[0], t->switches[src].id);
    assert_int_equal(path.switches[path.len - 1], t->switches[dst].id);
    for (unsigned i = 0; i < PD_PATH_MAX; i++) {
        for (unsigned j = 0; j < i && i < path.len; j++) {
            assert_int_not_equal(path.switches[i], path.switches[j]);
        }
    }
    assert_int_equal(pd_codec_encode(codec, &path, &encoding, NULL), 0);
    assert_false(encoding.punted);
    assert_true(encoding.mark == (mark & codec->mark_bits));
}

static uint16_t random_vid(void)
{
    return (uint16_t)(rand() % 4 ? rand() % 48 : rand() % 4096);
}

static void check_garbage(const struct pd_codec *codec, const struct naive *naive,
                          unsigned exact_hops, unsigned max_hops)
{
    uint32_t tors[256], len = 0;
    (void)naive, (void)exact_hops, (void)max_hops;
    for (uint32_t i = 0; i < codec->topology->switches_len; i++) {
        if (pd_topology_role_is_tor(codec->topology->switches[i].role)) {
            tors[len++] = i;
        }
    }
    unsigned before = decoded_len;
    for (int i = 0; i < 100000; i++) {
        struct pd_tags tags = {.len = (uint8_t)(rand() % 8 ? rand() % 3 : rand() % 5),
                               .dscp = (uint8_t)(rand() % 4 ? rand() % 8 : rand() % 64)};
        for (unsigned v = 0; v < PD_TAGS_MAX; v++) {
            tags.vids[v] = random_vid();
        }
        uint64_t mark = pd_tags_pack(&tags);
        if (rand() % 16 == 0) { /* any bits at all */
            mark ^= UINT64_C(1) << rand() % 64;
        }
        check_tags(codec, tors[(uint32_t)rand() % len], tors[(uint32_t)rand() % len], mark);
    }
    assert_true(decoded_len > before + 100);
}

static void garbage_is_never_a_guess(void **state)
{
    (void)state;
    on_each_network(check_garbage);
}

/* Where no rack is meant, nothing is read. */
static void check_no_rack(const struct pd_codec *codec, const struct naive *naive,
                          unsigned exact_hops, unsigned max_hops)
{
    struct pd_path path;
    (void)naive, (void)exact_hops, (void)max_hops;
    assert_int_equal(pd_codec_decode(codec, PD_NONE, 0, 0, &path, NULL), -PD_E_UNKNOWN_HOST);
    assert_int_equal(pd_codec_decode(codec, 0, PD_NONE, 0, &path, NULL), -PD_E_UNKNOWN_HOST);
}

static void no_rack_is_an_unknown_host(void **state)
{
    (void)state;
    on_each_network(check_no_rack);
}

/* ---- verification counts what plain enumeration counts */

static void check_verification(const struct pd_codec *codec, const struct naive *naive,
                               unsigned exact_hops, unsigned max_hops)
{
    for (unsigned hops = 1; hops <= max_hops; hops++) {
        struct pd_verification got, wanted;
        naive_verification(codec->topology, naive, pd_tagging(codec)->ops->max_vlans, hops,
                           &wanted);
        assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, hops, NULL, NULL, &got), 0);
        assert_memory_equal(got.by_hops, wanted.by_hops, sizeof got.by_hops);
        assert_int_equal(got.paths, wanted.paths);
        assert_int_equal(got.ambiguous, wanted.ambiguous);
        assert_int_equal(got.punted, wanted.punted);
        if (hops <= exact_hops) {
            assert_int_equal(got.undecodable + got.ambiguous, 0);
        } else {
            assert_true(got.undecodable >= got.ambiguous);
        }
    }
}

static void verification_counts_every_path(void **state)
{
    (void)state;
    on_each_network(check_verification);
}

/* ---- choice of a codec */

static struct pd_topology *parse(const char *text)
{
    struct pd_topology *t = NULL;
    struct pd_error error = {0};
    if (pd_topology_parse(text, strlen(text), "file", &t, &error)) {
        fail_msg("%s", error.text);
    }
    return t;
}

static void a_topology_without_codec_is_refused(void **state)
{
    struct pd_codec *codec = NULL;
    struct pd_error error = {0};
    (void)state;
    struct pd_topology *t = parse("{\"nodes\":[{\"id\":1,\"role\":\"tor\"}],\"links\":[]}");
    assert_int_equal(pd_codec_new(t, &codec, &error), -PD_E_UNSUPPORTED);
    assert_string_equal(error.text, "the topology names no codec");
    pd_topology_free(t);
    t = parse("{\"codec\":\"morse\",\"nodes\":[{\"id\":1,\"role\":\"tor\"}],\"links\":[]}");
    assert_int_equal(pd_codec_new(t, &codec, &error), -PD_E_UNSUPPORTED);
    assert_string_equal(error.text, "there is no codec `morse`");
    pd_topology_free(t);
    assert_null(codec);
}

/* A tag in the file must be the one that the rules push. */
static void link_tags_of_the_file_are_assertions(void **state)
{
    static const char format[] =
        "{\"codec\":\"cherrypick-leaf-spine\",\"nodes\":[{\"id\":1,\"role\":\"leaf\"},{\"id\":2,"
        "\"role\":\"leaf\"},"
        "{\"id\":3,\"role\":\"spine\"}],\"links\":[{\"source\":1,\"target\":3,\"tag\":1},"
        "{\"source\":3,\"target\":2,\"tag\":%d}]}";
    (void)state;
    for (int tag = 1; tag <= 3; tag++) {
        char text[400];
        struct pd_codec *codec = NULL;
        struct pd_error error = {0};
        snprintf(text, sizeof text, format, tag);
        struct pd_topology *t = parse(text);
        assert_int_equal(pd_codec_new(t, &codec, &error), tag == 2 ? 0 : -PD_E_TOPOLOGY);
        if (tag == 3) {
            assert_string_equal(
                error.text,
                "the link between 2 and 3 has the tag 3 in the topology, the codec needs 2");
        }
        pd_codec_free(codec);
        pd_topology_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_comes_back),
        cmocka_unit_test(garbage_is_never_a_guess),
        cmocka_unit_test(no_rack_is_an_unknown_host),
        cmocka_unit_test(verification_counts_every_path),
        cmocka_unit_test(a_topology_without_codec_is_refused),
        cmocka_unit_test(link_tags_of_the_file_are_assertions),
    };
    srand((unsigned)test_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
