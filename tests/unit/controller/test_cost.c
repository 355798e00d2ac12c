/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: few hosts and small answers directly, large ones that shrink along a tree; words
 * with the numbers. */
#include "fleet.h"

#include "controller/cost.h"

static bool tree_wins(const struct pd_inventory *inventory, const char *document, size_t hosts,
                      char words[PD_COST_WORDS_BYTES])
{
    struct pd_selection selection = {calloc(hosts, sizeof(uint32_t)), hosts};
    struct pd_document parsed = {0};
    struct pd_error error = {0};
    json_t *json = json_loads(document, 0, NULL);
    struct pd_trees tree, direct;

    for (size_t i = 0; i < hosts; i++) {
        selection.hosts[i] = (uint32_t)i;
    }
    if (pd_query_document_parse(json, NULL, &parsed, &error)) {
        fail_msg("%s: %s", document, error.text);
    }
    assert_int_equal(pd_controller_trees_new(inventory, &selection, 0, &tree), 0);
    assert_int_equal(pd_controller_trees_direct(inventory, &selection, &direct), 0);

    struct pd_cost_shape shape = pd_controller_cost_shape(&parsed, inventory->topology);
    uint64_t tree_ns = pd_controller_cost_ns(&shape, &tree),
             direct_ns = pd_controller_cost_ns(&shape, &direct);

    pd_controller_cost_words(&shape, &tree, tree_ns, direct_ns, words);
    pd_controller_trees_done(&tree);
    pd_controller_trees_done(&direct);
    pd_query_document_done(&parsed);
    json_decref(json);
    free(selection.hosts);
    return tree_ns < direct_ns;
}

static void test_choice(void **state)
{
    static const struct {
        const char *document;
        size_t hosts;
        bool tree;
    } cases[] = {
        {"{\"query\":\"topFlows\",\"args\":{\"k\":10000}}", 1, false},
        {"{\"query\":\"topFlows\",\"args\":{\"k\":10000}}", 112, true},
        {"{\"query\":\"topFlows\",\"args\":{\"k\":10000}}", 128, true},
        {"{\"query\":\"getFlows\"}", 4, false},
        {"{\"query\":\"getFlows\"}", 128, false},
        {"{\"query\":\"getCount\"}", 2, false},
        {"{\"query\":\"getCount\"}", 128, true},
        {"{\"program\":\"function run() end\"}", 3, false},
        {"{\"program\":\"function run() end\"}", 128, true},
    };
    struct pd_inventory *inventory = everybody(fat_tree(8));
    char words[PD_COST_WORDS_BYTES];

    (void)state;
    assert_int_equal(inventory->hosts_len, 128);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (tree_wins(inventory, cases[i].document, cases[i].hosts, words) != cases[i].tree) {
            fail_msg("%s, %zu hosts: %s", cases[i].document, cases[i].hosts, words);
        }
    }
    pd_controller_inventory_free(inventory);
}

/* More hosts never take less time, on either way. */
static void test_monotonic(void **state)
{
    struct pd_inventory *inventory = everybody(fat_tree(8));
    const struct pd_cost_shape shape = {100, 100, PD_COST_ANSWER_NS};
    uint64_t before[2] = {0, 0};
    uint32_t hosts[128];

    (void)state;
    for (uint32_t i = 0; i < 128; i++) {
        hosts[i] = i;
    }
    for (size_t len = 1; len <= 128; len++) {
        struct pd_trees trees[2];
        struct pd_selection selection = {hosts, len};

        assert_int_equal(pd_controller_trees_new(inventory, &selection, 4, &trees[0]), 0);
        assert_int_equal(pd_controller_trees_direct(inventory, &selection, &trees[1]), 0);
        for (int i = 0; i < 2; i++) {
            uint64_t ns = pd_controller_cost_ns(&shape, &trees[i]);

            assert_true(ns >= before[i]);
            before[i] = ns;
            pd_controller_trees_done(&trees[i]);
        }
    }
    pd_controller_inventory_free(inventory);
}

static void test_words(void **state)
{
    struct pd_inventory *inventory = everybody(fat_tree(4));
    char words[PD_COST_WORDS_BYTES];

    (void)state;
    tree_wins(inventory, "{\"query\":\"topFlows\",\"args\":{\"k\":5000}}", 16, words);
    assert_non_null(strstr(words, "16 hosts with about 5000 groups each"));
    assert_non_null(strstr(words, "depth 3 and fan-out 4"));
    assert_non_null(strstr(words, " ms"));
    pd_controller_inventory_free(inventory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_monotonic),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
