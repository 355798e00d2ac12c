/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and flow IDs: text, hash, comparison, match. */
#include "base/flow_id.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

int pd_addr_parse(const char *text, struct pd_addr *ret_addr, uint8_t *ret_ip_version)
{
    struct pd_addr addr = {{0}};
    bool v6 = strchr(text, ':') != NULL;
    if (inet_pton(v6 ? AF_INET6 : AF_INET, text, addr.bytes) != 1) {
        return -PD_E_VALUE;
    }
    *ret_addr = addr;
    *ret_ip_version = v6 ? 6 : 4;
    return 0;
}

const char *pd_addr_format(const struct pd_addr *addr, uint8_t ip_version,
                           char text[PD_ADDR_TEXT_BYTES])
{
    return inet_ntop(ip_version == 6 ? AF_INET6 : AF_INET, addr->bytes, text, PD_ADDR_TEXT_BYTES);
}

const char *pd_end_format(const struct pd_addr *addr, uint8_t ip_version, uint16_t port,
                          char text[PD_END_TEXT_BYTES])
{
    char addr_text[PD_ADDR_TEXT_BYTES];

    snprintf(text, PD_END_TEXT_BYTES, ip_version == 6 ? "[%s]:%u" : "%s:%u",
             pd_addr_format(addr, ip_version, addr_text), port);
    return text;
}

const char *pd_ends_format(const struct pd_flow_id *flow, char text[PD_ENDS_TEXT_BYTES])
{
    char src[PD_END_TEXT_BYTES], dst[PD_END_TEXT_BYTES];

    snprintf(text, PD_ENDS_TEXT_BYTES, "%s > %s",
             pd_end_format(&flow->src, flow->ip_version, flow->src_port, src),
             pd_end_format(&flow->dst, flow->ip_version, flow->dst_port, dst));
    return text;
}

static bool has_host_bits(const struct pd_prefix *prefix)
{
    for (unsigned bit = prefix->bits; bit < 128; bit++) {
        if (prefix->addr.bytes[bit / 8] & 0x80 >> bit % 8) {
            return true;
        }
    }
    return false;
}

int pd_prefix_parse(const char *text, struct pd_prefix *ret_prefix)
{
    struct pd_prefix prefix;
    char addr[PD_ADDR_TEXT_BYTES];
    const char *slash = strchr(text, '/');
    if (!slash || (size_t)(slash - text) >= sizeof addr) {
        return -PD_E_VALUE;
    }
    memcpy(addr, text, (size_t)(slash - text));
    addr[slash - text] = 0;
    size_t digits = strspn(slash + 1, "0123456789");
    if (!digits || digits > 3 || slash[1 + digits] ||
        pd_addr_parse(addr, &prefix.addr, &prefix.ip_version)) {
        return -PD_E_VALUE;
    }
    unsigned long bits = strtoul(slash + 1, NULL, 10);
    if (bits > (prefix.ip_version == 4 ? 32 : 128)) {
        return -PD_E_VALUE;
    }
    prefix.bits = (uint8_t)bits;
    if (has_host_bits(&prefix)) {
        return -PD_E_VALUE;
    }
    *ret_prefix = prefix;
    return 0;
}

bool pd_prefix_within(const struct pd_prefix *outer, const struct pd_prefix *inner)
{
    unsigned bytes = outer->bits / 8, rest = outer->bits % 8;
    if (outer->ip_version != inner->ip_version || outer->bits > inner->bits ||
        memcmp(&outer->addr, &inner->addr, bytes) != 0) {
        return false;
    }
    return !rest || (outer->addr.bytes[bytes] ^ inner->addr.bytes[bytes]) >> (8 - rest) == 0;
}

bool pd_flow_id_equal(const struct pd_flow_id *a, const struct pd_flow_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

uint64_t pd_flow_id_hash(const struct pd_flow_id *id)
{
    return pd_hash(id, sizeof *id);
}

bool pd_flow_matches(const struct pd_flow_match *match, const struct pd_flow_id *id)
{
    const struct pd_flow_id *want = &match->id;
    unsigned fields = match->fields;
    if (fields & (PD_FLOW_SRC_IP | PD_FLOW_DST_IP) && want->ip_version != id->ip_version) {
        return false;
    }
    return (!(fields & PD_FLOW_SRC_IP) || !memcmp(&want->src, &id->src, sizeof id->src)) &&
           (!(fields & PD_FLOW_DST_IP) || !memcmp(&want->dst, &id->dst, sizeof id->dst)) &&
           (!(fields & PD_FLOW_SRC_PORT) || want->src_port == id->src_port) &&
           (!(fields & PD_FLOW_DST_PORT) || want->dst_port == id->dst_port) &&
           (!(fields & PD_FLOW_PROTOCOL) || want->protocol == id->protocol);
}
