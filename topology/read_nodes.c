/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one node or one link of a topology file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/reader.h"

#define POD_MAX      65535
#define POSITION_MAX 65535
#define PORT_MAX     65535
#define TAG_MAX      4094
#define MBPS_MAX     100000000

/* ---- values */

/* An optional integer: stays `fallback` when the key is missing. False when a finding was made. */
static bool read_integer(struct pd_reader *reader, json_t *object, const char *place, size_t nth,
                         const char *key, json_int_t max, json_int_t fallback,
                         json_int_t *ret_value)
{
    json_t *value = json_object_get(object, key);
    if (!value && fallback >= 0) {
        *ret_value = fallback;
        return true;
    }
    if (json_is_integer(value) && json_integer_value(value) >= 1 &&
        json_integer_value(value) <= max) {
        *ret_value = json_integer_value(value);
        return true;
    }
    pd_topology_findings_add(reader->findings, "%s[%zu].%s: %s, expected an integer from 1 to %lld",
                             place, nth, key, value ? "wrong" : "missing", (long long)max);
    return false;
}

/* ---- addresses */

static bool parse_addr(const char *text, struct pd_prefix *ret_prefix)
{
    if (pd_addr_parse(text, &ret_prefix->addr, &ret_prefix->ip_version)) {
        return false;
    }
    ret_prefix->bits = ret_prefix->ip_version == 4 ? 32 : 128;
    return true;
}

/* Where a list of addresses stands. */
struct addr_list {
    const char *place; /* "nodes" */
    size_t nth;
    const char *key;
    bool prefixes; /* of a rack, otherwise addresses */
    int end;       /* of the link */
    int (*add)(struct pd_draft *draft, int end, const struct pd_prefix *prefix);
};

static int add_to_node(struct pd_draft *draft, int end, const struct pd_prefix *prefix)
{
    (void)end;
    return pd_topology_draft_addr(draft, prefix);
}

static int add_to_switch(struct pd_draft *draft, int end, const struct pd_prefix *prefix)
{
    (void)end;
    return pd_topology_draft_interface(draft, prefix);
}

static int read_addrs(struct pd_reader *reader, json_t *list, const struct addr_list *at)
{
    if (!list) {
        return 0;
    }
    if (!json_is_array(list) || json_array_size(list) > PD_NODE_ADDRS_MAX) {
        pd_topology_findings_add(reader->findings,
                                 "%s[%zu].%s: wrong, expected a list of at most %d strings",
                                 at->place, at->nth, at->key, PD_NODE_ADDRS_MAX);
        return 0;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        struct pd_prefix prefix;
        memset(&prefix, 0, sizeof prefix);
        if (text && (at->prefixes ? !pd_prefix_parse(text, &prefix) : parse_addr(text, &prefix))) {
            if (at->add(&reader->draft, at->end, &prefix)) {
                return -ENOMEM;
            }
            continue;
        }
        char buffer[PD_READER_TEXT_BYTES];
        pd_topology_findings_add(
            reader->findings, "%s[%zu].%s[%zu]: `%s`, expected %s", at->place, at->nth, at->key, i,
            pd_topology_reader_safe(text ? text : "", buffer),
            at->prefixes ? "a prefix like \"10.1.1.0/24\", zero behind its length"
                         : "an address like \"10.1.1.2\"");
    }
    return 0;
}

/* ---- nodes */

static bool read_role(struct pd_reader *reader, json_t *node, size_t nth,
                      enum pd_switch_role *ret_role)
{
    const char *text = json_string_value(json_object_get(node, "role"));
    for (int role = PD_ROLE_TOR; text && role <= PD_ROLE_HOST; role++) {
        if (!strcmp(text, pd_topology_role_name(role))) {
            *ret_role = role;
            return true;
        }
    }
    char buffer[PD_READER_TEXT_BYTES];
    pd_topology_findings_add(
        reader->findings,
        "nodes[%zu].role: `%s`, expected tor, agg, core, intermediate, leaf, spine, switch or host",
        nth, pd_topology_reader_safe(text ? text : "", buffer));
    return false;
}

