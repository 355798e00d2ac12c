/* SPDX-License-Identifier: Apache-2.0 */
/* Flows in one form: simplified, read from and written to OpenFlow 1.3 messages. */
#include "controller/switches/flow.h"

#include <string.h>

#define SORTED_MAX       64   /* parts; what has more is no flow of ours and stays as it is */
#define SORTED_BYTES_MAX 1024 /* of all parts */

/* ---- parts in order, masks as simple as they can be */

struct part {
    uint32_t key;
    uint16_t offset, bytes;
};

struct parts {
    struct part items[SORTED_MAX];
    unsigned len;
};

static void parts_add(struct parts *parts, uint32_t key, size_t offset, size_t bytes)
{
    unsigned at = parts->len++;
    for (; at > 0 && parts->items[at - 1].key > key; at--) {
        parts->items[at] = parts->items[at - 1];
    }
    parts->items[at] = (struct part){key, (uint16_t)offset, (uint16_t)bytes};
}

/* Puts the parts in order into their memory; returns how many bytes they have. */
static uint16_t parts_store(const struct parts *parts, uint8_t *data)
{
    uint8_t sorted[SORTED_BYTES_MAX];
    uint16_t bytes = 0;
    for (unsigned i = 0; i < parts->len; i++) {
        memcpy(sorted + bytes, data + parts->items[i].offset, parts->items[i].bytes);
        bytes += parts->items[i].bytes;
    }
    memcpy(data, sorted, bytes);
    return bytes;
}

static bool all_are(const uint8_t *data, size_t bytes, uint8_t value)
{
    while (bytes && data[bytes - 1] == value) {
        bytes--;
    }
    return !bytes;
}

/* Simplifies one field in place; returns its bytes, 0 when it matches everything. */
static size_t simplify_field(uint8_t *field, size_t body)
{
    uint8_t *value = field + 4;
    size_t half = body / 2;
    if (!(field[2] & 1) || body % 2 || of_number(field, 2) == OF_OXM_EXPERIMENTER) {
        return 4 + body;
    }
    for (size_t i = 0; i < half; i++) {
        value[i] &= value[half + i];
    }
    if (all_are(value + half, half, 0)) {
        return 0;
    }
    if (!all_are(value + half, half, 0xff)) {
        return 4 + body;
    }
    field[2] &= 0xfe;
    field[3] = (uint8_t)half;
    return 4 + half;
}

static size_t field_bytes(const uint8_t *field, size_t left)
{
    return left < 4 ? 0 : 4U + field[3];
}

static size_t instruction_bytes(const uint8_t *instruction, size_t left)
{
    return left < 4 ? 0 : of_number(instruction + 2, 2);
}

/* Number of parts, or -PD_E_CORRUPT when they do not add up to `bytes`. */
static int count_parts(const uint8_t *data, size_t bytes,
                       size_t (*part_bytes)(const uint8_t *part, size_t left))
{
    int len = 0;
    for (size_t at = 0; at < bytes; len++) {
        size_t part = part_bytes(data + at, bytes - at);
        if (part < 4 || part > bytes - at) {
            return -PD_E_CORRUPT;
        }
        at += part;
    }
    return len;
}

/* Both return the bytes of the simple form, or -PD_E_CORRUPT. */
static int simplify_match(uint8_t *match, size_t bytes)
{
    struct parts parts = {.len = 0};
    int len = count_parts(match, bytes, field_bytes);
    if (len < 0 || len > SORTED_MAX || bytes > SORTED_BYTES_MAX) {
        return len < 0 ? len : (int)bytes;
    }
    for (size_t at = 0, body; at < bytes; at += 4 + body) {
        body = match[at + 3];
        size_t simple = simplify_field(match + at, body);
        if (simple) {
            parts_add(&parts, (uint32_t)of_number(match + at, 4) >> 9, at, simple);
        }
    }
    return parts_store(&parts, match);
}

static int simplify_instructions(uint8_t *instructions, size_t bytes)
{
    struct parts parts = {.len = 0};
    int len = count_parts(instructions, bytes, instruction_bytes);
    if (len < 0 || len > SORTED_MAX || bytes > SORTED_BYTES_MAX) {
        return len < 0 ? len : (int)bytes;
    }
    for (size_t at = 0, part; at < bytes; at += part) {
        part = of_number(instructions + at + 2, 2);
        parts_add(&parts, (uint32_t)of_number(instructions + at, 2), at, part);
    }
    return parts_store(&parts, instructions);
}

