/* SPDX-License-Identifier: Apache-2.0 */
/* A codec's row as a flow in the one form. */
#include "controller/switches/flow.h"
#include "controller/switches/switches.h"

#include <string.h>

#define NEXT_TABLE (PD_SWITCHES_TABLE + 1) /* forwarding, which is somebody else's */

/* ---- match */

static void write_field(struct of_buffer *buffer, enum of_field id, uint64_t value, unsigned bytes)
{
    of_write_number(buffer, OF_OXM_BASIC << 16 | (unsigned)id << 9 | bytes, 4);
    of_write_number(buffer, value, bytes);
}

static void write_masked(struct of_buffer *buffer, enum of_field id, uint64_t value, uint64_t mask,
                         unsigned bytes)
{
    of_write_number(buffer, OF_OXM_BASIC << 16 | (unsigned)id << 9 | 0x100 | 2 * bytes, 4);
    of_write_number(buffer, value, bytes);
    of_write_number(buffer, mask, bytes);
}

static void write_prefix(struct of_buffer *buffer, enum of_field ipv4, enum of_field ipv6,
                         const struct pd_prefix *prefix)
{
    uint8_t mask[16] = {0};
    unsigned bytes = prefix->ip_version == 4 ? 4 : 16;
    if (!prefix->ip_version) {
        return;
    }
    for (unsigned bit = 0; bit < prefix->bits; bit++) {
        mask[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    }
    unsigned id = prefix->ip_version == 4 ? ipv4 : ipv6;
    of_write_number(buffer, OF_OXM_BASIC << 16 | id << 9 | 0x100 | 2 * bytes, 4);
    of_write_bytes(buffer, prefix->addr.bytes, bytes);
    of_write_bytes(buffer, mask, bytes);
}

static uint16_t eth_type_of(const struct pd_codec_row *row)
{
    static const uint16_t types[] = {
        [4] = 0x0800, [6] = 0x86dd, [PD_ROW_ARP] = 0x0806, [PD_ROW_OLD] = 0x9100};
    return types[row->family];
}

/* The outer PCP holds the depth; to ask for it is to ask for a tag, whatever its number. */
static void write_match(struct of_buffer *buffer, const struct pd_codec_row *row)
{
    if (row->in_port) {
        write_field(buffer, OF_IN_PORT, row->in_port, 4);
    }
    if (row->family) {
        write_field(buffer, OF_ETH_TYPE, eth_type_of(row), 2);
    }
    if (row->depth != PD_ROW_ANY) {
        write_masked(buffer, OF_VLAN_VID, row->depth ? OF_VLAN_PRESENT : 0, OF_VLAN_PRESENT, 2);
    }
    if (row->depth && row->depth != PD_ROW_ANY && row->depth != PD_ROW_TAGGED) {
        write_field(buffer, OF_VLAN_PCP, row->depth == PD_ROW_TENANT ? 0 : row->depth, 1);
    }
    if (row->dscp != PD_ROW_ANY) {
        write_field(buffer, OF_IP_DSCP, row->dscp, 1);
    }
    write_prefix(buffer, OF_IPV4_SRC, OF_IPV6_SRC, &row->src);
    write_prefix(buffer, OF_IPV4_DST, OF_IPV6_DST, &row->dst);
}

/* ---- instructions */

static size_t begin_action(struct of_buffer *buffer, enum of_action type)
{
    size_t start = buffer->bytes;
    of_write_number(buffer, type, 2);
    of_write_number(buffer, 0, 2);
    return start;
}

static void end_action(struct of_buffer *buffer, size_t start)
{
    of_pad8(buffer, start);
    of_end(buffer, start);
}

static void write_set_field(struct of_buffer *buffer, enum of_field id, uint64_t value,
                            unsigned bytes)
{
    size_t start = begin_action(buffer, OF_SET_FIELD);
    write_field(buffer, id, value, bytes);
    end_action(buffer, start);
}

static void write_push(struct of_buffer *buffer, const struct pd_codec_rows *rows,
                       const struct pd_codec_row *row)
{
    size_t start = begin_action(buffer, OF_PUSH_VLAN);
    of_write_number(buffer, rows->tpid, 2);
    end_action(buffer, start);
    write_set_field(buffer, OF_VLAN_VID, OF_VLAN_PRESENT | row->value, 2);
    if (row->depth != PD_ROW_ANY) {
        write_set_field(buffer, OF_VLAN_PCP, row->depth == PD_ROW_TENANT ? 1 : row->depth + 1U, 1);
    }
}

static void write_output(struct of_buffer *buffer, uint32_t port)
{
    size_t start = begin_action(buffer, OF_OUTPUT);
    of_write_number(buffer, port, 4);
    of_write_number(buffer, port == OF_PORT_CONTROL ? UINT16_MAX : 0, 2); /* the whole packet */
    of_write(buffer, 6);
    of_end(buffer, start);
}

/* Then through the tables once more, since there may be another tag. */
static void write_strip(struct of_buffer *buffer)
{
    size_t start = begin_action(buffer, OF_POP_VLAN);
    of_write(buffer, 4);
    of_end(buffer, start);
    write_output(buffer, OF_PORT_TABLE);
}

static int write_actions(struct of_buffer *buffer, const struct pd_codec_rows *rows,
                         const struct pd_codec_row *row, struct pd_error *error)
{
    switch (row->action) {
    case PD_ROW_PUSH: write_push(buffer, rows, row); return 0;
    case PD_ROW_DSCP: write_set_field(buffer, OF_IP_DSCP, row->value, 1); return 0;
    case PD_ROW_PUNT: write_output(buffer, OF_PORT_CONTROL); return 0;
    case PD_ROW_STRIP: write_strip(buffer); return 0;
    default: return pd_fail(error, -PD_E_UNSUPPORTED, "OpenFlow cannot write this codec's marks");
    }
}

static int write_instructions(struct of_buffer *buffer, const struct pd_codec_rows *rows,
                              const struct pd_codec_row *row, struct pd_error *error)
{
    bool ends = row->action == PD_ROW_PUNT || row->action == PD_ROW_STRIP;
    int err = 0;
    if (row->action == PD_ROW_DROP) {
        return 0;
    }
    if (row->action != PD_ROW_PASS) {
        size_t start = begin_action(buffer, (enum of_action)OF_APPLY_ACTIONS);
        of_write(buffer, 4);
        err = write_actions(buffer, rows, row, error);
        of_end(buffer, start);
    }
    if (!ends) {
        of_write_number(buffer, OF_GOTO_TABLE, 2);
        of_write_number(buffer, 8, 2);
        of_write_number(buffer, NEXT_TABLE, 1);
        of_write(buffer, 3);
    }
    return err;
}

/* ---- both */

/* Into the caller's room: match first, instructions behind it. */
static int store(const struct of_buffer *match, const struct of_buffer *instructions,
                 uint8_t room[PD_OF_FLOW_ROOM], struct pd_of_flow *flow, struct pd_error *error)
{
    if (match->error || instructions->error) {
        return -ENOMEM;
    }
    if (match->bytes + instructions->bytes > PD_OF_FLOW_ROOM) {
        return pd_fail(error, -PD_E_TOO_LARGE, "flow: longer than rows are");
    }
    flow->match = room;
    flow->match_bytes = (uint16_t)match->bytes;
    if (flow->match_bytes) {
        memcpy(flow->match, match->data, flow->match_bytes);
    }
    flow->instructions = room + flow->match_bytes;
    flow->instructions_bytes = (uint16_t)instructions->bytes;
    if (flow->instructions_bytes) {
        memcpy(flow->instructions, instructions->data, flow->instructions_bytes);
    }
    return pd_switch_flow_simplify(flow);
}

int pd_switch_flow_of_row(const struct pd_codec_rows *rows, const struct pd_codec_row *row,
                          uint8_t room[PD_OF_FLOW_ROOM], struct pd_of_flow *ret_flow,
                          struct pd_error *error)
{
    struct of_buffer match = {.data = NULL}, instructions = {.data = NULL};
    struct pd_of_flow flow = {.table = PD_SWITCHES_TABLE, .priority = row->priority};
    write_match(&match, row);
    int err = write_instructions(&instructions, rows, row, error);
    if (!err) {
        err = store(&match, &instructions, room, &flow, error);
    }
    if (!err) {
        *ret_flow = flow;
    }
    of_buffer_done(&match);
    of_buffer_done(&instructions);
    return err;
}
