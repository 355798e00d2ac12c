/* SPDX-License-Identifier: Apache-2.0 */
/* Generators: numbers, IDs, addresses and wiring as docs/formats/topology.md promises them; limits;
 * round trips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/generators.h"
#include "topology/links.h"

static bool linked(const struct pd_topology *t, uint32_t a, uint32_t b)
{
    return pd_topology_link(t, pd_topology_switch(t, a), pd_topology_switch(t, b)) != NULL;
}

static void expect_addr(const struct pd_topology *t, uint32_t host, unsigned nth, const char *text)
{
    char got[PD_ADDR_TEXT_BYTES];
    const struct pd_host *h = &t->hosts[host];
    assert_true(nth < h->addrs_len);
    assert_string_equal(pd_addr_format(&h->addrs[nth], h->ip_versions[nth], got), text);
}

/* IDs: ToRs 1..kh in pod order, aggs kh+1..k², cores k²+1..k²+h², hosts after. */
static void check_fat_tree(uint32_t k)
{
    struct pd_topology *t;
    uint32_t h = k / 2, links = 0;
    char text[PD_ADDR_TEXT_BYTES];
    assert_int_equal(pd_topology_fat_tree(k, &t, NULL), 0);
    assert_string_equal(t->codec, "cherrypick-fat-tree");
    assert_int_equal(t->switches_len, k * k + h * h);
    assert_int_equal(t->hosts_len, k * h * h);
    for (uint32_t i = 0; i < t->switches_len; i++) {
        const struct pd_switch *sw = &t->switches[i];
        assert_int_equal(sw->id, i + 1);
        assert_int_equal(sw->role, i < k * h   ? PD_ROLE_TOR
                                   : i < k * k ? PD_ROLE_AGG
                                               : PD_ROLE_CORE);
        assert_int_equal(sw->pod, i < k * k ? i % (k * h) / h + 1 : 0);
        assert_int_equal(sw->neighbours_len, k);
        links += sw->switch_neighbours;
    }
    assert_int_equal(links / 2, k * h * h * 2);
    for (uint32_t pod = 0; pod < k; pod++) {
        for (uint32_t a = 0; a < h; a++) {
            for (uint32_t b = 0; b < h; b++) {
                assert_true(linked(t, pod * h + a + 1, k * h + pod * h + b + 1));
                assert_true(linked(t, k * h + pod * h + a + 1, k * k + a * h + b + 1));
            }
        }
    }
    for (uint32_t host = 0; host < t->hosts_len; host++) {
        uint32_t pod = host / (h * h) + 1, tor = host / h % h + 1, n = host % h + 2;
        assert_int_equal(t->hosts[host].id, t->switches_len + host + 1);
        assert_int_equal(t->hosts[host].tor, host / h);
        snprintf(text, sizeof text, "10.%u.%u.%u", pod, tor, n);
        expect_addr(t, host, 0, text);
        snprintf(text, sizeof text, "fd00:0:%x:%x::%x", pod, tor, n);
        expect_addr(t, host, 1, text);
    }
    pd_topology_free(t);
}

static void fat_trees_are_regular(void **state)
{
    (void)state;
    check_fat_tree(4);
    check_fat_tree(6);
    check_fat_tree(16);
    check_fat_tree(72);
}

static void check_vl2(uint32_t k)
{
    struct pd_topology *t;
    uint32_t tors = k * k / 4;
    assert_int_equal(pd_topology_vl2(k, &t, NULL), 0);
    assert_int_equal(t->switches_len, tors + k + k / 2);
    assert_int_equal(t->hosts_len, tors * 20);
    for (uint32_t tor = 0; tor < tors; tor++) {
        uint32_t pair = tor / (k / 2);
        assert_int_equal(t->switches[tor].role, PD_ROLE_TOR);
        assert_int_equal(t->switches[tor].switch_neighbours, 2);
        assert_true(linked(t, tor + 1, tors + 2 * pair + 1));
        assert_true(linked(t, tor + 1, tors + 2 * pair + 2));
    }
    for (uint32_t agg = 0; agg < k; agg++) {
        for (uint32_t i = 0; i < k / 2; i++) {
            assert_true(linked(t, tors + agg + 1, tors + k + i + 1));
        }
    }
    expect_addr(t, 0, 0, "10.1.1.2");
    expect_addr(t, 19, 1, "fd00:0:1:1::15");
    pd_topology_free(t);
}

static void vl2s_are_regular(void **state)
{
    (void)state;
    check_vl2(4);
    check_vl2(10);
    check_vl2(62);
}