/* Without a name, the ID is the name. */
static int read_name(struct pd_reader *reader, json_t *node, size_t nth)
{
    struct pd_draft_node *draft = &reader->draft.nodes[reader->draft.nodes_len - 1];
    json_t *name = json_object_get(node, "name");
    char text[32];
    if (name) {
        snprintf(text, sizeof text, "nodes[%zu].name", nth);
        return pd_topology_reader_name(reader, name, text, &draft->name);
    }
    snprintf(text, sizeof text, "%u", draft->id);
    return pd_topology_draft_string(&reader->draft, text, strlen(text), &draft->name);
}

/* An optional coordinate: stays NAN without it. */
static void read_coordinate(struct pd_reader *reader, json_t *node, size_t nth, const char *key,
                            float *ret_value)
{
    json_t *value = json_object_get(node, key);
    if (!value || json_is_null(value)) {
        return;
    }
    float number = (float)json_number_value(value);
    if (json_is_number(value) && isfinite(number)) {
        *ret_value = number;
    } else {
        pd_topology_findings_add(reader->findings, "nodes[%zu].%s: wrong, expected a number", nth,
                                 key);
    }
}

static bool is_segments(const struct pd_prefix *prefix)
{
    return prefix->ip_version == 6 && prefix->bits == 64;
}

/* An optional prefix of SRv6 segments. */
static void read_sid(struct pd_reader *reader, json_t *node, size_t nth, struct pd_addr *ret_sid)
{
    json_t *value = json_object_get(node, "sid");
    const char *text = json_string_value(value);
    struct pd_prefix prefix;
    char buffer[PD_READER_TEXT_BYTES];
    if (!value) {
        return;
    }
    memset(&prefix, 0, sizeof prefix);
    if (text && !pd_prefix_parse(text, &prefix) && is_segments(&prefix)) {
        *ret_sid = prefix.addr;
    } else {
        pd_topology_findings_add(reader->findings,
                                 "nodes[%zu].sid: `%s`, expected a prefix like \"fd01:0:0:1::/64\"",
                                 nth, pd_topology_reader_safe(text ? text : "", buffer));
    }
}

/* An optional number of 64 bits, which JSON's numbers are not for. */
static void read_dpid(struct pd_reader *reader, json_t *node, size_t nth, uint64_t *ret_dpid)
{
    json_t *value = json_object_get(node, "dpid");
    const char *text = json_string_value(value);
    size_t digits =
        text && !strncmp(text, "0x", 2) ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
    char buffer[PD_READER_TEXT_BYTES];
    if (!value) {
        return;
    }
    if (digits >= 1 && digits <= 16 && !text[2 + digits] && strtoull(text, NULL, 16)) {
        *ret_dpid = strtoull(text, NULL, 16);
    } else {
        pd_topology_findings_add(
            reader->findings,
            "nodes[%zu].dpid: `%s`, expected 1 to 16 hexadecimal digits, as \"0x00001b21abcd0009\"",
            nth, pd_topology_reader_safe(text ? text : "", buffer));
    }
}

static int read_switch(struct pd_reader *reader, json_t *node, size_t nth)
{
    struct pd_draft_node *draft = &reader->draft.nodes[reader->draft.nodes_len - 1];
    json_int_t position = 0, ioam_id = 0, path_id = 0;
    read_integer(reader, node, "nodes", nth, "position", POSITION_MAX, 0, &position);
    draft->position = (uint32_t)position;
    read_integer(reader, node, "nodes", nth, "ioam_id", UINT32_MAX, 0, &ioam_id);
    draft->ioam_id = (uint32_t)ioam_id;
    read_dpid(reader, node, nth, &draft->dpid);
    read_integer(reader, node, "nodes", nth, "path_id", PD_PATH_ID_MAX, 0, &path_id);
    draft->path_id = (uint64_t)path_id;
    read_sid(reader, node, nth, &draft->sid);
    read_coordinate(reader, node, nth, "x", &draft->x);
    read_coordinate(reader, node, nth, "y", &draft->y);
    struct addr_list at = {
        .place = "nodes", .nth = nth, .key = "prefixes", .prefixes = true, .add = add_to_node};
    int error = read_addrs(reader, json_object_get(node, "prefixes"), &at);
    at = (struct addr_list){.place = "nodes", .nth = nth, .key = "addrs", .add = add_to_switch};
    return error ? error : read_addrs(reader, json_object_get(node, "addrs"), &at);
}

