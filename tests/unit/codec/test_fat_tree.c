/* SPDX-License-Identifier: Apache-2.0 */
/* Fat-tree codec: worked examples, every kind of detour by hand, tags as the formula says, IDs of
 * the operator's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "naive.h"
#include "tests/shared/random.h"

struct fixture {
    struct pd_topology *topology;
    struct pd_codec *codec;
};

static struct pd_tags parse_tags(const char *text)
{
    struct pd_tags tags = {.len = 0};
    for (const char *at = text; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        tags.vids[tags.len++] = (uint16_t)atoi(at);
    }
    return tags;
}

static uint32_t tor_of(const struct pd_topology *topology, const char *text)
{
    struct pd_addr addr;
    uint8_t version;
    assert_int_equal(pd_addr_parse(text, &addr, &version), 0);
    return pd_topology_tor_of(topology, &addr, version);
}

/* ---- worked examples, k = 4: ToRs 1..8, aggs 9..16, cores 17..20 */

static const struct {
    const char *src, *dst, *path, *tags, *what;
} examples[] = {
    {"10.1.1.2", "10.1.1.3", "1", "", "inside a rack"},
    {"10.1.1.2", "10.1.2.2", "1,9,2", "1", "inside a pod, first agg"},
    {"10.1.1.2", "10.1.2.2", "1,10,2", "2", "inside a pod, second agg"},
    {"10.1.2.2", "10.1.1.2", "2,9,1", "3", "inside a pod, from the second ToR"},
    {"10.1.1.2", "10.2.1.2", "1,9,17,11,3", "9", "between pods, first core"},
    {"10.1.1.2", "10.2.1.2", "1,9,18,11,3", "10", "between pods, second core"},
    {"10.1.1.2", "10.2.1.2", "1,10,19,12,3", "11", "between pods, other group"},
    {"10.4.2.3", "10.1.1.2", "8,16,20,10,1", "10", "colours wrap at k·h: ((4−1)+(2−1))·2+1 mod 8"},
    {"10.1.1.2", "10.2.1.2", "1,9,17,13,18,11,3", "9,14", "detour at the core"},
    {"10.1.1.2", "10.2.1.2", "1,9,2,10,19,12,3", "3,11", "detour in the source's pod"},
    {"10.1.1.2", "10.2.1.2", "1,9,17,11,4,12,3", "9,4", "detour in the destination's pod"},
    {"fd00:0:1:1::2", "fd00:0:2:1::2", "1,9,17,13,18,11,3", "9,14", "IPv6"},
};

static void worked_examples(void **state)
{
    const struct fixture *f = *state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct pd_path path, decoded;
        struct pd_encoding encoding;
        struct pd_tags tags = parse_tags(examples[i].tags);
        struct pd_error error = {0};
        assert_int_equal(pd_path_parse(examples[i].path, &path), 0);
        assert_int_equal(pd_codec_encode(f->codec, &path, &encoding, &error), 0);
        if (encoding.mark != pd_tags_pack(&tags) || encoding.punted) {
            fail_msg("%s: tags %u: %u,%u", examples[i].what, pd_tags_len(encoding.mark),
                     pd_tags_vid(encoding.mark, 0), pd_tags_vid(encoding.mark, 1));
        }
        if (pd_codec_decode(f->codec, tor_of(f->topology, examples[i].src),
                            tor_of(f->topology, examples[i].dst), pd_tags_pack(&tags), &decoded,
                            &error)) {
            fail_msg("%s: %s", examples[i].what, error.text);
        }
        assert_true(pd_path_equal(&path, &decoded));
    }
}

/* Between 10.1.1.2 and 10.2.1.2 unless said otherwise; each for a reason of its own. */
static const struct {
    const char *dst, *tags, *reason;
} infeasible[] = {
    {"10.2.1.2", "", "the tags do not tell the way from 1 to 3"},
    {"10.2.1.2", "4000", "no link has the tag 4000"},
    {"10.2.1.2", "5", "no link has the tag 5"}, /* names a pod, is never pushed */
    {"10.2.1.2", "17", "no link has the tag 17"},
    {"10.2.1.2", "9,9", "the tags do not tell the way from 9 to 3"},
    {"10.2.1.2", "1,1,1", "3 tags, switches push at most 2"},
    {"10.2.1.2", "14,9", "pod 1 has no link with the tag 14"},
    {"10.2.1.2", "1", "the tags do not tell the way from 9 to 3"},
    {"10.2.1.2", "1,3", "the tags do not tell the way from 2 to 3"}, /* never left the pod */
    {"10.2.1.2", "4,3", "the tags do not tell the way from 9 to 3"},
    {"10.2.1.2", "9,1", "no path gets these tags"}, /* enters the last agg twice */
    {"10.2.1.2", "0", "0 is no link tag"},
    {"10.2.1.2", "4095", "4095 is no link tag"},
    {"10.1.1.3", "1", "tags on a packet that stays in one rack"},
    {"10.1.2.2", "3", "no path gets these tags"}, /* the link of the destination, not the source */
    {"10.1.2.2", "9", "the tags lead to switch 9 twice"},
};

