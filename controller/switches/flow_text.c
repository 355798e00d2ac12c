/* SPDX-License-Identifier: Apache-2.0 */
/* Flows as text: read from the codec's lines, written for people. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "controller/switches/flow.h"

/* Fields that the codec's text names; `plain` ones are written as name=number or name=address/bits.
 */
static const struct field {
    const char *name;
    enum of_field id;
    unsigned bytes;
    bool plain;
} fields[] = {
    {"in_port", OF_IN_PORT, 4, true},      {"ip_dscp", OF_IP_DSCP, 1, true},
    {"dl_vlan_pcp", OF_VLAN_PCP, 1, true}, {"nw_src", OF_IPV4_SRC, 4, true},
    {"nw_dst", OF_IPV4_DST, 4, true},      {"ipv6_src", OF_IPV6_SRC, 16, true},
    {"ipv6_dst", OF_IPV6_DST, 16, true},   {"vlan_vid", OF_VLAN_VID, 2, false},
    {"vlan_pcp", OF_VLAN_PCP, 1, false},   {"eth_type", OF_ETH_TYPE, 2, false},
};

static const struct field *field_of(unsigned id, bool plain)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].id == id && (!plain || fields[i].plain)) {
            return &fields[i];
        }
    }
    return NULL;
}

static const struct field *field_named(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].name) == len && !memcmp(fields[i].name, name, len)) {
            return &fields[i];
        }
    }
    return NULL;
}

/* ---- from the codec's text */

struct text {
    struct of_buffer match, instructions; /* their memory is the caller's room */
    struct pd_of_flow flow;
};

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

static bool read_number(const char *text, const char *end, uint64_t max, uint64_t *ret_number)
{
    char *stop;
    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    unsigned long long number = strtoull(text, &stop, 0);
    if (errno || stop != end || number > max) {
        return false;
    }
    *ret_number = number;
    return true;
}

