/* SPDX-License-Identifier: Apache-2.0 */
/* Reads match and instructions of a flow in the one form (controller/switches/flow.h). */
#include "flow_row.h"

#include <linux/if_ether.h>

#include "base/flow_id.h"
#include "tables.h"

/* ---- match ---------------------------------------------------------------------------------- */

/* Ones, then zeros; false where it is no prefix's mask. */
static bool read_mask(const uint8_t *mask, unsigned bytes, uint8_t *ret_bits)
{
    unsigned bits = 0;

    while (bits < 8 * bytes && mask[bits / 8] >> (7 - bits % 8) & 1) {
        bits++;
    }
    for (unsigned bit = bits; bit < 8 * bytes; bit++) {
        if (mask[bit / 8] >> (7 - bit % 8) & 1) {
            return false;
        }
    }
    *ret_bits = (uint8_t)bits;
    return true;
}

static bool read_prefix(const uint8_t *value, unsigned bytes, bool masked, unsigned version,
                        struct pd_prefix *prefix)
{
    const unsigned addr_bytes = version == 4 ? 4 : 16;

    if (bytes != (masked ? 2 : 1) * addr_bytes) {
        return false;
    }
    prefix->ip_version = (uint8_t)version;
    prefix->bits = (uint8_t)(8 * addr_bytes);
    memcpy(prefix->addr.bytes, value, addr_bytes);
    return !masked || read_mask(value + addr_bytes, addr_bytes, &prefix->bits);
}

static bool read_field(uint32_t head, const uint8_t *value, struct pd_codec_row *row)
{
    const unsigned field = head >> 9 & 0x7f, bytes = head & 0xff;
    const bool masked = head & 0x100;
    const uint64_t number = masked || bytes > 8 ? 0 : of_number(value, bytes);

    if (head >> 16 != OF_OXM_BASIC) {
        return false;
    }
    switch (field) {
    case OF_IN_PORT: row->in_port = (uint16_t)number; return !masked && number < PORTS_MAX;
    case OF_ETH_TYPE:
        row->family = number == ETH_P_IP      ? 4
                      : number == ETH_P_IPV6  ? 6
                      : number == ETH_P_ARP   ? PD_ROW_ARP
                      : number == ETH_P_QINQ1 ? PD_ROW_OLD
                                              : 0;
        return row->family;
    case OF_VLAN_VID: /* any tag, whatever its number */
        row->depth = PD_ROW_TAGGED;
        return masked && bytes == 4 && of_number(value, 2) == OF_VLAN_PRESENT &&
               of_number(value + 2, 2) == OF_VLAN_PRESENT;
    case OF_IP_DSCP: row->dscp = (uint8_t)number; return !masked && !number;
    case OF_IPV4_SRC: return read_prefix(value, bytes, masked, 4, &row->src);
    case OF_IPV4_DST: return read_prefix(value, bytes, masked, 4, &row->dst);
    case OF_IPV6_SRC: return read_prefix(value, bytes, masked, 6, &row->src);
    case OF_IPV6_DST: return read_prefix(value, bytes, masked, 6, &row->dst);
    default: return false;
    }
}

static bool read_match(const struct pd_of_flow *flow, struct pd_codec_row *row)
{
    struct of_reader reader = {.at = flow->match, .left = flow->match_bytes};

    while (reader.left) {
        const uint32_t head = (uint32_t)of_read_number(&reader, 4);
        const uint8_t *value = of_read(&reader, head & 0xff);

        if (!value || !read_field(head, value, row)) {
            return false;
        }
    }
    return true;
}

/* ---- instructions --------------------------------------------------------------------------- */

static bool read_set_field(struct of_reader *body, struct pd_codec_row *row)
{
    const uint32_t head = (uint32_t)of_read_number(body, 4);
    const uint64_t value = of_read_number(body, head & 0xff);

    switch (head >> 9 & 0x7f) {
    case OF_VLAN_VID:
        row->value = (uint32_t)value & ~OF_VLAN_PRESENT;
        return row->action == PD_ROW_PUSH && value & OF_VLAN_PRESENT;
    case OF_IP_DSCP:
        row->value = (uint32_t)value;
        row->action = PD_ROW_DSCP;
        return true;
    default: return false;
    }
}

