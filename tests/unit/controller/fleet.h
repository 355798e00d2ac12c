/* SPDX-License-Identifier: Apache-2.0 */
/* Inventories for the tests of the controller: generated topologies and the hosts in them. */
#ifndef PD_TESTS_CONTROLLER_FLEET_H
#define PD_TESTS_CONTROLLER_FLEET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/inventory.h"

static inline struct pd_topology *fat_tree(uint32_t k)
{
    struct pd_topology *topology = NULL;

    assert_int_equal(pd_topology_fat_tree(k, &topology, NULL), 0);
    return topology;
}

/* 0 or the error; its words must contain `words`. */
static inline int parse_hosts(struct pd_topology *topology, const char *json,
                              struct pd_inventory **ret_inventory, const char *words)
{
    struct pd_error error = {0};
    int e = pd_controller_inventory_parse(topology, json, strlen(json), "hosts.json", ret_inventory,
                                          &error);

    if (words && !strstr(error.text, words)) {
        fail_msg("%s: \"%s\" instead of \"%s\"", json, error.text, words);
    }
    return e;
}

/* All hosts of the topology, last one first. */
static inline struct pd_inventory *everybody(struct pd_topology *topology)
{
    struct pd_inventory *inventory = NULL;
    char *json = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&json, &bytes);

    fputc('[', out);
    for (uint32_t i = topology->hosts_len; i-- > 0;) {
        fprintf(out, "{\"id\":%u,\"url\":\"http://10.0.0.1:%u\"}%s", topology->hosts[i].id, i + 1,
                i ? "," : "");
    }
    fputc(']', out);
    fclose(out);
    assert_int_equal(parse_hosts(topology, json, &inventory, NULL), 0);
    free(json);
    return inventory;
}

#endif
