/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a frame -> flow ID, mark and sizes; and the tags taken off again in place. */
#ifndef PD_PACKET_PACKET_H
#define PD_PACKET_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flow_id.h"
#include "packet/tags.h"

/* Ethernet with up to PD_PACKET_TAGS_MAX stacked VLAN tags (0x8100, 0x88a8, 0x9100), IPv4, IPv6
 * with up to PD_PACKET_EXTENSIONS_MAX extension headers, TCP, UDP, SCTP; other protocols count
 * without ports. Where hop-by-hop options and segments (RFC 8754) stand is noted, for those that
 * read telemetry; packets without them cost no more. One forward walk over the bytes; every access
 * is checked against what was captured. Compiled into Open vSwitch as well: libc alone, no
 * allocation, no lock, no system call, no global state; any number of threads.
 *
 * What the capture's snap length cut off is TRUNCATED, unless only TCP flags are missing: they are
 * 0 then. Ports that lie behind the end of the IP packet itself are BAD_TOTAL_LEN, since no flow
 * can be told; so is the IPv4 length 0 that segmentation offload leaves in captures at the sender.
 * A length is checked against the wire, so a frame of 64 KB from receive offload is fine.
 *
 * Usage:
 *     struct pd_packet packet;
 *     if (pd_packet_parse(frame, captured, wire, &packet) == PD_PACKET_OK) {
 *         pd_trajectory_update(trajectory, &packet, NULL, &now_ns, 1, pd_tags_bits(false));
 *         frame += pd_packet_strip(frame, &packet, false);
 *     }
 */

#define PD_PACKET_EXTENSIONS_MAX 8
#define PD_PACKET_TAGS_MAX       PD_TAGS_MAX

/* Why a frame is not counted for any flow; one counter a reason. */
#define PD_PACKET_VERDICTS(X)                                                          \
    X(OK, "ok", "counted for a flow")                                                  \
    X(TRUNCATED, "truncated", "captured bytes end before the headers do")              \
    X(TOO_MANY_TAGS, "too_many_tags", "more VLAN tags than are read")                  \
    X(NOT_IP, "not_ip", "neither IPv4 nor IPv6")                                       \
    X(BAD_VERSION, "bad_version", "IP version contradicts the EtherType")              \
    X(BAD_HEADER_LEN, "bad_header_len", "IP or extension header length is impossible") \
    X(BAD_TOTAL_LEN, "bad_total_len",                                                  \
      "IP length is shorter than its headers or longer than the frame")                \
    X(TOO_MANY_HEADERS, "too_many_headers", "more IPv6 extension headers than are read")

enum pd_packet_verdict {
#define X(name, id, text) PD_PACKET_##name,
    PD_PACKET_VERDICTS(X)
#undef X
        PD_PACKET_VERDICT_COUNT
};

struct pd_packet {
    struct pd_flow_id flow;
    uint64_t mark;     /* VLAN IDs and DSCP (tags.h) */
    uint8_t tags_len;  /* VLAN tags in front of the IP header */
    uint8_t tcp_flags; /* 0 unless TCP */
    bool later_fragment;
    uint32_t ip_bytes;  /* bytes of the IP packet: without Ethernet header, tags, padding, FCS */
    uint16_t ip_offset; /* of the IP header in the frame */
    /* Of what lies behind it: the transport header, or what stands in its place. */
    uint16_t transport_offset;
    uint16_t options_offset;  /* of the first hop-by-hop options header; 0: there is none */
    uint16_t segments_offset; /* of the first segment routing header; 0: there is none */
};

/* `captured` bytes are there, `wire` were on the wire (a smaller number is read as `captured`).
 * Fills `ret_packet` only on PD_PACKET_OK. Ports are 0 in later fragments and for other protocols
 * than TCP, UDP and SCTP. */
enum pd_packet_verdict pd_packet_parse(const uint8_t *frame, size_t captured, size_t wire,
                                       struct pd_packet *ret_packet);

/* Leaves only link tags in the packet: those of this type that lie outside of all others. What is
 * inside is a tenant's, no part of the mark, and stays when tags are taken off. `packet` must come
 * from pd_packet_parse of this very frame. */
void pd_packet_select(const uint8_t *frame, uint16_t tpid, struct pd_packet *packet);

/* Writes the DSCP (0 to 63) in place: ECN is kept, the IPv4 checksum put right as in RFC 1624, so
 * that one that was wrong stays wrong. */
void pd_packet_set_dscp(uint8_t *frame, const struct pd_packet *packet, uint8_t dscp);

/* Takes the packet's VLAN tags off in place by moving the MAC addresses towards the IP header, and
 * with `clear_dscp` sets the DSCP to 0 (ECN kept, IPv4 checksum put right as in RFC 1624). Returns
 * by how many bytes the frame now begins later (4 per tag). `packet` must come from pd_packet_parse
 * of this very frame. */
size_t pd_packet_strip(uint8_t *frame, const struct pd_packet *packet, bool clear_dscp);

/* How a scheme whose mark is no stack of link tags finds it on a frame; 0: the frame has none.
 * `packet` comes from pd_packet_parse of this very frame. Called for each frame: no lock that
 * others hold long, no allocation but of what is new. */
typedef uint64_t pd_packet_mark_reader(const uint8_t *frame, size_t captured,
                                       const struct pd_packet *packet);

const char *pd_packet_verdict_id(
    enum pd_packet_verdict verdict); /* "too_many_tags": metric label */
const char *pd_packet_verdict_text(enum pd_packet_verdict verdict); /* for people */

#endif
