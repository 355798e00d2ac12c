/* SPDX-License-Identifier: Apache-2.0 */
/* Frames made to measure, for the tests, the fuzz corpus and the benchmark of src/packet. */
#ifndef PD_TESTS_PACKET_FRAMES_H
#define PD_TESTS_PACKET_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "packet/packet.h"

#define FRAME_TAGS_MAX       6
#define FRAME_EXTENSIONS_MAX 10
#define FRAME_BYTES_MAX      70000

struct frame_spec {
    const char *name;
    struct pd_flow_id flow;             /* what is to be read back, but for later fragments */
    uint16_t tags[FRAME_TAGS_MAX];      /* in the order pushed */
    uint16_t tag_types[FRAME_TAGS_MAX]; /* of each, 0: 0x8100 */
    unsigned tags_len;
    uint8_t dscp, ecn, tcp_flags;
    uint8_t option_words; /* IPv4 */
    uint16_t fragment;    /* IPv4: flags and offset; IPv6: offset and flags of the header 44 */
    uint8_t extensions[FRAME_EXTENSIONS_MAX]; /* IPv6: their protocol numbers */
    unsigned extensions_len;
    uint8_t extension_units; /* length of those that have one, in their unit beyond the first */
    uint32_t payload_bytes;  /* behind the transport header */
    unsigned padding_bytes;  /* of Ethernet */
};

struct frame {
    uint8_t bytes[FRAME_BYTES_MAX];
    size_t len;
    size_t ip_at;
    size_t transport_at; /* behind all IP headers */
    size_t ip_bytes;
};

void frame_build(const struct frame_spec *spec, struct frame *ret_frame);

/* The sum that an IPv4 header's checksum field must have, computed from all of its words. */
uint16_t frame_ipv4_checksum(const uint8_t *ip);

/* One spec of each kind that must be read, ended by one without a name. */
extern const struct frame_spec frame_good[];

/* Frames that no flow may be counted for: a spec with a few bytes put over it. */
struct frame_bad {
    struct frame_spec spec;
    size_t from_ip_at; /* where the bytes go */
    uint8_t bytes[12];
    unsigned bytes_len;
    size_t cut_bytes; /* off the end, as if they never were on the wire */
    enum pd_packet_verdict verdict;
};
extern const struct frame_bad frame_bad[]; /* ended by one without a name */
void frame_build_bad(const struct frame_bad *bad, struct frame *ret_frame);

#endif