/* What lost a tag goes through the tables once more. */
static bool read_output(uint32_t port, struct pd_codec_row *row)
{
    if (row->action == PD_ROW_STRIP) {
        return port == OF_PORT_TABLE;
    }
    row->action = PD_ROW_PUNT;
    return port == OF_PORT_CONTROL;
}

static bool read_action(unsigned type, struct of_reader *body, struct pd_codec_row *row,
                        uint16_t *tpid)
{
    switch (type) {
    case OF_PUSH_VLAN:
        *tpid = (uint16_t)of_read_number(body, 2);
        row->action = PD_ROW_PUSH;
        return *tpid == ETH_P_8021Q || *tpid == ETH_P_8021AD;
    case OF_SET_FIELD: return read_set_field(body, row);
    case OF_POP_VLAN: row->action = PD_ROW_STRIP; return true;
    case OF_OUTPUT: return read_output((uint32_t)of_read_number(body, 4), row);
    default: return false;
    }
}

static bool read_actions(struct of_reader *reader, struct pd_codec_row *row, uint16_t *tpid)
{
    of_read(reader, 4);
    while (reader->left) {
        const unsigned type = (unsigned)of_read_number(reader, 2);
        const size_t bytes = of_read_number(reader, 2);
        struct of_reader body = {.at = reader->at, .left = bytes < 4 ? 0 : bytes - 4};

        if (bytes < 4 || !of_read(reader, bytes - 4) || !read_action(type, &body, row, tpid) ||
            body.failed) {
            return false;
        }
    }
    return !reader->failed;
}

/* What goes on ends in the next table, which is the bed's own forwarding. */
static bool read_instructions(const struct pd_of_flow *flow, struct pd_codec_row *row,
                              uint16_t *tpid)
{
    struct of_reader reader = {.at = flow->instructions, .left = flow->instructions_bytes};
    bool goes_on = false;

    while (reader.left) {
        const unsigned type = (unsigned)of_read_number(&reader, 2);
        const size_t bytes = of_read_number(&reader, 2);
        struct of_reader body = {.at = reader.at, .left = bytes < 4 ? 0 : bytes - 4};

        if (bytes < 4 || !of_read(&reader, bytes - 4)) {
            return false;
        }
        if (type == OF_GOTO_TABLE) {
            goes_on = of_read_number(&body, 1) == 1;
        } else if (type != OF_APPLY_ACTIONS || !read_actions(&body, row, tpid)) {
            return false;
        }
    }
    if (!flow->instructions_bytes) {
        row->action = PD_ROW_DROP;
    }
    return !reader.failed && goes_on == (row->action == PD_ROW_PASS || row->action == PD_ROW_PUSH ||
                                         row->action == PD_ROW_DSCP);
}

/* Rows for packets with a tag take it off or drop them; no other row does that. What has a tag of
 * 0x9100 is no IP packet here, and dropped in any case. */
static bool executes(const struct pd_codec_row *row)
{
    const bool edge = row->action == PD_ROW_STRIP || row->action == PD_ROW_DROP;

    return edge == (row->depth == PD_ROW_TAGGED || row->family == PD_ROW_OLD);
}

bool tc_flow_row(const struct pd_of_flow *flow, struct pd_codec_row *ret_row, uint16_t *tpid)
{
    struct pd_codec_row row = {
        .priority = flow->priority, .dscp = PD_ROW_ANY, .depth = PD_ROW_ANY, .action = PD_ROW_PASS};
    uint16_t pushed = *tpid;

    if (flow->timed || !read_match(flow, &row) || !read_instructions(flow, &row, &pushed) ||
        !executes(&row)) {
        return false;
    }
    *ret_row = row;
    *tpid = pushed;
    return true;
}