static bool match_address(struct of_buffer *buffer, const struct field *field, const char *text,
                          const char *end)
{
    uint8_t address[16], mask[16] = {0};
    char word[64];
    uint64_t bits = 8 * (uint64_t)field->bytes;
    const char *slash = memchr(text, '/', (size_t)(end - text));
    size_t len = (size_t)((slash ? slash : end) - text);
    if (len >= sizeof word || (slash && !read_number(slash + 1, end, bits, &bits))) {
        return false;
    }
    memcpy(word, text, len);
    word[len] = '\0';
    if (inet_pton(field->bytes == 4 ? AF_INET : AF_INET6, word, address) != 1) {
        return false;
    }
    for (uint64_t bit = 0; bit < bits; bit++) {
        mask[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    }
    of_write_number(buffer,
                    OF_OXM_BASIC << 16 | (unsigned)field->id << 9 | 0x100 | 2 * field->bytes, 4);
    of_write_bytes(buffer, address, field->bytes);
    of_write_bytes(buffer, mask, field->bytes);
    return true;
}

/* "dl_vlan_pcp" asks for a tag, whatever its number. */
static bool match_number(struct of_buffer *buffer, const struct field *field, const char *text,
                         const char *end)
{
    uint64_t number;
    if (!read_number(text, end, (UINT64_C(1) << 8 * field->bytes) - 1, &number)) {
        return false;
    }
    if (field->id == OF_VLAN_PCP) {
        write_masked(buffer, OF_VLAN_VID, OF_VLAN_PRESENT, OF_VLAN_PRESENT, 2);
    }
    write_field(buffer, field->id, number, field->bytes);
    return true;
}

static bool starts_with(const char *word, const char *end, const char *start)
{
    size_t len = strlen(start);
    return (size_t)(end - word) >= len && !memcmp(word, start, len);
}

static bool is_word(const char *word, const char *end, const char *text)
{
    return (size_t)(end - word) == strlen(text) && starts_with(word, end, text);
}

static bool read_match_word(struct text *text, const char *word, const char *end)
{
    uint64_t number;
    const char *equals = memchr(word, '=', (size_t)(end - word));
    const struct field *field = equals ? field_named(word, (size_t)(equals - word)) : NULL;
    if (is_word(word, end, "ip") || is_word(word, end, "ipv6")) {
        write_field(&text->match, OF_ETH_TYPE, is_word(word, end, "ip") ? 0x0800 : 0x86dd, 2);
    } else if (is_word(word, end, "vlan_tci=0x0000/0x1000")) {
        write_masked(&text->match, OF_VLAN_VID, 0, OF_VLAN_PRESENT, 2);
    } else if (starts_with(word, end, "table=") && read_number(word + 6, end, UINT8_MAX, &number)) {
        text->flow.table = (uint8_t)number;
    } else if (starts_with(word, end, "priority=") &&
               read_number(word + 9, end, UINT16_MAX, &number)) {
        text->flow.priority = (uint16_t)number;
    } else if (!field || !field->plain) {
        return false;
    } else if (field->id >= OF_IPV4_SRC) {
        return match_address(&text->match, field, equals + 1, end);
    } else {
        return match_number(&text->match, field, equals + 1, end);
    }
    return true;
}

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

/* "set_field:NUMBER->FIELD" */
static bool write_set_field(struct of_buffer *buffer, const char *word, const char *end)
{
    uint64_t number;
    const char *arrow = memmem(word, (size_t)(end - word), "->", 2);
    const struct field *field = arrow ? field_named(arrow + 2, (size_t)(end - arrow - 2)) : NULL;
    if (!field || field->bytes > 2 || !read_number(word, arrow, UINT16_MAX, &number)) {
        return false;
    }
    size_t start = begin_action(buffer, OF_SET_FIELD);
    write_field(buffer, field->id, number, field->bytes);
    end_action(buffer, start);
    return true;
}

static bool read_action_word(struct text *text, const char *word, const char *end)
{
    struct of_buffer *buffer = &text->instructions;
    uint64_t number;
    if (starts_with(word, end, "set_field:")) {
        return write_set_field(buffer, word + strlen("set_field:"), end);
    }
    if (starts_with(word, end, "push_vlan:") && read_number(word + 10, end, UINT16_MAX, &number)) {
        size_t start = begin_action(buffer, OF_PUSH_VLAN);
        of_write_number(buffer, number, 2);
        end_action(buffer, start);
    } else if (starts_with(word, end, "CONTROLLER:") &&
               read_number(word + 11, end, UINT16_MAX, &number)) {
        size_t start = begin_action(buffer, OF_OUTPUT);
        of_write_number(buffer, OF_PORT_CONTROL, 4);
        of_write_number(buffer, number, 2);
        of_write(buffer, 6);
        of_end(buffer, start);
    } else {
        return false;
    }
    return true;
}

static int fail_word(const char *word, const char *end, struct pd_error *error)
{
    return pd_fail(error, -PD_E_UNSUPPORTED, "flow: \"%.*s\" is not a word of tagging rules",
                   (int)(end - word), word);
}

static int read_words(struct text *text, const char *line, const char *end,
                      bool (*read)(struct text *text, const char *word, const char *end),
                      struct pd_error *error)
{
    while (line < end) {
        const char *comma = memchr(line, ',', (size_t)(end - line));
        const char *stop = comma ? comma : end;
        if (!read(text, line, stop)) {
            return fail_word(line, stop, error);
        }
        line = comma ? comma + 1 : end;
    }
    return 0;
}

static void write_goto(struct of_buffer *buffer, uint8_t table)
{
    of_write_number(buffer, OF_GOTO_TABLE, 2);
    of_write_number(buffer, 8, 2);
    of_write_number(buffer, table, 1);
    of_write(buffer, 3);
}

/* The actions come first, then "goto_table:N" as the last word, or not at all. */
static int read_instructions(struct text *text, const char *actions, struct pd_error *error)
{
    const char *end = actions + strlen(actions);
    const char *last = strstr(actions, "goto_table:");
    uint64_t table = 0;
    if (last && (last > actions && last[-1] != ',')) {
        return fail_word(actions, end, error);
    }
    if (last && !read_number(last + strlen("goto_table:"), end, UINT8_MAX, &table)) {
        return fail_word(last, end, error);
    }
    const char *stop = !last ? end : last > actions ? last - 1 : actions;
    if (stop > actions) {
        size_t start = begin_action(&text->instructions, (enum of_action)OF_APPLY_ACTIONS);
        of_write(&text->instructions, 4);
        int failed = read_words(text, actions, stop, read_action_word, error);
        if (failed) {
            return failed;
        }
        of_end(&text->instructions, start);
    }
    if (last) {
        write_goto(&text->instructions, (uint8_t)table);
    }
    return 0;
}

/* Into the caller's room: match first, instructions behind it. */
static int store(struct text *text, uint8_t room[PD_OF_FLOW_ROOM], struct pd_of_flow *ret_flow,
                 struct pd_error *error)
{
    struct pd_of_flow flow = text->flow;
    if (text->match.error || text->instructions.error) {
        return -ENOMEM;
    }
    if (text->match.bytes + text->instructions.bytes > PD_OF_FLOW_ROOM) {
        return pd_fail(error, -PD_E_TOO_LARGE, "flow: longer than tagging rules are");
    }
    flow.match = room;
    flow.match_bytes = (uint16_t)text->match.bytes;
    if (flow.match_bytes) {
        memcpy(flow.match, text->match.data, flow.match_bytes);
    }
    flow.instructions = room + flow.match_bytes;
    flow.instructions_bytes = (uint16_t)text->instructions.bytes;
    if (flow.instructions_bytes) {
        memcpy(flow.instructions, text->instructions.data, flow.instructions_bytes);
    }
    int failed = pd_of_flow_simplify(&flow);
    if (!failed) {
        *ret_flow = flow;
    }
    return failed;
}

int pd_of_flow_parse(const char *line, uint8_t room[PD_OF_FLOW_ROOM], struct pd_of_flow *ret_flow,
                     struct pd_error *error)
{
    static const char separator[] = ",actions=";
    struct text text = {.flow = {.cookie = 0}};
    const char *actions = strstr(line, separator);
    if (!actions) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "flow: no actions in \"%.100s\"", line);
    }
    int failed = read_words(&text, line, actions, read_match_word, error);
    if (!failed) {
        failed = read_instructions(&text, actions + sizeof separator - 1, error);
    }
    if (!failed) {
        failed = store(&text, room, ret_flow, error);
    }
    of_buffer_done(&text.match);
    of_buffer_done(&text.instructions);
    return failed;
}

/* ---- for people */

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
    const struct field *field = class == OF_OXM_BASIC ? field_of(id, true) : NULL;
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
void pd_of_flow_print(const struct pd_of_flow *flow, FILE *out)
{
    fprintf(out, "table=%u,priority=%u", flow->table, flow->priority);
    for (size_t at = 0; at < flow->match_bytes; at += 4U + flow->match[at + 3]) {
        print_field(flow->match + at, out);
    }
}