static void leaf_spines_are_regular(void **state)
{
    struct pd_topology *t;
    (void)state;
    assert_int_equal(pd_topology_leaf_spine(300, 3, 2, &t, NULL), 0);
    assert_int_equal(t->switches_len, 303);
    assert_int_equal(t->hosts_len, 600);
    for (uint32_t leaf = 1; leaf <= 300; leaf++) {
        for (uint32_t spine = 301; spine <= 303; spine++) {
            assert_true(linked(t, leaf, spine));
        }
    }
    expect_addr(t, 0, 0, "10.0.1.2");
    expect_addr(t, 599, 0, "10.1.44.3");
    expect_addr(t, 599, 1, "fd00:0:1:2c::3");
    pd_topology_free(t);
    assert_int_equal(pd_topology_leaf_spine(2, 1, 0, &t, NULL), 0);
    assert_int_equal(t->hosts_len, 0);
    pd_topology_free(t);
    assert_int_equal(pd_topology_leaf_spine(4094, 1, 0, &t, NULL), 0);
    pd_topology_free(t);
}

static void generators_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; pd_topology_generators[i]; i++) {
        assert_ptr_equal(pd_topology_generator_find(pd_topology_generators[i]->name),
                         pd_topology_generators[i]);
    }
    assert_string_equal(pd_topology_generator_find("leaf_spine")->name, "leaf-spine");
    assert_null(pd_topology_generator_find("leaf-spin"));
    assert_null(pd_topology_generator_find("clos2"));
    assert_null(pd_topology_generator_find(""));
    assert_int_equal(pd_topology_generator_option(pd_topology_generator_find("clos"), "t2"), 3);
    assert_int_equal(pd_topology_generator_option(pd_topology_generator_find("clos"), "t3"),
                     PD_NONE);
}

static struct pd_topology *generate(const char *name, const uint32_t *values, bool addrs)
{
    struct pd_topology *t = NULL;
    struct pd_error error;
    if (pd_topology_generate(pd_topology_generator_find(name), values, addrs, &t, &error)) {
        fail_msg("%s", error.text);
    }
    return t;
}

/* ToRs by pod, T1s by pod, T2s; each ToR to all T1s of its pod, each T1 to all T2s. */
static void a_clos_is_wired_by_pod(void **state)
{
    enum { PODS = 3, TORS = 5, T1 = 2, T2 = 4, HOSTS = 2, RACKS = PODS * TORS };
    struct pd_topology *t = generate("clos", (uint32_t[]){PODS, TORS, T1, T2, HOSTS}, false);
    (void)state;
    assert_string_equal(t->codec, "");
    assert_int_equal(t->switches_len, RACKS + PODS * T1 + T2);
    assert_int_equal(t->hosts_len, RACKS * HOSTS);
    assert_int_equal(t->fabric_links_len, RACKS * T1 + PODS * T1 * T2);
    for (uint32_t i = 0; i < t->switches_len; i++) {
        bool tor = i < RACKS, t2 = i >= RACKS + PODS * T1;
        assert_int_equal(t->switches[i].id, i + 1);
        assert_int_equal(t->switches[i].role, tor ? PD_ROLE_TOR : t2 ? PD_ROLE_CORE : PD_ROLE_AGG);
        assert_int_equal(t->switches[i].switch_neighbours, tor ? T1 : t2 ? PODS * T1 : TORS + T2);
    }
    for (uint32_t tor = 0; tor < RACKS; tor++) {
        assert_non_null(pd_topology_link(t, tor, RACKS + tor / TORS * T1));
        assert_int_equal(t->hosts[tor * HOSTS].tor, tor);
    }
    pd_topology_free(t);
}

static void check_addrs(struct pd_topology *t)
{
    size_t len = 0;
    for (uint32_t i = 0; i < t->switches_len; i++) {
        const struct pd_switch *sw = &t->switches[i];
        assert_int_equal(sw->addrs_len, 2 + sw->prefixes_len);
        for (uint32_t a = 0; a < sw->addrs_len; a++, len++) {
            uint32_t link = 0;
            assert_int_equal(
                pd_topology_interface(t, &sw->addrs[a].addr, sw->addrs[a].ip_version, &link), i);
            assert_int_equal(link, PD_NONE);
        }
        if (sw->prefixes_len) {
            assert_int_equal(pd_topology_tor_of(t, &sw->addrs[2].addr, 4), i);
            assert_int_equal(pd_topology_tor_of(t, &sw->addrs[3].addr, 6), i);
        }
    }
    for (uint32_t d = 0; d < 2 * t->fabric_links_len; d++) {
        uint32_t addrs_len, link = 0;
        const struct pd_prefix *addrs = pd_topology_links_addrs(t, d / 2, d & 1, &addrs_len);
        assert_int_equal(addrs_len, 2);
        for (uint32_t a = 0; a < 2; a++) {
            assert_int_equal(addrs[a].ip_version, a ? 6 : 4);
            assert_int_equal(pd_topology_interface(t, &addrs[a].addr, addrs[a].ip_version, &link),
                             pd_links_from(t, d));
            assert_int_equal(link, d);
        }
    }
    pd_topology_free(t);
}

