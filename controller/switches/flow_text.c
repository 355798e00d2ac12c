/* SPDX-License-Identifier: Apache-2.0 */
/* Flows as text, for people. */
#include <arpa/inet.h>

#include "controller/switches/flow.h"

/* Fields that rows match, written as name=number or name=address/bits. */
static const struct field {
    const char *name;
    enum of_field id;
    unsigned bytes;
} fields[] = {
    {"in_port", OF_IN_PORT, 4},    {"ip_dscp", OF_IP_DSCP, 1}, {"dl_vlan_pcp", OF_VLAN_PCP, 1},
    {"nw_src", OF_IPV4_SRC, 4},    {"nw_dst", OF_IPV4_DST, 4}, {"ipv6_src", OF_IPV6_SRC, 16},
    {"ipv6_dst", OF_IPV6_DST, 16},
};

static const struct field *field_of(unsigned id)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].id == id) {
            return &fields[i];
        }
    }
    return NULL;
}

static void print_hex(const uint8_t *data, size_t bytes, FILE *out)
{
    for (size_t i = 0; i < bytes; i++) {
        fprintf(out, "%02x", data[i]);
    }
}

static void print_address(const struct field *field, const uint8_t *value, bool masked, FILE *out)
{
    char text[INET6_ADDRSTRLEN];
    unsigned bits = 0, max = 8 * field->bytes;
    const uint8_t *mask = value + field->bytes;
    while (masked && bits < max && mask[bits / 8] & 0x80 >> bits % 8) {
        bits++;
    }
    fprintf(out, ",%s=%s/%u", field->name,
            inet_ntop(field->bytes == 4 ? AF_INET : AF_INET6, value, text, sizeof text),
            masked ? bits : max);
}

static void print_field(const uint8_t *oxm, FILE *out)
{
    unsigned class = (unsigned)of_number(oxm, 2), id = oxm[2] >> 1, body = oxm[3];
    bool masked = oxm[2] & 1;
    const struct field *field = class == OF_OXM_BASIC ? field_of(id) : NULL;
    if (field && field->id >= OF_IPV4_SRC && body == field->bytes << masked) {
        print_address(field, oxm + 4, masked, out);
    } else if (field && !masked && body == field->bytes) {
        fprintf(out, ",%s=%llu", field->name, (unsigned long long)of_number(oxm + 4, body));
    } else if (class == OF_OXM_BASIC && id == OF_ETH_TYPE && body == 2) {
        fprintf(out, ",dl_type=0x%04x", (unsigned)of_number(oxm + 4, 2));
    } else if (class == OF_OXM_BASIC && id == OF_VLAN_VID && body == 2U << masked) {
        fprintf(out, ",vlan_vid=0x%04x", (unsigned)of_number(oxm + 4, 2));
        if (masked) {
            fprintf(out, "/0x%04x", (unsigned)of_number(oxm + 6, 2));
        }
    } else {
        fprintf(out, ",oxm:%04x:%u=", class, id);
        print_hex(oxm + 4, body, out);
    }
}

/* What a flow of ours that is not wanted does is not worth words: nobody has to repeat it. */
void pd_switch_flow_print(const struct pd_of_flow *flow, FILE *out)
{
    fprintf(out, "table=%u,priority=%u", flow->table, flow->priority);
    for (size_t at = 0; at < flow->match_bytes; at += 4U + flow->match[at + 3]) {
        print_field(flow->match + at, out);
    }
}
