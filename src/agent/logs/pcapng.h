/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a capture file in the format pcapng, each packet with a comment. */
#ifndef PD_AGENT_LOGS_PCAPNG_H
#define PD_AGENT_LOGS_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

/* draft-ietf-opsawg-pcapng: a section header, one interface (Ethernet, times in nanoseconds), then
 * an enhanced packet block for each packet. In this machine's byte order, which the section header
 * tells. Pure: works on the caller's memory. */

#define PD_PCAPNG_HEAD_BYTES    (28 + 32)
#define PD_PCAPNG_COMMENT_BYTES 1440 /* most of a comment, with the final NUL */
/* Most that a packet with so many captured bytes takes. */
#define PD_PCAPNG_PACKET_BYTES(captured) \
    (32 + (size_t)(captured) + 3 + 8 + PD_PCAPNG_COMMENT_BYTES + 4)

/* Both return the number of bytes written. */
size_t pd_log_pcapng_head(uint8_t out[PD_PCAPNG_HEAD_BYTES], uint32_t snap_bytes);
/* `time_ns` is since the epoch; `comment` is cut where it is too long. */
size_t pd_log_pcapng_packet(uint8_t *out, uint64_t time_ns, const uint8_t *frame, uint32_t captured,
                            uint32_t wire, const char *comment);

#endif