static void every_generator_writes_addresses(void **state)
{
    (void)state;
    check_addrs(generate("fat-tree", (uint32_t[]){6}, true));
    check_addrs(generate("vl2", (uint32_t[]){6}, true));
    check_addrs(generate("leaf-spine", (uint32_t[]){300, 3, 1}, true));
    check_addrs(generate("clos", (uint32_t[]){2, 20, 8, 10, 3}, true));
}

static void limits_are_named(void **state)
{
    static const uint32_t fat_trees[] = {0, 2, 5, 73, 74, UINT32_MAX}, vl2s[] = {0, 2, 7, 64};
    struct pd_topology *t = NULL;
    struct pd_error error;
    (void)state;
    for (unsigned i = 0; i < sizeof fat_trees / sizeof *fat_trees; i++) {
        assert_int_equal(pd_topology_fat_tree(fat_trees[i], &t, &error), -PD_E_VALUE);
    }
    for (unsigned i = 0; i < sizeof vl2s / sizeof *vl2s; i++) {
        assert_int_equal(pd_topology_vl2(vl2s[i], &t, &error), -PD_E_VALUE);
    }
    assert_string_equal(error.text, "vl2: k = 64, expected 4 to 62");
    assert_int_equal(pd_topology_leaf_spine(1, 1, 1, &t, &error), -PD_E_VALUE);
    assert_int_equal(pd_topology_leaf_spine(2, 0, 1, &t, &error), -PD_E_VALUE);
    assert_int_equal(pd_topology_leaf_spine(4095, 1, 1, &t, &error), -PD_E_VALUE);
    assert_int_equal(pd_topology_leaf_spine(65536, 65536, 1, &t, &error), -PD_E_VALUE);
    assert_int_equal(pd_topology_leaf_spine(2, 2, 254, &t, &error), -PD_E_VALUE);
    const struct pd_generator *clos = pd_topology_generator_find("clos");
    assert_int_equal(pd_topology_generate(clos, (uint32_t[]){1, 1, 1025, 1, 1}, false, &t, &error),
                     -PD_E_VALUE);
    assert_int_equal(
        pd_topology_generate(clos, (uint32_t[]){255, 255, 1, 1, 253}, false, &t, &error),
        -PD_E_VALUE);
    assert_int_equal(pd_topology_generate(clos, (uint32_t[]){255, 2, 17, 1, 0}, false, &t, &error),
                     -PD_E_TOPOLOGY);
    assert_null(t);
}

/* Writes `t`, reads that, writes again: the same bytes. Takes `t`. */
static void check_round_trip(struct pd_topology *t)
{
    char *texts[2];
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        FILE *out = open_memstream(&texts[i], &bytes[i]);
        struct pd_error error = {0};
        assert_int_equal(pd_topology_write(t, out), 0);
        fclose(out);
        pd_topology_free(t);
        t = NULL;
        if (pd_topology_parse(texts[i], bytes[i], "written", &t, &error)) {
            fail_msg("%s", error.text);
        }
    }
    pd_topology_free(t);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(texts[0], texts[1], bytes[0]);
    free(texts[0]);
    free(texts[1]);
}

static void round_trips_keep_every_byte(void **state)
{
    struct pd_topology *t;
    (void)state;
    for (uint32_t k = 4; k <= 16; k += 2) {
        assert_int_equal(pd_topology_fat_tree(k, &t, NULL), 0);
        check_round_trip(t);
        assert_int_equal(pd_topology_vl2(k, &t, NULL), 0);
        check_round_trip(t);
    }
    assert_int_equal(pd_topology_leaf_spine(5, 3, 7, &t, NULL), 0);
    check_round_trip(t);
}

static void a_full_device_is_an_error(void **state)
{
    struct pd_topology *t;
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    assert_non_null(full);
    assert_int_equal(pd_topology_fat_tree(16, &t, NULL), 0);
    assert_true(pd_topology_write(t, full) < 0);
    fclose(full);
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fat_trees_are_regular),
        cmocka_unit_test(vl2s_are_regular),
        cmocka_unit_test(leaf_spines_are_regular),
        cmocka_unit_test(generators_are_found_by_name),
        cmocka_unit_test(a_clos_is_wired_by_pod),
        cmocka_unit_test(every_generator_writes_addresses),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(round_trips_keep_every_byte),
        cmocka_unit_test(a_full_device_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
