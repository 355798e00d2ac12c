/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups against linear searches, on generated networks and on one with random IDs and prefixes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/shared/random.h"
#include "topology/topology.h"

static bool holds(const struct pd_prefix *prefix, const struct pd_addr *addr, uint8_t ip_version)
{
    if (prefix->ip_version != ip_version) {
        return false;
    }
    for (unsigned bit = 0; bit < prefix->bits; bit++) {
        if ((prefix->addr.bytes[bit / 8] ^ addr->bytes[bit / 8]) >> (7 - bit % 8) & 1) {
            return false;
        }
    }
    return true;
}

static uint32_t naive_tor_of(const struct pd_topology *t, const struct pd_addr *addr,
                             uint8_t version)
{
    for (uint32_t i = 0; i < t->switches_len; i++) {
        for (uint32_t j = 0; j < t->switches[i].prefixes_len; j++) {
            if (holds(&t->switches[i].prefixes[j], addr, version)) {
                return i;
            }
        }
    }
    return PD_NONE;
}

/* Half of the addresses near the racks, half anywhere. */
static struct pd_addr random_addr(const struct pd_topology *t, uint8_t version)
{
    struct pd_addr addr = {{0}};
    for (unsigned i = 0; i < (version == 4 ? 4 : 16); i++) {
        addr.bytes[i] = (uint8_t)rand();
    }
    const struct pd_switch *sw = &t->switches[(uint32_t)rand() % t->switches_len];
    if (rand() % 2 && sw->prefixes_len) {
        const struct pd_prefix *prefix = &sw->prefixes[(uint32_t)rand() % sw->prefixes_len];
        if (prefix->ip_version == version) {
            memcpy(&addr, &prefix->addr, prefix->bits / 8);
        }
    }
    return addr;
}

static void check_lookups(const struct pd_topology *t)
{
    for (uint32_t i = 0; i < t->switches_len; i++) {
        assert_int_equal(pd_topology_switch(t, t->switches[i].id), i);
        assert_int_equal(pd_topology_host(t, t->switches[i].id), PD_NONE);
        for (uint32_t j = 0; j < t->switches_len; j++) {
            const struct pd_neighbour *found = pd_topology_link(t, i, j), *wanted = NULL;
            for (uint32_t n = 0; n < t->switches[i].switch_neighbours; n++) {
                if (t->switches[i].neighbours[n].node == j) {
                    wanted = &t->switches[i].neighbours[n];
                }
            }
            assert_ptr_equal(found, wanted);
        }
    }
    for (uint32_t i = 0; i < t->hosts_len; i++) {
        assert_int_equal(pd_topology_host(t, t->hosts[i].id), i);
        assert_int_equal(pd_topology_switch(t, t->hosts[i].id), PD_NONE);
        for (uint32_t nth = 0; nth < t->hosts[i].addrs_len; nth++) {
            assert_int_equal(
                pd_topology_tor_of(t, &t->hosts[i].addrs[nth], t->hosts[i].ip_versions[nth]),
                t->hosts[i].tor);
        }
    }
    assert_int_equal(pd_topology_switch(t, 0), PD_NONE);
    assert_int_equal(pd_topology_switch(t, UINT32_MAX), PD_NONE);
    for (int i = 0; i < 20000; i++) {
        uint8_t version = rand() % 2 ? 4 : 6;
        struct pd_addr addr = random_addr(t, version);
        assert_int_equal(pd_topology_tor_of(t, &addr, version), naive_tor_of(t, &addr, version));
    }
}

static void generated_networks(void **state)
{
    struct pd_topology *t;
    (void)state;
    assert_int_equal(pd_topology_fat_tree(8, &t, NULL), 0);
    check_lookups(t);
    pd_topology_free(t);
    assert_int_equal(pd_topology_vl2(8, &t, NULL), 0);
    check_lookups(t);
    pd_topology_free(t);
    assert_int_equal(pd_topology_leaf_spine(20, 5, 3, &t, NULL), 0);
    check_lookups(t);
    pd_topology_free(t);
}

/* Leaves with random IDs and prefixes of all lengths: leaf n owns what begins with bits 1…10 (n
 * ones). */
static void odd_ids_and_prefixes(void **state)
{
    struct pd_topology *t = NULL;
    struct pd_error error = {0};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    fputs("{\"nodes\":[{\"id\":5,\"role\":\"spine\"}", out);
    for (unsigned n = 0; n < 31; n++) {
        uint32_t addr = n ? UINT32_MAX << (32 - n) : 0;
        fprintf(out,
                ",{\"id\":%u,\"role\":\"leaf\",\"prefixes\":[\"%u.%u.%u.%u/%u\",\"%x:%x::/%u\"]}",
                1000000 - n * n * 77, addr >> 24, addr >> 16 & 255, addr >> 8 & 255, addr & 255,
                n + 1, addr >> 16, addr & 0xffff, n + 1);
    }
    fputs("],\"links\":[{\"source\":5,\"target\":1000000}", out);
    for (unsigned n = 1; n < 31; n++) {
        fprintf(out, ",{\"source\":%u,\"target\":5}", 1000000 - n * n * 77);
    }
    fputs("]}", out);
    fclose(out);
    if (pd_topology_parse(text, bytes, "odd", &t, &error)) {
        fail_msg("%s", error.text);
    }
    check_lookups(t);
    pd_topology_free(t);
    free(text);
}

/* An IPv4 address is not the IPv6 address with the same first bytes, and no other version has
 * racks. */
static void families_are_kept_apart(void **state)
{
    struct pd_topology *t;
    struct pd_addr addr = {{10, 1, 1, 2}};
    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &t, NULL), 0);
    assert_int_equal(pd_topology_tor_of(t, &addr, 4), 0);
    assert_int_equal(pd_topology_tor_of(t, &addr, 6), PD_NONE);
    assert_int_equal(pd_topology_tor_of(t, &addr, 0), PD_NONE);
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_networks),
        cmocka_unit_test(odd_ids_and_prefixes),
        cmocka_unit_test(families_are_kept_apart),
    };
    srand((unsigned)test_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