static int read_host(struct pd_reader *reader, json_t *node, size_t nth)
{
    const struct addr_list at = {.place = "nodes", .nth = nth, .key = "addrs", .add = add_to_node};
    if (json_object_get(node, "prefixes")) {
        pd_topology_findings_add(reader->findings, "nodes[%zu].prefixes: a host has none", nth);
    }
    return read_addrs(reader, json_object_get(node, "addrs"), &at);
}

int pd_topology_reader_node(struct pd_reader *reader, json_t *node, size_t nth)
{
    if (!json_is_object(node)) {
        pd_topology_findings_add(reader->findings, "nodes[%zu]: wrong, expected an object", nth);
        return 0;
    }
    json_int_t id = 0, pod = 0;
    enum pd_switch_role role = PD_ROLE_HOST;
    bool good = read_integer(reader, node, "nodes", nth, "id", UINT32_MAX, -1, &id);
    good &= read_role(reader, node, nth, &role);
    if (!good) {
        return 0;
    }
    if (role != PD_ROLE_HOST) {
        read_integer(reader, node, "nodes", nth, "pod", POD_MAX, 0, &pod);
    }
    if (pd_topology_draft_node(&reader->draft, (uint32_t)id, role, (uint32_t)pod) ||
        read_name(reader, node, nth)) {
        return -ENOMEM;
    }
    return role == PD_ROLE_HOST ? read_host(reader, node, nth) : read_switch(reader, node, nth);
}

/* ---- links */

int pd_topology_reader_link(struct pd_reader *reader, json_t *link, size_t nth)
{
    if (!json_is_object(link)) {
        pd_topology_findings_add(reader->findings, "links[%zu]: wrong, expected an object", nth);
        return 0;
    }
    json_int_t ids[2] = {0}, ports[2] = {0}, cards[2] = {0}, tag = 0, mbps = 0;
    bool good = read_integer(reader, link, "links", nth, "source", UINT32_MAX, -1, &ids[0]);
    good &= read_integer(reader, link, "links", nth, "target", UINT32_MAX, -1, &ids[1]);
    good &= read_integer(reader, link, "links", nth, "source_port", PORT_MAX, 0, &ports[0]);
    good &= read_integer(reader, link, "links", nth, "target_port", PORT_MAX, 0, &ports[1]);
    good &= read_integer(reader, link, "links", nth, "source_card", PORT_MAX, 0, &cards[0]);
    good &= read_integer(reader, link, "links", nth, "target_card", PORT_MAX, 0, &cards[1]);
    good &= read_integer(reader, link, "links", nth, "tag", TAG_MAX, 0, &tag);
    good &= read_integer(reader, link, "links", nth, "mbps", MBPS_MAX, 0, &mbps);
    if (!good) {
        return 0;
    }
    if (pd_topology_draft_link(&reader->draft, (uint32_t)ids[0], (uint32_t)ids[1])) {
        return -ENOMEM;
    }
    struct pd_draft_link *draft = &reader->draft.links[reader->draft.links_len - 1];
    draft->ports[0] = (uint16_t)ports[0];
    draft->ports[1] = (uint16_t)ports[1];
    draft->cards[0] = (uint16_t)cards[0];
    draft->cards[1] = (uint16_t)cards[1];
    draft->tag = (uint16_t)tag;
    draft->mbps = (uint32_t)mbps;
    struct addr_list at = {
        .place = "links", .nth = nth, .key = "source_addrs", .add = pd_topology_draft_link_addr};
    int error = read_addrs(reader, json_object_get(link, at.key), &at);
    at.key = "target_addrs";
    at.end = 1;
    return error ? error : read_addrs(reader, json_object_get(link, at.key), &at);
}
