/* SPDX-License-Identifier: Apache-2.0 */
/* Trees: each host once, depth and fan-out bounded, racks and pods kept together, the same again
 * for the same question. */
#include "fleet.h"

#include "../../shared/random.h"
#include "controller/trees.h"

static struct pd_selection everyone(const struct pd_inventory *inventory)
{
    struct pd_selection selection = {.hosts = calloc(inventory->hosts_len, sizeof(uint32_t)),
                                     .len = inventory->hosts_len};

    for (size_t i = 0; i < selection.len; i++) {
        selection.hosts[i] = (uint32_t)i;
    }
    return selection;
}

/* Some of the hosts, at least one. */
static struct pd_selection some(const struct pd_inventory *inventory, struct random *random)
{
    struct pd_selection selection = everyone(inventory);
    uint64_t of = random_below(random, 20) + 1;
    size_t len = 0;

    for (size_t i = 0; i < selection.len; i++) {
        if (random_below(random, of) == 0) {
            selection.hosts[len++] = (uint32_t)i;
        }
    }
    selection.len = len ? len : 1;
    return selection;
}

/* ---- what holds of every tree */

struct seen {
    const struct pd_inventory *inventory;
    unsigned *times; /* by index in the inventory */
    size_t hosts;
    uint32_t depth, fanout;
};

static void walk(struct seen *seen, const struct pd_tree *trees, size_t len, uint32_t depth)
{
    seen->depth = depth > seen->depth ? depth : seen->depth;
    seen->fanout = len > seen->fanout ? (uint32_t)len : seen->fanout;
    for (size_t i = 0; i < len; i++) {
        size_t at = pd_controller_inventory_find(seen->inventory, trees[i].host);

        assert_true(at != SIZE_MAX);
        assert_ptr_equal(trees[i].url, seen->inventory->hosts[at].url);
        seen->times[at]++;
        seen->hosts++;
        if (trees[i].children_len) {
            walk(seen, trees[i].children, trees[i].children_len, depth + 1);
        }
    }
}

static void check(const struct pd_inventory *inventory, const struct pd_selection *selection,
                  const struct pd_trees *trees)
{
    struct seen seen = {inventory, calloc(inventory->hosts_len, sizeof(unsigned)), 0, 0, 0};

    walk(&seen, trees->tops, trees->tops_len, 1);
    assert_int_equal(seen.hosts, selection->len);
    assert_int_equal(trees->hosts, selection->len);
    for (size_t i = 0; i < selection->len; i++) {
        assert_int_equal(seen.times[selection->hosts[i]], 1);
    }
    assert_int_equal(seen.depth, trees->depth);
    assert_int_equal(seen.fanout, trees->fanout);
    free(seen.times);
}

static bool same(const struct pd_tree *a, size_t a_len, const struct pd_tree *b, size_t b_len)
{
    if (a_len != b_len) {
        return false;
    }
    for (size_t i = 0; i < a_len; i++) {
        if (a[i].host != b[i].host ||
            !same(a[i].children, a[i].children_len, b[i].children, b[i].children_len)) {
            return false;
        }
    }
    return true;
}

/* The least depth with which trees of this fan-out hold so many hosts. */
static uint32_t least_depth(size_t hosts, uint32_t fanout)
{
    uint64_t room = fanout, level = fanout;
    uint32_t depth = 1;

    for (; room < hosts; depth++) {
        level *= fanout;
        room += level;
    }
    return depth;
}

static struct pd_topology *topologies(int i)
{
    struct pd_topology *topology = NULL;

    switch (i) {
    case 0: return fat_tree(4);
    case 1: return fat_tree(8);
    case 2: assert_int_equal(pd_topology_vl2(8, &topology, NULL), 0); break;
    default: assert_int_equal(pd_topology_leaf_spine(17, 4, 5, &topology, NULL), 0); break;
    }
    return topology;
}