static void infeasible_tags_are_never_a_guess(void **state)
{
    const struct fixture *f = *state;
    for (size_t i = 0; i < sizeof infeasible / sizeof *infeasible; i++) {
        struct pd_tags tags = parse_tags(infeasible[i].tags);
        struct pd_path path, untouched;
        struct pd_error error = {0};
        memset(&path, 0x5a, sizeof path);
        untouched = path;
        int err = pd_codec_decode(f->codec, tor_of(f->topology, "10.1.1.2"),
                                  tor_of(f->topology, infeasible[i].dst), pd_tags_pack(&tags),
                                  &path, &error);
        if (err != -PD_E_INFEASIBLE || strcmp(error.text, infeasible[i].reason) != 0) {
            print_message("tags %s: %d, `%s` instead of `%s`\n", infeasible[i].tags, err,
                          error.text, infeasible[i].reason);
        }
        assert_int_equal(err, -PD_E_INFEASIBLE);
        assert_string_equal(error.text, infeasible[i].reason);
        assert_memory_equal(&path, &untouched, sizeof path);
        assert_int_equal(pd_codec_decode(f->codec, tor_of(f->topology, "10.1.1.2"),
                                         tor_of(f->topology, infeasible[i].dst),
                                         pd_tags_pack(&tags), &path, NULL),
                         -PD_E_INFEASIBLE);
    }
}

static void paths_that_are_none_are_not_encoded(void **state)
{
    static const char *const bad[][2] = {
        {"1,9,99", "no switch has the ID 99"},
        {"9,1", "a path starts and ends at ToRs, 9 is of role agg"},
        {"1,9,17", "a path starts and ends at ToRs, 17 is of role core"},
        {"1,21", "no switch has the ID 21"}, /* a host */
        {"1,2", "no link joins 1 and 2"},
        {"1,9,17,12,3", "no link joins 17 and 12"},
        {"1,1", "no link joins 1 and 1"},
    };
    const struct fixture *f = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pd_path path;
        struct pd_encoding encoding;
        struct pd_error error = {0};
        assert_int_equal(pd_path_parse(bad[i][0], &path), 0);
        assert_int_equal(pd_codec_encode(f->codec, &path, &encoding, &error), -PD_E_INFEASIBLE);
        assert_string_equal(error.text, bad[i][1]);
    }
    struct pd_path empty = {.len = 0}, too_long = {.len = PD_PATH_MAX + 1};
    struct pd_encoding encoding;
    assert_int_equal(pd_codec_encode(f->codec, &empty, &encoding, NULL), -PD_E_INFEASIBLE);
    assert_int_equal(pd_codec_encode(f->codec, &too_long, &encoding, NULL), -PD_E_INFEASIBLE);
}

/* A loop: the third push sends the packet to the controller, with two tags on it. */
static void loops_are_punted(void **state)
{
    const struct fixture *f = *state;
    struct pd_path path;
    struct pd_encoding encoding;
    assert_int_equal(pd_path_parse("1,9,17,13,17,13,17,11,3", &path), 0);
    assert_int_equal(pd_codec_encode(f->codec, &path, &encoding, NULL), 0);
    assert_true(encoding.punted);
    assert_int_equal(encoding.punted_at, 6);
    assert_int_equal(pd_tags_len(encoding.mark), 2);
    assert_int_equal(pd_tags_vid(encoding.mark, 0), 9);
    assert_int_equal(pd_tags_vid(encoding.mark, 1), 13);
}

/* ---- numbers of tags and rules */

