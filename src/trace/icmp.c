/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded reader of ICMP errors of both families. */
#include "trace/icmp.h"

#include <string.h>

#include <netinet/in.h>

#include "base/error.h"

#define ICMP_BYTES      8
#define UNREACHABLE_4   3
#define EXCEEDED_4      11
#define UNREACHABLE_6   1
#define EXCEEDED_6      3
#define TOO_LONG        4 /* code of unreachable: would have to be fragmented */
#define EXTENSIONS_MAX  8
#define FRAGMENT_OFFSET 0x1fff

struct cursor {
    const uint8_t *at;
    size_t left;
};

static bool skip(struct cursor *cursor, size_t len)
{
    if (cursor->left < len) {
        return false;
    }
    cursor->at += len;
    cursor->left -= len;
    return true;
}

static uint16_t word(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

/* Over all of the message, a last odd byte as the first of a word. */
static bool is_sound(const struct cursor *icmp)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < icmp->left; i++) {
        sum += i & 1 ? icmp->at[i] : (uint32_t)icmp->at[i] << 8;
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum == 0xffff;
}

/* The IPv4 header; what follows is left. Its addresses go to the flow. */
static bool read_ip4(struct cursor *cursor, struct pd_flow_id *flow, uint16_t *ret_id)
{
    const uint8_t *ip = cursor->at;
    size_t bytes = cursor->left ? (ip[0] & 0x0f) * 4U : 0;

    if (cursor->left < 20 || ip[0] >> 4 != 4 || bytes < 20 || !skip(cursor, bytes) ||
        word(ip + 6) & FRAGMENT_OFFSET) {
        return false;
    }
    *ret_id = word(ip + 4);
    flow->ip_version = 4;
    flow->protocol = ip[9];
    memcpy(flow->src.bytes, ip + 12, 4);
    memcpy(flow->dst.bytes, ip + 16, 4);
    return true;
}

/* One extension header of those that a router may quote. */
static bool skip_extension(struct cursor *cursor, uint8_t *protocol)
{
    const uint8_t *at = cursor->at;

    if (cursor->left < 8) {
        return false;
    }
    if (*protocol == IPPROTO_FRAGMENT) {
        *protocol = at[0];
        return !(word(at + 2) & 0xfff8) && skip(cursor, 8);
    }
    if (*protocol != IPPROTO_HOPOPTS && *protocol != IPPROTO_ROUTING &&
        *protocol != IPPROTO_DSTOPTS) {
        return false;
    }
    *protocol = at[0];
    return skip(cursor, 8 + at[1] * 8U);
}

static bool read_ip6(struct cursor *cursor, struct pd_flow_id *flow)
{
    const uint8_t *ip = cursor->at;

    if (cursor->left < 40 || ip[0] >> 4 != 6) {
        return false;
    }
    flow->ip_version = 6;
    flow->protocol = ip[6];
    memcpy(flow->src.bytes, ip + 8, 16);
    memcpy(flow->dst.bytes, ip + 24, 16);
    (void)skip(cursor, 40);
    for (unsigned i = 0; i < EXTENSIONS_MAX && flow->protocol != IPPROTO_TCP; i++) {
        if (!skip_extension(cursor, &flow->protocol)) {
            return false;
        }
    }
    return true;
}

/* ICMP header, quoted IP header, the first eight bytes of TCP. */
static int read_message(uint8_t ip_version, struct cursor *cursor, struct pd_trace_quote *quote)
{
    uint8_t type = cursor->left ? cursor->at[0] : 0;
    bool six = ip_version == 6, found;

    quote->unreachable = type == (six ? UNREACHABLE_6 : UNREACHABLE_4);
    if (!quote->unreachable && type != (six ? EXCEEDED_6 : EXCEEDED_4)) {
        return -PD_E_SYNTAX;
    }
    if (!six && quote->unreachable && cursor->left > 1 && cursor->at[1] == TOO_LONG) {
        return -PD_E_SYNTAX; /* no probe is: this is about the flow's own data */
    }
    found = skip(cursor, ICMP_BYTES) &&
            (six ? read_ip6(cursor, &quote->flow) : read_ip4(cursor, &quote->flow, &quote->ip_id));
    if (!found || quote->flow.protocol != IPPROTO_TCP || cursor->left < 8) {
        return -PD_E_SYNTAX;
    }
    quote->flow.src_port = word(cursor->at);
    quote->flow.dst_port = word(cursor->at + 2);
    quote->cookie = (uint32_t)word(cursor->at + 4) << 16 | word(cursor->at + 6);
    return 0;
}

int pd_trace_icmp_read(uint8_t ip_version, const uint8_t *bytes, size_t len,
                       struct pd_trace_quote *ret_quote)
{
    struct cursor cursor = {bytes, len};
    struct pd_trace_quote quote = {0};

    if (ip_version == 4) {
        struct pd_flow_id outer = {0};
        uint16_t id;

        if (!read_ip4(&cursor, &outer, &id) || outer.protocol != IPPROTO_ICMP ||
            !is_sound(&cursor)) {
            return -PD_E_SYNTAX;
        }
        quote.from = outer.src;
    }
    int err = read_message(ip_version, &cursor, &quote);
    if (!err) {
        *ret_quote = quote;
    }
    return err;
}
