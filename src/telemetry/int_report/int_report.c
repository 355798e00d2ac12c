/* SPDX-License-Identifier: Apache-2.0 */
/* Reports read, one after the other. */
#include "telemetry/int_report/int_report.h"

enum {
    VERSION = 2,
    INNER_ONLY = 0, /* types of reports */
    TYPE_INT = 1,
    TYPE_IOAM = 2,
    IN_ETHERNET = 3, /* types of what follows */
    IN_IPV4 = 4,
    IN_IPV6 = 5,
    TO_THE_END = 0xff,
    BITS = 16,
};

/* Words of each piece of metadata, the first bit first. */
static const uint8_t words_of[BITS] = {1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1};

int pd_int_report_begin(struct pd_bytes *datagram, struct pd_int_report_head *ret_head)
{
    const uint8_t *at = pd_bytes_take(datagram, 8);

    if (!at || at[0] >> 4 != VERSION) {
        return -PD_E_SYNTAX;
    }
    const uint32_t first = (uint32_t)pd_bytes_number(at, 4);
    *ret_head = (struct pd_int_report_head){.node = (uint32_t)pd_bytes_number(at + 4, 4),
                                            .seq = first & 0x3fffff,
                                            .hardware = first >> 22 & 0x3f};
    return 0;
}

static void take_piece(struct pd_int_report *report, unsigned bit, const uint8_t *at)
{
    struct pd_telemetry_hop *hop = &report->hop;

    switch (bit) {
    case 1:
        hop->in_port = (uint32_t)pd_bytes_number(at, 2);
        hop->out_port = (uint32_t)pd_bytes_number(at + 2, 2);
        hop->known |= PD_TELEMETRY_IN_PORT | PD_TELEMETRY_OUT_PORT;
        break;
    case 2:
        hop->residence_ns = (uint32_t)pd_bytes_number(at, 4);
        hop->known |= PD_TELEMETRY_RESIDENCE;
        break;
    case 3:
        hop->queue_bytes = (uint32_t)pd_bytes_number(at + 1, 3);
        hop->known |= PD_TELEMETRY_QUEUE;
        break;
    case 4:
        hop->ingress_ns = pd_bytes_number(at, 8);
        hop->known |= PD_TELEMETRY_INGRESS;
        break;
    case 15:
        report->has_reason = true;
        report->reason = at[1];
        break;
    default: break;
    }
}

/* Behind the fixed words; what is left over belongs to a domain. */
static int read_metadata(struct pd_bytes metadata, uint32_t bits, struct pd_int_report *report)
{
    for (unsigned bit = 0; bit < BITS; bit++) {
        if (bits >> (BITS - 1 - bit) & 1) {
            const uint8_t *at = pd_bytes_take(&metadata, words_of[bit] * 4U);

            if (!at) {
                return -PD_E_SYNTAX;
            }
            take_piece(report, bit, at);
        }
    }
    return 0;
}

/* Of a report of INT: fixed words, metadata. */
static int read_main(struct pd_bytes *rest, uint32_t metadata_bytes, struct pd_int_report *report)
{
    const uint8_t *fixed = pd_bytes_take(rest, 8);
    struct pd_bytes metadata = {.at = fixed ? pd_bytes_take(rest, metadata_bytes) : NULL,
                                .left = metadata_bytes};

    if (!metadata.at) {
        return -PD_E_SYNTAX;
    }
    report->measured = true;
    return read_metadata(metadata, (uint32_t)pd_bytes_number(fixed, 2), report);
}

static enum pd_int_report_inner inner_of(uint8_t type)
{
    return type == IN_ETHERNET ? PD_INT_REPORT_ETHERNET
           : type == IN_IPV4   ? PD_INT_REPORT_IPV4
           : type == IN_IPV6   ? PD_INT_REPORT_IPV6
                               : PD_INT_REPORT_NO_PACKET;
}

int pd_int_report_next(struct pd_bytes *datagram, const struct pd_int_report_head *head,
                       struct pd_int_report *ret_report)
{
    if (!datagram->left) {
        return -PD_E_NOT_FOUND;
    }
    const uint8_t *first = pd_bytes_take(datagram, 4);
    if (!first) {
        return -PD_E_SYNTAX;
    }
    struct pd_bytes rest = {.left = first[1] == TO_THE_END ? datagram->left : first[1] * 4U};
    rest.at = pd_bytes_take(datagram, rest.left);
    if (!rest.at) {
        return -PD_E_SYNTAX;
    }
    *ret_report = (struct pd_int_report){.dropped = first[3] & 0x80,
                                         .congested = first[3] & 0x40,
                                         .tracked = first[3] & 0x20,
                                         .intermediate = first[3] & 0x10,
                                         .hop = {.node = head->node, .known = PD_TELEMETRY_NODE},
                                         .inner = inner_of(first[0] & 15)};
    const uint8_t type = first[0] >> 4;
    int err = type == TYPE_INT ? read_main(&rest, first[2] * 4U, ret_report)
              : type == INNER_ONLY || type == TYPE_IOAM ? 0
                                                        : -PD_E_SYNTAX;
    ret_report->packet = rest;
    return err;
}
