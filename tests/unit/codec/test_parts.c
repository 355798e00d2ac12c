/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes with parts missing: what is left of the full shape's paths is counted, decoded, and has
 * the full shape's marks. PD_DRAWS=100 draws as many of each; ctest draws 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/hash.h"
#include "naive.h"
#include "topology/links.h"

/* The oracle: all simple paths of the full shape, by plain enumeration, with the marks that its
 * codec gives them. Those whose switches and cables are all left are the paths of what is left. */

#define ID_MAX 2048

struct full_path {
    struct pd_path path;
    struct pd_encoding encoding;
};

struct shape {
    struct pd_topology *topology;
    struct pd_codec *codec;
    json_t *document;
    unsigned max_hops;
    struct full_path *paths;
    size_t len, room;
};

struct cut {
    bool nodes[ID_MAX];          /* gone */
    bool cables[ID_MAX][ID_MAX]; /* gone, both ways */
};

enum part { CABLES_1, CABLES_5, CABLES_20, RACK, POD, TOP, PARTS };

/* ---- the full shape */

static void keep(void *context, const struct pd_path *path)
{
    struct shape *shape = context;
    if (shape->len == shape->room) {
        shape->room = 2 * shape->room + 1024;
        shape->paths = reallocarray(shape->paths, shape->room, sizeof *shape->paths);
        assert_non_null(shape->paths);
    }
    struct full_path *kept = &shape->paths[shape->len++];
    kept->path = *path;
    assert_int_equal(pd_codec_encode(shape->codec, path, &kept->encoding, NULL), 0);
}

static void make_shape(const struct naive *naive, unsigned max_hops, struct shape *shape)
{
    *shape = (struct shape){.max_hops = max_hops};
    shape->codec = naive_codec(naive, &shape->topology);
    const struct pd_topology *t = shape->topology;
    for (uint32_t s = 0; s < t->switches_len; s++) {
        for (uint32_t d = 0; d < t->switches_len; d++) {
            if (s != d && t->switches[s].prefixes_len && t->switches[d].prefixes_len) {
                naive_paths(t, t->switches[s].id, t->switches[d].id, max_hops, keep, shape);
            }
        }
    }
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(pd_topology_write(t, out), 0);
    fclose(out);
    shape->document = json_loadb(text, bytes, 0, NULL);
    assert_non_null(shape->document);
    free(text);
}

static void free_shape(struct shape *shape)
{
    json_decref(shape->document);
    pd_codec_free(shape->codec);
    pd_topology_free(shape->topology);
    free(shape->paths);
}

/* ---- what goes */

static uint64_t random_state;

static uint32_t draw(uint32_t most)
{
    return (uint32_t)(pd_splitmix64(&random_state) % most);
}

static uint32_t draw_switch(const struct pd_topology *t, bool rack)
{
    for (;;) {
        const struct pd_switch *sw = &t->switches[draw(t->switches_len)];
        bool top = sw->role == PD_ROLE_CORE || sw->role == PD_ROLE_INTERMEDIATE ||
                   sw->role == PD_ROLE_SPINE;
        if (rack ? pd_topology_role_is_tor(sw->role) : top) {
            return sw->id;
        }
    }
}

static void draw_cut(const struct pd_topology *t, enum part part, struct cut *cut)
{
    static const uint32_t percents[] = {[CABLES_1] = 1, [CABLES_5] = 5, [CABLES_20] = 20};
    memset(cut, 0, sizeof *cut);
    if (part == RACK || part == TOP) {
        cut->nodes[draw_switch(t, part == RACK)] = true;
    } else if (part == POD) {
        uint32_t rack = pd_topology_switch(t, draw_switch(t, true));
        for (uint32_t i = 0; i < t->switches_len; i++) {
            bool same =
                i == rack || (t->switches[i].pod && t->switches[i].pod == t->switches[rack].pod);
            cut->nodes[t->switches[i].id] = same;
        }
    } else {
        uint32_t left = (t->fabric_links_len * percents[part] + 99) / 100;
        while (left) {
            uint32_t d = 2 * draw(t->fabric_links_len);
            uint32_t a = pd_topology_links_from_id(t, d), b = pd_topology_links_to_id(t, d);
            left -= !cut->cables[a][b];
            cut->cables[a][b] = cut->cables[b][a] = true;
        }
    }
    for (uint32_t i = 0; i < t->hosts_len; i++) {
        cut->nodes[t->hosts[i].id] = cut->nodes[t->switches[t->hosts[i].tor].id];
    }
}

