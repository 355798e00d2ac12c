/* SPDX-License-Identifier: Apache-2.0 */
/* Tags by formula and paths by recursion: what the codec's tests compare with. */
#include "naive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- where a switch stands, from its regular ID; everything 0-based */

struct place {
    int layer; /* 0 ToR or leaf, 1 agg or spine, 2 core or intermediate */
    uint32_t group, position;
};

static struct place place_of(const struct naive *n, uint32_t id)
{
    uint32_t at = (n->ids ? n->ids[id] : id) - 1, h = n->k / 2;
    if (n->kind == NAIVE_FAT_TREE) {
        if (at < n->k * h) {
            return (struct place){0, at / h, at % h};
        }
        at -= n->k * h;
        if (at < n->k * h) {
            return (struct place){1, at / h, at % h};
        }
        at -= n->k * h;
        return (struct place){2, at / h, at % h};
    }
    if (n->kind == NAIVE_VL2) {
        if (at < h * h) {
            return (struct place){0, at / h, at % h};
        }
        at -= h * h;
        return at < n->k ? (struct place){1, at / 2, at % 2} : (struct place){2, 0, at - n->k};
    }
    return at < n->leaves ? (struct place){0, 0, at} : (struct place){1, 0, at - n->leaves};
}

/* ---- tags by formula */

static unsigned fat_tree_tag(const struct naive *n, struct place from, struct place to,
                             uint32_t src_pod, uint32_t dst_pod)
{
    uint32_t k = n->k, h = k / 2;
    if (to.layer == 2) {
        return h * h + k + 1 + ((from.group + from.position) * h + to.position) % (k * h);
    }
    if (from.layer == 0 && to.group == dst_pod) {
        return from.position * h + to.position + 1;
    }
    if (from.layer == 1 && to.layer == 0 && to.group == src_pod && src_pod != dst_pod) {
        return to.position * h + from.position + 1;
    }
    return 0;
}

static unsigned vl2_tag(const struct naive *n, struct place from, struct place to)
{
    if (to.layer != 1) {
        return 0;
    }
    if (from.layer == 0) {
        return 2 * from.position + to.position + 1;
    }
    return n->k + (2 * to.group + to.position) * (n->k / 2) + from.position + 1;
}

static unsigned tag_of(const struct naive *n, struct place from, struct place to, struct place src,
                       struct place dst)
{
    if (n->kind == NAIVE_FAT_TREE) {
        return fat_tree_tag(n, from, to, src.group, dst.group);
    }
    if (n->kind == NAIVE_VL2) {
        return vl2_tag(n, from, to);
    }
    return to.layer == 1 ? from.position * n->k + to.position + 1 : 0;
}

unsigned naive_tags(const struct naive *naive, const struct pd_path *path,
                    uint16_t ret_vids[PD_PATH_MAX], uint8_t *ret_dscp)
{
    unsigned len = 0;
    *ret_dscp = 0;
    struct place src = place_of(naive, path->switches[0]);
    struct place dst = place_of(naive, path->switches[path->len - 1]);
    for (unsigned i = 1; i < path->len; i++) {
        struct place from = place_of(naive, path->switches[i - 1]);
        struct place to = place_of(naive, path->switches[i]);
        unsigned tag = tag_of(naive, from, to, src, dst);
        if (tag && naive->kind == NAIVE_VL2 && !*ret_dscp) {
            *ret_dscp = (uint8_t)tag;
        } else if (tag) {
            ret_vids[len++] = (uint16_t)tag;
        }
    }
    return len;
}

/* ---- paths by recursion */

struct walk {
    const struct pd_topology *topology;
    uint32_t dst;
    unsigned max_hops;
    void (*visit)(void *context, const struct pd_path *path);
    void *context;
    struct pd_path path;
};

static bool on_path(const struct pd_path *path, uint32_t id)
{
    for (unsigned i = 0; i < path->len; i++) {
        if (path->switches[i] == id) {
            return true;
        }
    }
    return false;
}

static void extend(struct walk *w)
{
    uint32_t at = w->path.switches[w->path.len - 1];
    if (at == w->dst) {
        w->visit(w->context, &w->path);
        return;
    }
    if (w->path.len > w->max_hops) {
        return;
    }
    const struct pd_switch *sw = &w->topology->switches[pd_topology_switch(w->topology, at)];
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        uint32_t next = w->topology->switches[sw->neighbours[i].node].id;
        if (on_path(&w->path, next)) {
            continue;
        }
        w->path.switches[w->path.len++] = next;
        extend(w);
        w->path.switches[--w->path.len] = 0;
    }
}

