/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and executes flows as ovs-ofctl writes them, just the fields and actions that tagging
 * rules use. */
#include "flows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ANY        UINT32_MAX
#define VLANS_READ 2 /* behind more, switches do not know what a packet is */

struct flow {
    uint32_t priority, in_port, dscp, pcp;
    uint8_t ip_version; /* 0: any */
    bool untagged, tagged;
    struct pd_prefix src, dst; /* ip_version 0: any */
    char actions[160];
};

struct flow_table {
    struct flow *flows;
    unsigned len;
};

static void parse_prefix(const char *text, struct pd_prefix *ret_prefix)
{
    char addr[PD_ADDR_TEXT_BYTES];
    const char *slash = strchr(text, '/');
    assert_non_null(slash);
    snprintf(addr, sizeof addr, "%.*s", (int)(slash - text), text);
    assert_int_equal(pd_addr_parse(addr, &ret_prefix->addr, &ret_prefix->ip_version), 0);
    ret_prefix->bits = (uint8_t)atoi(slash + 1);
}

static void parse_field(struct flow *flow, char *field)
{
    char *equals = strchr(field, '='), *value = field + strlen(field);
    if (equals) {
        *equals = 0;
        value = equals + 1;
    }
    if (!strcmp(field, "table")) {
        assert_string_equal(value, "0");
    } else if (!strcmp(field, "priority")) {
        flow->priority = (uint32_t)atoi(value);
    } else if (!strcmp(field, "in_port")) {
        flow->in_port = (uint32_t)atoi(value);
    } else if (!strcmp(field, "ip") || !strcmp(field, "ipv6")) {
        flow->ip_version = strcmp(field, "ip") ? 6 : 4;
    } else if (!strcmp(field, "dl_type")) {
        assert_string_equal(value, "0x9100");
        flow->ip_version = 2;
    } else if (!strcmp(field, "arp")) {
        flow->ip_version = 1;
    } else if (!strcmp(field, "nw_src") || !strcmp(field, "ipv6_src")) {
        parse_prefix(value, &flow->src);
    } else if (!strcmp(field, "nw_dst") || !strcmp(field, "ipv6_dst")) {
        parse_prefix(value, &flow->dst);
    } else if (!strcmp(field, "ip_dscp")) {
        flow->dscp = (uint32_t)atoi(value);
    } else if (!strcmp(field, "dl_vlan_pcp")) {
        flow->pcp = (uint32_t)atoi(value);
    } else if (!strcmp(field, "vlan_tci")) {
        flow->untagged = !strcmp(value, "0x0000/0x1000");
        flow->tagged = !strcmp(value, "0x1000/0x1000");
        assert_true(flow->tagged || flow->untagged);
    } else {
        fail_msg("unknown field `%s`", field);
    }
}

static void parse_line(char *line, struct flow *ret_flow)
{
    struct flow flow = {.in_port = ANY, .dscp = ANY, .pcp = ANY};
    char *actions = strstr(line, ",actions="), *save;
    assert_non_null(actions);
    snprintf(flow.actions, sizeof flow.actions, "%s", actions + strlen(",actions="));
    *actions = 0;
    for (char *field = strtok_r(line, ",", &save); field; field = strtok_r(NULL, ",", &save)) {
        parse_field(&flow, field);
    }
    *ret_flow = flow;
}

struct flow_table *flow_table_read(const char *text)
{
    struct flow_table *table = calloc(1, sizeof *table);
    char *copy = strdup(text), *save;
    assert_non_null(table);
    assert_non_null(copy);
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        table->flows = reallocarray(table->flows, table->len + 1, sizeof *table->flows);
        assert_non_null(table->flows);
        parse_line(line, &table->flows[table->len++]);
    }
    free(copy);
    return table;
}

void flow_table_free(struct flow_table *table)
{
    free(table->flows);
    free(table);
}

unsigned flow_table_len(const struct flow_table *table)
{
    return table->len;
}

static bool inside(const struct pd_prefix *prefix, const struct pd_addr *addr)
{
    for (unsigned bit = 0; prefix->ip_version && bit < prefix->bits; bit++) {
        if ((prefix->addr.bytes[bit / 8] ^ addr->bytes[bit / 8]) >> (7 - bit % 8) & 1) {
            return false;
        }
    }
    return true;
}

static bool matches(const struct flow *flow, uint32_t in_port, const struct flow_packet *packet)
{
    unsigned pcp = packet->vlans_len ? packet->vlans[packet->vlans_len - 1].pcp : ANY;
    return (flow->in_port == ANY || flow->in_port == in_port) &&
           (!flow->ip_version ||
            (packet->vlans_len <= VLANS_READ && flow->ip_version == packet->ip_version)) &&
           (flow->dscp == ANY || flow->dscp == packet->dscp) &&
           (flow->pcp == ANY || flow->pcp == pcp) && !(flow->untagged && packet->vlans_len) &&
           !(flow->tagged && !packet->vlans_len) && inside(&flow->src, &packet->src) &&
           inside(&flow->dst, &packet->dst);
}

static enum flow_verdict act(const struct flow *flow, struct flow_packet *packet)
{
    char actions[sizeof flow->actions], *save;
    bool goes_on = false;
    snprintf(actions, sizeof actions, "%s", flow->actions);
    for (char *action = strtok_r(actions, ",", &save); action;
         action = strtok_r(NULL, ",", &save)) {
        unsigned value = 0;
        char field[16];
        if (!strcmp(action, "CONTROLLER:65535")) {
            return FLOW_CONTROLLER;
        }
        if (!strcmp(action, "drop") || !strcmp(action, "TABLE")) {
            return *action == 'd' ? FLOW_DROP : FLOW_AGAIN;
        }
        if (!strcmp(action, "goto_table:1")) {
            goes_on = true;
        } else if (!strcmp(action, "pop_vlan")) {
            assert_true(packet->vlans_len > 0);
            packet->vlans_len--;
        } else if (!strcmp(action, "push_vlan:0x8100")) {
            assert_true(packet->vlans_len < FLOW_VLANS_MAX);
            packet->vlans_len++;
        } else if (sscanf(action, "set_field:%u->%15s", &value, field) == 2) {
            if (!strcmp(field, "ip_dscp")) {
                packet->dscp = (uint8_t)value;
            } else if (!strcmp(field, "vlan_pcp")) {
                packet->vlans[packet->vlans_len - 1].pcp = (uint8_t)value;
            } else {
                packet->vlans[packet->vlans_len - 1].vid = value & 4095;
            }
        } else {
            fail_msg("unknown action `%s`", action);
        }
    }
    assert_true(goes_on);
    return FLOW_FORWARD;
}

static enum flow_verdict run_once(const struct flow_table *table, uint32_t in_port,
                                  struct flow_packet *packet)
{
    const struct flow *best = NULL;
    for (unsigned i = 0; i < table->len; i++) {
        const struct flow *flow = &table->flows[i];
        if (!matches(flow, in_port, packet)) {
            continue;
        }
        if (best && best->priority == flow->priority) {
            fail_msg("two flows of priority %u match", flow->priority);
        }
        if (!best || flow->priority > best->priority) {
            best = flow;
        }
    }
    assert_non_null(best);
    return act(best, packet);
}

enum flow_verdict flow_table_run(const struct flow_table *table, uint32_t in_port,
                                 struct flow_packet *packet)
{
    enum flow_verdict verdict;
    do {
        verdict = run_once(table, in_port, packet);
    } while (verdict == FLOW_AGAIN);
    return verdict;
}