int pd_switch_flow_simplify(struct pd_of_flow *flow)
{
    int match = simplify_match(flow->match, flow->match_bytes);
    int instructions = simplify_instructions(flow->instructions, flow->instructions_bytes);
    if (match < 0 || instructions < 0) {
        return -PD_E_CORRUPT;
    }
    flow->match_bytes = (uint16_t)match;
    flow->instructions_bytes = (uint16_t)instructions;
    return 0;
}

/* ---- from and to the wire */

/* Type, length, fields, padding to 8 bytes. */
static int read_match(struct of_reader *reader, struct pd_of_flow *flow)
{
    uint64_t type = of_read_number(reader, 2), bytes = of_read_number(reader, 2);
    if (reader->failed || type != 1 || bytes < 4) {
        return -PD_E_CORRUPT;
    }
    flow->match = (uint8_t *)(uintptr_t)of_read(reader, bytes - 4);
    flow->match_bytes = (uint16_t)(bytes - 4);
    of_read(reader, (8 - bytes % 8) % 8);
    return reader->failed ? -PD_E_CORRUPT : 0;
}

int pd_switch_flow_next(struct of_reader *reader, struct pd_of_flow *ret_flow)
{
    struct pd_of_flow flow = {.cookie = 0};
    uint64_t bytes = of_read_number(reader, 2);
    struct of_reader entry = {.at = reader->at};
    if (reader->failed || bytes < 2 || !of_read(reader, bytes - 2)) {
        return -PD_E_CORRUPT;
    }
    entry.left = bytes - 2;
    flow.table = (uint8_t)of_read_number(&entry, 1);
    of_read(&entry, 1 + 4 + 4);
    flow.priority = (uint16_t)of_read_number(&entry, 2);
    flow.timed = of_read_number(&entry, 4) != 0;
    of_read(&entry, 2 + 4);
    flow.cookie = of_read_number(&entry, 8);
    of_read(&entry, 16);
    if (entry.failed || read_match(&entry, &flow)) {
        return -PD_E_CORRUPT;
    }
    flow.instructions = (uint8_t *)(uintptr_t)entry.at;
    flow.instructions_bytes = (uint16_t)entry.left;
    int failed = pd_switch_flow_simplify(&flow);
    if (!failed) {
        *ret_flow = flow;
    }
    return failed;
}

int pd_switch_flow_compare(const struct pd_of_flow *a, const struct pd_of_flow *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    if (a->match_bytes != b->match_bytes) {
        return a->match_bytes < b->match_bytes ? -1 : 1;
    }
    return a->match_bytes ? memcmp(a->match, b->match, a->match_bytes) : 0;
}

bool pd_switch_flow_does_same(const struct pd_of_flow *a, const struct pd_of_flow *b)
{
    return a->instructions_bytes == b->instructions_bytes &&
           (!a->instructions_bytes ||
            !memcmp(a->instructions, b->instructions, a->instructions_bytes));
}

/* A deletion names the cookie with all its bits, so that it can never hit a flow of somebody
 * else's. */
void pd_switch_flow_write(const struct pd_of_flow *flow, enum of_command command, uint32_t xid,
                          struct of_buffer *buffer)
{
    size_t start = of_begin(buffer, OF_FLOW_MOD, xid);
    of_write_number(buffer, flow->cookie, 8);
    of_write_number(buffer, command == OF_ADD ? 0 : UINT64_MAX, 8);
    of_write_number(buffer, flow->table, 1);
    of_write_number(buffer, command, 1);
    of_write(buffer, 4); /* no timeouts */
    of_write_number(buffer, flow->priority, 2);
    of_write_number(buffer, OF_NO_BUFFER, 4);
    of_write_number(buffer, OF_ANY, 4);
    of_write_number(buffer, OF_ANY, 4);
    of_write(buffer, 4); /* no flags */
    of_write_number(buffer, 1, 2);
    of_write_number(buffer, 4U + flow->match_bytes, 2);
    of_write_bytes(buffer, flow->match, flow->match_bytes);
    of_pad8(buffer, start);
    if (command == OF_ADD) {
        of_write_bytes(buffer, flow->instructions, flow->instructions_bytes);
    }
    of_end(buffer, start);
}