void naive_paths(const struct pd_topology *topology, uint32_t src, uint32_t dst, unsigned max_hops,
                 void (*visit)(void *context, const struct pd_path *path), void *context)
{
    struct walk w = {topology, dst, max_hops, visit, context, {.len = 1, .switches = {src}}};
    extend(&w);
}

/* ---- what verification must count */

struct seen {
    uint16_t vids[PD_PATH_MAX];
    unsigned len;
    uint8_t dscp;
};

struct coverage {
    const struct naive *naive;
    unsigned max_vlans;
    struct pd_verification sum;
    struct seen *seen; /* not punted, of one pair */
    size_t seen_len, seen_room;
};

static int compare_seen(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct seen));
}

static void count(void *context, const struct pd_path *path)
{
    struct coverage *c = context;
    c->sum.by_hops[path->len - 1]++;
    c->sum.paths++;
    struct seen seen;
    memset(&seen, 0, sizeof seen);
    seen.len = naive_tags(c->naive, path, seen.vids, &seen.dscp);
    if (seen.len > c->max_vlans) {
        c->sum.punted++;
        return;
    }
    if (c->seen_len == c->seen_room) {
        c->seen_room = 2 * c->seen_room + 64;
        c->seen = reallocarray(c->seen, c->seen_room, sizeof *c->seen);
        assert_non_null(c->seen);
    }
    c->seen[c->seen_len++] = seen;
}

void naive_verification(const struct pd_topology *topology, const struct naive *naive,
                        unsigned max_vlans, unsigned max_hops,
                        struct pd_verification *ret_verification)
{
    struct coverage c = {.naive = naive, .max_vlans = max_vlans};
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        for (uint32_t d = 0; d < topology->switches_len; d++) {
            if (s == d || !pd_topology_role_is_tor(topology->switches[s].role) ||
                !pd_topology_role_is_tor(topology->switches[d].role)) {
                continue;
            }
            c.seen_len = 0;
            naive_paths(topology, topology->switches[s].id, topology->switches[d].id, max_hops,
                        count, &c);
            if (c.seen_len) {
                qsort(c.seen, c.seen_len, sizeof *c.seen, compare_seen);
            }
            for (size_t i = 1; i < c.seen_len; i++) {
                c.sum.ambiguous += !compare_seen(&c.seen[i - 1], &c.seen[i]);
            }
        }
    }
    free(c.seen);
    *ret_verification = c.sum;
}

struct pd_codec *naive_codec(const struct naive *naive, struct pd_topology **ret_topology)
{
    struct pd_codec *codec = NULL;
    struct pd_error error = {0};
    int failed = naive->kind == NAIVE_FAT_TREE
                     ? pd_topology_fat_tree(naive->k, ret_topology, &error)
                 : naive->kind == NAIVE_VL2
                     ? pd_topology_vl2(naive->k, ret_topology, &error)
                     : pd_topology_leaf_spine(naive->leaves, naive->k, 2, ret_topology, &error);
    if (failed || pd_codec_new(*ret_topology, &codec, &error)) {
        fail_msg("%s", error.text);
    }
    return codec;
}

struct pd_codec *naive_codec_told(const struct naive *naive, const char *options,
                                  struct pd_topology **ret_topology)
{
    struct pd_topology *t;
    char *text, *more;
    size_t bytes;
    pd_codec_free(naive_codec(naive, &t));
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(pd_topology_write(t, out), 0);
    fclose(out);
    pd_topology_free(t);
    assert_true(asprintf(&more, "{\"codec_options\":%s,%s", options, strchr(text, '{') + 1) > 0);
    struct pd_codec *codec = NULL;
    struct pd_error error = {0};
    if (pd_topology_parse(more, strlen(more), "file", ret_topology, &error)) {
        fail_msg("%s", error.text);
    }
    int err = pd_codec_new(*ret_topology, &codec, &error);
    assert_true(!err || err == -PD_E_VALUE);
    free(text);
    free(more);
    return codec;
}

struct pd_codec *naive_codec_within(const struct naive *naive, unsigned max_hops,
                                    struct pd_topology **ret_topology)
{
    char options[32];
    snprintf(options, sizeof options, "{\"max_hops\":%u}", max_hops);
    return naive_codec_told(naive, options, ret_topology);
}
