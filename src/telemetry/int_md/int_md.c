/* SPDX-License-Identifier: Apache-2.0 */
/* INT-MD read: the words of each instruction, the newest switch first. */
#include "telemetry/int_md/int_md.h"

enum {
    TYPE_MD = 1, /* of the shim */
    VERSION = 2,
    EXCEEDED = 4, /* a switch did not write, since the hop count was used up */
    BITS = 16,
    HEADER_BYTES = 12,
};

/* Words of each instruction, the first bit first. */
static const uint8_t words_of[BITS] = {1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void take_field(struct pd_telemetry_hop *hop, unsigned bit, const uint8_t *at)
{
    uint32_t number = (uint32_t)pd_bytes_number(at, 4);
    switch (bit) {
    case 0:
        hop->node = number;
        hop->known |= PD_TELEMETRY_NODE;
        break;
    case 1:
        hop->in_port = number >> 16;
        hop->out_port = number & 0xffff;
        hop->known |= PD_TELEMETRY_IN_PORT | PD_TELEMETRY_OUT_PORT;
        break;
    case 2:
        hop->residence_ns = number;
        hop->known |= PD_TELEMETRY_RESIDENCE;
        break;
    case 3:
        hop->queue_bytes = number & 0xffffff;
        hop->known |= PD_TELEMETRY_QUEUE;
        break;
    case 4:
        hop->ingress_ns = pd_bytes_number(at, 8);
        hop->known |= PD_TELEMETRY_INGRESS;
        break;
    default: break;
    }
}

static void take_hop(uint32_t instructions, struct pd_bytes entry, struct pd_telemetry_hop *hop)
{
    *hop = (struct pd_telemetry_hop){0};
    for (unsigned bit = 0; bit < BITS; bit++) {
        if (instructions >> (BITS - 1 - bit) & 1) {
            take_field(hop, bit, pd_bytes_take(&entry, words_of[bit] * 4U));
        }
    }
}

static uint32_t words_wanted(uint32_t instructions)
{
    uint32_t words = 0;
    for (unsigned bit = 0; bit < BITS; bit++) {
        words += instructions >> (BITS - 1 - bit) & 1 ? words_of[bit] : 0;
    }
    return words;
}

/* A switch may write words of its domain behind those of the instructions. */
static int read_stack(struct pd_bytes stack, uint32_t instructions, uint32_t words,
                      struct pd_telemetry *telemetry)
{
    if (words < words_wanted(instructions) || !words || stack.left % (words * 4)) {
        return -PD_E_SYNTAX;
    }
    size_t hops = stack.left / (words * 4);
    telemetry->cut |= hops > PD_TELEMETRY_HOPS_MAX;
    telemetry->hops_len = hops > PD_TELEMETRY_HOPS_MAX ? PD_TELEMETRY_HOPS_MAX : (uint32_t)hops;
    for (uint32_t n = telemetry->hops_len; n-- > 0;) {
        struct pd_bytes entry = {.at = pd_bytes_take(&stack, words * 4), .left = words * 4};
        take_hop(instructions, entry, &telemetry->hops[n]);
    }
    telemetry->kind = PD_TELEMETRY_INT_MD;
    return 0;
}

int pd_int_md_read(struct pd_bytes behind, struct pd_telemetry *telemetry)
{
    const uint8_t *shim = pd_bytes_take(&behind, 4);
    if (!shim || shim[0] >> 4 != TYPE_MD) {
        return -PD_E_NOT_FOUND;
    }
    if (shim[1] * 4U > behind.left || shim[1] * 4U < HEADER_BYTES) {
        return -PD_E_SYNTAX;
    }
    behind.left = shim[1] * 4U;
    const uint8_t *header = pd_bytes_take(&behind, HEADER_BYTES);
    if (header[0] >> 4 != VERSION) {
        return -PD_E_SYNTAX;
    }
    telemetry->cut = header[0] & EXCEEDED;
    return read_stack(behind, (uint32_t)pd_bytes_number(header + 4, 2), header[2] & 31, telemetry);
}
