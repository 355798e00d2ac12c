/* SPDX-License-Identifier: Apache-2.0 */
/* IOAM traces read: options, trace header, the data of each switch. */
#include "telemetry/ioam/ioam.h"

enum {
    BITS = 24,
    OPAQUE = 22, /* a schema ID and data of any length, behind all others */
    OVERFLOW = 8,
};

/* Words of each bit of the trace type, the first bit first; 0: not defined. */
static const uint8_t words_of[BITS] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 1};

struct trace {
    uint32_t type;  /* 24 bits */
    uint32_t words; /* that a switch writes, without opaque data */
};

static bool has(const struct trace *trace, unsigned bit)
{
    return trace->type >> (BITS - 1 - bit) & 1;
}

/* "Not available" is all ones. */
static bool is_known(uint64_t value, unsigned bits)
{
    return value != (UINT64_C(1) << bits) - 1;
}

static void take_node(struct pd_telemetry_hop *hop, uint64_t id, unsigned bits)
{
    if (is_known(id, bits) && id <= UINT32_MAX) {
        hop->node = (uint32_t)id;
        hop->known |= PD_TELEMETRY_NODE;
    }
}

static void take_ports(struct pd_telemetry_hop *hop, uint64_t in, uint64_t out, unsigned bits)
{
    if (is_known(in, bits)) {
        hop->in_port = (uint32_t)in;
        hop->known |= PD_TELEMETRY_IN_PORT;
    }
    if (is_known(out, bits)) {
        hop->out_port = (uint32_t)out;
        hop->known |= PD_TELEMETRY_OUT_PORT;
    }
}

static void take_number(struct pd_telemetry_hop *hop, uint32_t *number, const uint8_t *at,
                        enum pd_telemetry_known known)
{
    *number = (uint32_t)pd_bytes_number(at, 4);
    if (is_known(*number, 32)) {
        hop->known |= known;
    } else {
        *number = 0;
    }
}

static void take_field(struct pd_telemetry_hop *hop, unsigned bit, const uint8_t *at)
{
    uint64_t number = pd_bytes_number(at, 4);
    switch (bit) {
    case 0: take_node(hop, number & 0xffffff, 24); break;
    case 1: take_ports(hop, number >> 16, number & 0xffff, 16); break;
    case 2: hop->ingress_ns += is_known(number, 32) ? number * 1000000000 : 0; break;
    case 3:
        if (is_known(number, 32)) {
            hop->ingress_ns += number;
            hop->known |= PD_TELEMETRY_INGRESS;
        }
        break;
    case 4: take_number(hop, &hop->residence_ns, at, PD_TELEMETRY_RESIDENCE); break;
    case 6: take_number(hop, &hop->queue_bytes, at, PD_TELEMETRY_QUEUE); break;
    case 8: take_node(hop, pd_bytes_number(at, 8) & 0xffffffffffffff, 56); break;
    case 9: take_ports(hop, number, pd_bytes_number(at + 4, 4), 32); break;
    default: break;
    }
}

/* The data of one switch; false: it ends before. */
static bool take_hop(const struct trace *trace, struct pd_bytes *data, struct pd_telemetry_hop *hop)
{
    *hop = (struct pd_telemetry_hop){0};
    const uint8_t *at = pd_bytes_take(data, trace->words * 4U);
    if (!at) {
        return false;
    }
    for (uint32_t left = trace->type >> (BITS - OPAQUE); left;) { /* highest bit first */
        unsigned shift = 31 - (unsigned)__builtin_clz(left), bit = OPAQUE - 1 - shift;
        take_field(hop, bit, at);
        at += words_of[bit] * 4U;
        left ^= 1U << shift;
    }
    if (!has(trace, OPAQUE)) {
        return true;
    }
    const uint8_t *opaque = pd_bytes_take(data, 4);
    return opaque && pd_bytes_take(data, opaque[0] * 4U);
}

static void turn_around(struct pd_telemetry_hop *hops, uint32_t len)
{
    for (uint32_t i = 0; i + 1 < len - i; i++) {
        struct pd_telemetry_hop hop = hops[i];
        hops[i] = hops[len - 1 - i];
        hops[len - 1 - i] = hop;
    }
}

static int read_data(const struct trace *trace, struct pd_bytes data,
                     struct pd_telemetry *telemetry)
{
    while (data.left) {
        if (telemetry->hops_len == PD_TELEMETRY_HOPS_MAX) {
            telemetry->cut = true;
            break;
        }
        if (!take_hop(trace, &data, &telemetry->hops[telemetry->hops_len])) {
            return -PD_E_SYNTAX;
        }
        telemetry->hops_len++;
    }
    turn_around(telemetry->hops, telemetry->hops_len);
    telemetry->kind = PD_TELEMETRY_IOAM;
    return 0;
}

/* The words that the header names have to be those of the data that the type names. */
static bool is_sound(struct trace *trace)
{
    uint32_t words = 0;
    for (unsigned bit = 0; bit < OPAQUE; bit++) {
        if (has(trace, bit) && !words_of[bit]) {
            return false;
        }
        words += has(trace, bit) ? words_of[bit] : 0;
    }
    return words == trace->words && (words || has(trace, OPAQUE)) && !has(trace, BITS - 1);
}

static int read_trace(struct pd_bytes option, struct pd_telemetry *telemetry)
{
    const uint8_t *head = pd_bytes_take(&option, 2), *fixed = pd_bytes_take(&option, 8);
    if (!head || !fixed || (head[1] != PD_IOAM_PREALLOCATED && head[1] != PD_IOAM_INCREMENTAL)) {
        return -PD_E_NOT_FOUND;
    }
    struct trace trace = {.type = (uint32_t)pd_bytes_number(fixed + 4, 3), .words = fixed[2] >> 3};
    uint32_t flags = (uint32_t)pd_bytes_number(fixed + 2, 2) >> 7 & 15, left = fixed[3] & 127;
    if (!is_sound(&trace) ||
        (head[1] == PD_IOAM_PREALLOCATED && !pd_bytes_take(&option, left * 4))) {
        return -PD_E_SYNTAX;
    }
    telemetry->cut = flags & OVERFLOW;
    return read_data(&trace, option, telemetry);
}

int pd_ioam_read(struct pd_bytes header, struct pd_telemetry *telemetry)
{
    const uint8_t *begin = pd_bytes_take(&header, 2);
    if (!begin || header.left < begin[1] * 8U + 6) {
        return -PD_E_SYNTAX;
    }
    header.left = begin[1] * 8U + 6;
    while (header.left) {
        const uint8_t *type = pd_bytes_take(&header, 1);
        if (!*type) { /* one byte of padding */
            continue;
        }
        const uint8_t *bytes = pd_bytes_take(&header, 1),
                      *option = bytes ? pd_bytes_take(&header, *bytes) : NULL;
        if (!option) {
            return -PD_E_SYNTAX;
        }
        if (*type == PD_IOAM_OPTION || *type == PD_IOAM_OPTION_FIXED) {
            int err = read_trace((struct pd_bytes){.at = option, .left = *bytes}, telemetry);
            if (err != -PD_E_NOT_FOUND) {
                return err;
            }
        }
    }
    return -PD_E_NOT_FOUND;
}