static void test_properties(void **state)
{
    struct random random = {test_seed()};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct pd_inventory *inventory = everybody(topologies(i));

        for (int run = 0; run < 50; run++) {
            struct pd_selection selection = run ? some(inventory, &random) : everyone(inventory);
            uint32_t fanout = (uint32_t)random_below(&random, 12);
            struct pd_trees trees, again;

            fanout = fanout < PD_TREES_FANOUT_MIN ? 0 : fanout;
            assert_int_equal(pd_controller_trees_new(inventory, &selection, fanout, &trees), 0);
            check(inventory, &selection, &trees);
            if (fanout) {
                assert_true(trees.fanout <= fanout);
                assert_true(trees.depth <= least_depth(selection.len, fanout));
            } else {
                assert_true(trees.depth <= 3);
            }
            assert_int_equal(pd_controller_trees_new(inventory, &selection, fanout, &again), 0);
            assert_true(same(trees.tops, trees.tops_len, again.tops, again.tops_len));
            pd_controller_trees_done(&again);
            pd_controller_trees_done(&trees);
            assert_int_equal(pd_controller_trees_direct(inventory, &selection, &trees), 0);
            check(inventory, &selection, &trees);
            assert_int_equal(trees.depth, 1);
            assert_int_equal(trees.chain, selection.len);
            pd_controller_trees_done(&trees);
            free(selection.hosts);
        }
        pd_controller_inventory_free(inventory);
    }
}

/* ---- shapes */

static const char *shape(const struct pd_tree *trees, size_t len, char *text)
{
    for (size_t i = 0; i < len; i++) {
        sprintf(text + strlen(text), "%s%u", i ? " " : "", trees[i].host);
        if (trees[i].children_len) {
            strcat(text, "(");
            shape(trees[i].children, trees[i].children_len, text);
            strcat(text, ")");
        }
    }
    return text;
}

static void expect(const struct pd_inventory *inventory, const struct pd_selection *selection,
                   uint32_t fanout, const char *expected)
{
    struct pd_trees trees;
    char text[2000] = "";

    assert_int_equal(pd_controller_trees_new(inventory, selection, fanout, &trees), 0);
    assert_string_equal(shape(trees.tops, trees.tops_len, text), expected);
    pd_controller_trees_done(&trees);
}

static void test_shapes(void **state)
{
    struct pd_inventory *inventory = everybody(fat_tree(4));
    struct pd_selection selection = everyone(inventory);
    uint32_t pod[] = {0, 1, 2, 3}, rack[] = {0, 1}, one[] = {5}, far[] = {0, 3, 15};

    (void)state;
    expect(inventory, &selection, 0, "21(23(24) 22) 25(27(28) 26) 29(31(32) 30) 33(35(36) 34)");
    expect(inventory, &selection, 2, "21(22(23(24) 25) 26(27 28)) 29(30(31(32) 33) 34(35 36))");
    expect(inventory, &(struct pd_selection){pod, 4}, 0, "21(22) 23(24)");
    expect(inventory, &(struct pd_selection){rack, 2}, 0, "21(22)");
    expect(inventory, &(struct pd_selection){one, 1}, 0, "26");
    expect(inventory, &(struct pd_selection){far, 3}, 0, "21(24) 36");
    free(selection.hosts);
    pd_controller_inventory_free(inventory);
}

static uint32_t most_racks_of_a_top(const struct pd_inventory *inventory, uint32_t *ret_tops)
{
    struct pd_selection selection = everyone(inventory);
    struct pd_trees trees;
    uint32_t most = 0;

    assert_int_equal(pd_controller_trees_new(inventory, &selection, 0, &trees), 0);
    *ret_tops = (uint32_t)trees.tops_len;
    for (size_t i = 0; i < trees.tops_len; i++) {
        uint32_t heads = 1;

        for (size_t j = 0; j < trees.tops[i].children_len; j++) {
            heads += trees.tops[i].children[j].children_len > 0;
        }
        most = heads > most ? heads : most;
    }
    pd_controller_trees_done(&trees);
    free(selection.hosts);
    return most;
}

/* VL2: a pair of aggregation switches is a pod; leaf-spine: as many groups as racks in a group. */
static void test_without_pods(void **state)
{
    struct pd_inventory *inventory = everybody(topologies(2));
    uint32_t tops;

    (void)state;
    assert_int_equal(most_racks_of_a_top(inventory, &tops), 4);
    assert_int_equal(tops, 4);
    pd_controller_inventory_free(inventory);
    inventory = everybody(topologies(3));
    assert_int_equal(most_racks_of_a_top(inventory, &tops), 4);
    assert_int_equal(tops, 5);
    pd_controller_inventory_free(inventory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_without_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