/* Each switch: tags differ between its ports; a ToR has k/2 + 1 rules, an agg k/2, a core k. */
static void rules_grow_with_ports(void **state)
{
    (void)state;
    for (uint32_t k = 4; k <= 72; k += 34) {
        struct pd_topology *topology;
        struct naive naive = {.kind = NAIVE_FAT_TREE, .k = k};
        struct pd_codec *codec = naive_codec(&naive, &topology);
        for (uint32_t sw = 0; sw < topology->switches_len; sw++) {
            struct pd_rule *rules;
            size_t len;
            bool used[4096] = {false};
            enum pd_switch_role role = topology->switches[sw].role;
            assert_int_equal(pd_tagging_rules(pd_tagging(codec), sw, &rules, &len), 0);
            assert_int_equal(len, role == PD_ROLE_TOR   ? k / 2 + 1
                                  : role == PD_ROLE_AGG ? k / 2
                                                        : k);
            for (size_t i = role == PD_ROLE_TOR; i < len; i++) {
                assert_int_equal(rules[i].action, PD_TAG_PUSH_VLAN);
                assert_in_range(rules[i].value, 1, k * k / 4 + k + k * k / 2);
                assert_false(used[rules[i].value]);
                used[rules[i].value] = true;
            }
            free(rules);
        }
        pd_codec_free(codec);
        pd_topology_free(topology);
    }
}

/* ---- the largest fat-tree, sampled */

static void check_path(const struct pd_codec *codec, const struct pd_path *path)
{
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 72};
    uint16_t vids[PD_PATH_MAX];
    uint8_t dscp;
    struct pd_encoding encoding;
    struct pd_path decoded;
    unsigned len = naive_tags(&naive, path, vids, &dscp);
    assert_int_equal(pd_codec_encode(codec, path, &encoding, NULL), 0);
    assert_int_equal(encoding.punted, len > 2);
    if (encoding.punted) {
        return;
    }
    const struct pd_tags tags = pd_tags_unpack(encoding.mark);
    assert_int_equal(tags.len, len);
    assert_memory_equal(tags.vids, vids, len * sizeof *vids);
    uint32_t src = pd_topology_switch(codec->topology, path->switches[0]);
    uint32_t dst = pd_topology_switch(codec->topology, path->switches[path->len - 1]);
    assert_int_equal(pd_codec_decode(codec, src, dst, encoding.mark, &decoded, NULL), 0);
    assert_true(pd_path_equal(path, &decoded));
}

/* Walks at random, never to a switch twice, until a ToR or 6 hops. False when it ends elsewhere. */
static bool random_walk(const struct pd_topology *t, struct pd_path *ret_path)
{
    struct pd_path path = {.len = 1, .switches = {1 + (uint32_t)rand() % 2592}};
    while (path.len <= 6) {
        uint32_t at = pd_topology_switch(t, path.switches[path.len - 1]);
        const struct pd_switch *sw = &t->switches[at];
        if (path.len > 1 && sw->role == PD_ROLE_TOR && rand() % 2) {
            break;
        }
        at = sw->neighbours[(uint32_t)rand() % sw->switch_neighbours].node;
        for (unsigned i = 0; i < path.len; i++) {
            if (path.switches[i] == t->switches[at].id) {
                return false;
            }
        }
        path.switches[path.len++] = t->switches[at].id;
    }
    *ret_path = path;
    return path.switches[path.len - 1] <= 2592;
}

static void the_largest_fat_tree(void **state)
{
    struct pd_topology *topology;
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 72};
    struct pd_codec *codec = naive_codec(&naive, &topology);
    unsigned by_hops[7] = {0};
    (void)state;
    for (int i = 0; i < 50000; i++) {
        struct pd_path path;
        if (!random_walk(topology, &path)) {
            continue;
        }
        check_path(codec, &path);
        by_hops[path.len - 1]++;
    }
    assert_true(by_hops[2] > 100 && by_hops[4] > 100 && by_hops[6] > 100);
    pd_codec_free(codec);
    pd_topology_free(topology);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    fixture.codec = naive_codec(&naive, &fixture.topology);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    pd_codec_free(f->codec);
    pd_topology_free(f->topology);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_examples),
        cmocka_unit_test(infeasible_tags_are_never_a_guess),
        cmocka_unit_test(paths_that_are_none_are_not_encoded),
        cmocka_unit_test(loops_are_punted),
        cmocka_unit_test(rules_grow_with_ports),
        cmocka_unit_test(the_largest_fat_tree),
    };
    srand((unsigned)test_seed());
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
