/* SPDX-License-Identifier: Apache-2.0 */
/* Flow IDs (5-tuples, IPv4 and IPv6), addresses and matches with wildcards: the key that every
 * stage shares. */
#ifndef PD_BASE_FLOW_ID_H
#define PD_BASE_FLOW_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address of either family in network byte order; IPv4 in the first four bytes, the rest zero.
 * The family is told beside it (ip_version), since ::ffff:a.b.c.d on the wire is not IPv4. */
struct pd_addr {
    uint8_t bytes[16];
};

/* ⟨srcIP, dstIP, srcPort, dstPort, protocol⟩. No padding that is not zeroed: compared and hashed as
 * bytes. */
struct pd_flow_id {
    struct pd_addr src;
    struct pd_addr dst;
    /* host byte order; 0 where the protocol has no ports, and in later fragments */
    uint16_t src_port;
    uint16_t dst_port;
    uint8_t protocol;   /* of the last header that the parser reached, IANA number */
    uint8_t ip_version; /* 4 or 6 */
    uint8_t zero[2];
};
_Static_assert(sizeof(struct pd_flow_id) == 40, "flow IDs are compared and stored as 40 bytes");

enum pd_flow_field {
    PD_FLOW_SRC_IP = 1 << 0,
    PD_FLOW_DST_IP = 1 << 1,
    PD_FLOW_SRC_PORT = 1 << 2,
    PD_FLOW_DST_PORT = 1 << 3,
    PD_FLOW_PROTOCOL = 1 << 4,
    PD_FLOW_ALL = (1 << 5) - 1,
};

/* A flow ID with wildcards: only the fields in `fields` are compared. A given address also fixes
 * its family. */
struct pd_flow_match {
    struct pd_flow_id id; /* ip_version as of the addresses given, 0 when none is */
    unsigned fields;      /* of enum pd_flow_field; 0 matches every flow */
};

#define PD_ADDR_TEXT_BYTES 46 /* longest text of an address, with the final NUL */

/* Reads "10.1.1.2" or "fd00::2". Returns 0 or -PD_E_VALUE. */
int pd_addr_parse(const char *text, struct pd_addr *ret_addr, uint8_t *ret_ip_version);

/* Writes the canonical text (RFC 5952 for IPv6) and returns `text`. */
const char *pd_addr_format(const struct pd_addr *addr, uint8_t ip_version,
                           char text[PD_ADDR_TEXT_BYTES]);

#define PD_END_TEXT_BYTES (PD_ADDR_TEXT_BYTES + 8) /* brackets, colon and port */

/* Writes "10.1.1.2:80" or "[fd00::2]:80" (RFC 5952, section 6) and returns `text`. */
const char *pd_end_format(const struct pd_addr *addr, uint8_t ip_version, uint16_t port,
                          char text[PD_END_TEXT_BYTES]);

/* 10.1.0.0/16: the addresses of one family that begin with the same bits. */
struct pd_prefix {
    struct pd_addr addr; /* bits behind `bits` are zero */
    uint8_t ip_version;
    uint8_t bits;
};

/* Reads "10.1.0.0/16" or "fd00::/8"; bits behind the prefix have to be 0. Returns 0 or -PD_E_VALUE.
 */
int pd_prefix_parse(const char *text, struct pd_prefix *ret_prefix);

/* Whether all of `inner` lies in `outer`. */
bool pd_prefix_within(const struct pd_prefix *outer, const struct pd_prefix *inner);

/* Writes both ends, "10.1.1.2:1000 > 10.2.1.2:80", and returns `text`. */
#define PD_ENDS_TEXT_BYTES (2 * PD_END_TEXT_BYTES + 3)
const char *pd_ends_format(const struct pd_flow_id *flow, char text[PD_ENDS_TEXT_BYTES]);

bool pd_flow_id_equal(const struct pd_flow_id *a, const struct pd_flow_id *b);

/* 64-bit hash, the same in every process and release (stored in files). */
uint64_t pd_flow_id_hash(const struct pd_flow_id *id);

bool pd_flow_matches(const struct pd_flow_match *match, const struct pd_flow_id *id);

#endif
