/* SPDX-License-Identifier: Apache-2.0 */
/* What telemetry asks of a packet beside its flow: packet ID, hop number and the digest's tag. */
#ifndef PD_PACKET_SAMPLE_H
#define PD_PACKET_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "packet/packet.h"

/* The packet ID (paper 002, section 4.1) is the same at every switch and at the receiver: it is
 * made of fields alone that neither routers nor offloads change, so not of TTL, ECN, lengths or
 * checksums. With Jenkins' lookup3 over 32-bit words (lookup3.h):
 *
 *     J(seed; source words, destination words, protocol << 16 | IPv4 ID (IPv6: 0),
 *       flags and offset & 0x3fff (IPv6: 0), and unless it is a fragment
 *       TCP: ports, sequence, acknowledgement; UDP: ports, the first 8 bytes behind its header;
 *       others: 8 bytes behind the IP headers)
 *
 * Ports are source << 16 | destination, 8 bytes are two big-endian words, missing bytes are 0.
 *
 * All functions take a frame and what pd_packet_parse read from it. Thread safety: pure. Compiled
 * into Open vSwitch as well. */

uint32_t pd_packet_id(const uint8_t *frame, size_t captured, const struct pd_packet *packet,
                      uint32_t seed);

/* TTL or hop limit. */
uint8_t pd_packet_ttl(const uint8_t *frame, const struct pd_packet *packet);

/* How many routers have lowered a TTL that began at 64, 128 or 255. A switch that gets the packet
 * is hop number pd_packet_hops() + 1; at the receiver it is the number of hops. */
unsigned pd_packet_hops(uint8_t ttl);

/* How many tags of TPID 0x88a8 there are, and the 16 bits of the innermost one's TCI (0: none). */
unsigned pd_packet_service_tags(const uint8_t *frame, const struct pd_packet *packet,
                                uint16_t *ret_tci);

#endif
