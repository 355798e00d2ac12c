/* SPDX-License-Identifier: Apache-2.0 */
/* A hosts file of any bytes, and behind its first NUL a body of any bytes: whoever is selected is
 * there, and in the trees once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/trees.h"
#include "http/body.h"
#include "http/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static size_t count(const struct pd_tree *trees, size_t len, uint64_t *ret_ids)
{
    size_t all = len;

    for (size_t i = 0; i < len; i++) {
        need(!(*ret_ids >> (trees[i].host % 64) & 1)); /* 16 hosts: 21 to 36 */
        *ret_ids |= UINT64_C(1) << (trees[i].host % 64);
        all += count(trees[i].children, trees[i].children_len, ret_ids);
    }
    return all;
}

static void check_trees(const struct pd_inventory *inventory, const struct pd_selection *selection)
{
    for (uint32_t fanout = 0; fanout < 5; fanout += fanout ? 1 : 2) {
        struct pd_trees trees;
        uint64_t ids = 0;

        need(pd_controller_trees_new(inventory, selection, fanout, &trees) == 0);
        need(count(trees.tops, trees.tops_len, &ids) == selection->len);
        pd_controller_trees_done(&trees);
    }
}

static void check_inventory(const struct pd_inventory *inventory)
{
    for (size_t i = 0; i < inventory->hosts_len; i++) {
        need(pd_controller_inventory_find(inventory, inventory->hosts[i].id) == i);
        need(pd_controller_inventory_find_name(inventory, inventory->hosts[i].name) == i);
        need(pd_http_url_check(inventory->hosts[i].url, NULL) == 0);
        need(!i || inventory->hosts[i - 1].id < inventory->hosts[i].id);
    }
}

static void check_body(const struct pd_inventory *inventory, const char *body, size_t len)
{
    struct pd_selection selection = {0};
    struct pd_error error = {0};
    json_t *json = NULL;

    if (pd_http_body_json(body, len, &json, &error)) {
        return;
    }
    if (!pd_controller_select(inventory, json_object_get(json, "hosts"), &selection, &error)) {
        need(selection.len > 0 && selection.len <= inventory->hosts_len);
        check_trees(inventory, &selection);
    } else {
        need(error.text[0] != '\0');
    }
    pd_controller_selection_done(&selection);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *text = (const char *)bytes;
    size_t hosts = len ? strnlen(text, len) : 0;
    struct pd_topology *topology = NULL;
    struct pd_inventory *inventory = NULL;
    struct pd_error error = {0};

    need(pd_topology_fat_tree(4, &topology, NULL) == 0);
    if (pd_controller_inventory_parse(topology, hosts ? text : "", hosts, "hosts.json", &inventory,
                                      &error)) {
        need(error.text[0] != '\0');
        return 0;
    }
    check_inventory(inventory);
    if (hosts < len) {
        check_body(inventory, text + hosts + 1, len - hosts - 1);
    }
    pd_controller_inventory_free(inventory);
    return 0;
}