static json_int_t member(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* Without names where only cables are missing: what is linked tells then. */
static struct pd_topology *apply(const struct shape *shape, const struct cut *cut, bool names)
{
    json_t *document = json_deep_copy(shape->document);
    if (!names) {
        json_object_del(document, "name");
    }
    json_t *nodes = json_object_get(document, "nodes"), *links = json_object_get(document, "links");
    for (size_t i = json_array_size(nodes); i-- > 0;) {
        if (cut->nodes[member(json_array_get(nodes, i), "id")]) {
            json_array_remove(nodes, i);
        } else if (!names) {
            json_object_del(json_array_get(nodes, i), "name");
        }
    }
    for (size_t i = json_array_size(links); i-- > 0;) {
        json_int_t a = member(json_array_get(links, i), "source");
        json_int_t b = member(json_array_get(links, i), "target");
        if (cut->nodes[a] || cut->nodes[b] || cut->cables[a][b]) {
            json_array_remove(links, i);
        }
    }
    char *text = json_dumps(document, 0);
    struct pd_topology *t = NULL;
    struct pd_error error = {0};
    if (pd_topology_parse(text, strlen(text), "cut.json", &t, &error)) {
        fail_msg("%s", error.text);
    }
    free(text);
    json_decref(document);
    return t;
}

static bool is_left(const struct cut *cut, const struct pd_path *path)
{
    for (unsigned i = 0; i < path->len; i++) {
        if (cut->nodes[path->switches[i]] ||
            (i && cut->cables[path->switches[i - 1]][path->switches[i]])) {
            return false;
        }
    }
    return true;
}

/* ---- checks */

static void check_cut(const struct shape *shape, enum part part, bool names, struct cut *cut)
{
    struct pd_codec *codec = NULL;
    struct pd_error error = {0};
    struct pd_verification got, wanted = {0};
    draw_cut(shape->topology, part, cut);
    struct pd_topology *t = apply(shape, cut, names);
    if (pd_codec_new(t, &codec, &error)) {
        fail_msg("%s", error.text);
    }
    for (size_t i = 0; i < shape->len; i++) {
        const struct full_path *full = &shape->paths[i];
        struct pd_encoding encoding;
        if (!is_left(cut, &full->path)) {
            continue;
        }
        wanted.by_hops[full->path.len - 1]++;
        wanted.punted += full->encoding.punted;
        if (i % 5 == 0) { /* the mark is that of the full shape */
            assert_int_equal(pd_codec_encode(codec, &full->path, &encoding, NULL), 0);
            assert_true(encoding.mark == full->encoding.mark);
            assert_int_equal(encoding.punted, full->encoding.punted);
        }
    }
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, shape->max_hops, NULL, NULL, &got), 0);
    assert_memory_equal(got.by_hops, wanted.by_hops, sizeof got.by_hops);
    assert_int_equal(got.punted, wanted.punted);
    assert_int_equal(got.ambiguous, 0);
    assert_int_equal(got.undecodable, 0);
    pd_codec_free(codec);
    pd_topology_free(t);
}

static void check_shape(const struct naive *naive, unsigned max_hops)
{
    const char *given = getenv("PD_DRAWS");
    unsigned draws = given ? (unsigned)strtoul(given, NULL, 10) : 2;
    struct cut *cut = malloc(sizeof *cut);
    struct shape shape;
    assert_non_null(cut);
    make_shape(naive, max_hops, &shape);
    random_state = 2016;
    for (enum part part = CABLES_1; part < PARTS; part++) {
        for (unsigned i = 0; i < draws; i++) {
            check_cut(&shape, part, part != CABLES_1 || i % 2, cut);
        }
    }
    free_shape(&shape);
    free(cut);
}

static void fat_trees_with_parts_missing(void **state)
{
    (void)state;
    check_shape(&(struct naive){.kind = NAIVE_FAT_TREE, .k = 8}, 6);
}

static void vl2s_with_parts_missing(void **state)
{
    (void)state;
    check_shape(&(struct naive){.kind = NAIVE_VL2, .k = 8}, 6);
}

static void leaf_spines_with_parts_missing(void **state)
{
    (void)state;
    check_shape(&(struct naive){.kind = NAIVE_LEAF_SPINE, .k = 8, .leaves = 16}, 4);
}

/* Names of an operator's own: positions tell, and the size may have to be said. */
static void positions_tell_where_names_do_not(void **state)
{
    static const char text[] =
        "{\"codec\":\"cherrypick-leaf-spine\",\"codec_options\":{\"spines\":6},\"nodes\":["
        "{\"id\":1,\"role\":\"leaf\",\"position\":2},{\"id\":2,\"role\":\"leaf\",\"position\":1},"
        "{\"id\":3,\"role\":\"spine\",\"position\":4}],"
        "\"links\":[{\"source\":1,\"target\":3,\"tag\":10},{\"source\":2,\"target\":3,\"tag\":4}]}";
    struct pd_topology *t = NULL;
    struct pd_codec *codec = NULL;
    struct pd_error error = {0};
    (void)state;
    if (pd_topology_parse(text, strlen(text), "x.json", &t, &error) ||
        pd_codec_new(t, &codec, &error)) {
        fail_msg("%s", error.text);
    }
    pd_codec_free(codec);
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fat_trees_with_parts_missing),
        cmocka_unit_test(vl2s_with_parts_missing),
        cmocka_unit_test(leaf_spines_with_parts_missing),
        cmocka_unit_test(positions_tell_where_names_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
