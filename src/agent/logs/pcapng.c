/* SPDX-License-Identifier: Apache-2.0 */
/* Writes blocks of pcapng. */
#include "agent/logs/pcapng.h"

#include <string.h>

#define SECTION_HEADER  0x0a0d0d0aU
#define BYTE_ORDER_WORD 0x1a2b3c4dU
#define INTERFACE       1U
#define ENHANCED_PACKET 6U
#define LINK_ETHERNET   1U
#define OPTION_COMMENT  1U
#define OPTION_TSRESOL  9U
#define NANOSECONDS     9U

static uint8_t *put16(uint8_t *out, unsigned value)
{
    const uint16_t word = (uint16_t)value;

    memcpy(out, &word, sizeof word);
    return out + sizeof word;
}

static uint8_t *put32(uint8_t *out, uint32_t value)
{
    memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

/* Followed by zeros up to a multiple of four bytes. */
static uint8_t *put_bytes(uint8_t *out, const void *bytes, size_t len)
{
    const size_t padding = -len & 3;

    memcpy(out, bytes, len);
    memset(out + len, 0, padding);
    return out + len + padding;
}

static uint8_t *put_option(uint8_t *out, unsigned code, const void *bytes, size_t len)
{
    out = put16(out, code);
    out = put16(out, (unsigned)len);
    return put_bytes(out, bytes, len);
}

/* A block's length stands behind its type and at its end. */
static size_t finish(uint8_t *block, uint8_t *end)
{
    const uint32_t bytes = (uint32_t)(end - block) + 4;

    put32(block + 4, bytes);
    put32(end, bytes);
    return bytes;
}

static size_t put_section(uint8_t *out)
{
    uint8_t *at = put32(out, SECTION_HEADER) + 4;

    at = put32(at, BYTE_ORDER_WORD);
    at = put16(at, 1); /* version 1.0 */
    at = put16(at, 0);
    at = put32(at, UINT32_MAX); /* its length is not told: 64 bits of ones */
    at = put32(at, UINT32_MAX);
    return finish(out, at);
}

static size_t put_interface(uint8_t *out, uint32_t snap_bytes)
{
    const uint8_t resolution = NANOSECONDS;
    uint8_t *at = put32(out, INTERFACE) + 4;

    at = put16(at, LINK_ETHERNET);
    at = put16(at, 0);
    at = put32(at, snap_bytes);
    at = put_option(at, OPTION_TSRESOL, &resolution, sizeof resolution);
    at = put32(at, 0); /* end of options */
    return finish(out, at);
}

size_t pd_log_pcapng_head(uint8_t out[PD_PCAPNG_HEAD_BYTES], uint32_t snap_bytes)
{
    const size_t section = put_section(out);

    return section + put_interface(out + section, snap_bytes);
}

size_t pd_log_pcapng_packet(uint8_t *out, uint64_t time_ns, const uint8_t *frame, uint32_t captured,
                            uint32_t wire, const char *comment)
{
    uint8_t *at = put32(out, ENHANCED_PACKET) + 4;

    at = put32(at, 0); /* the interface */
    at = put32(at, (uint32_t)(time_ns >> 32));
    at = put32(at, (uint32_t)time_ns);
    at = put32(at, captured);
    at = put32(at, wire);
    at = put_bytes(at, frame, captured);
    at = put_option(at, OPTION_COMMENT, comment, strnlen(comment, PD_PCAPNG_COMMENT_BYTES - 1));
    at = put32(at, 0);
    return finish(out, at);
}
