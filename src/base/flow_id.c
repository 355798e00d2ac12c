/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and flow IDs: text, hash, comparison, match. */
#include "base/flow_id.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

int pd_addr_parse(const char *text, struct pd_addr *ret_addr, uint8_t *ret_ip_version)
{
    struct pd_addr addr = {{0}};
    bool v6 = strchr(text, ':') != NULL;
    if (inet_pton(v6 ? AF_INET6 : AF_INET, text, addr.bytes) != 1)
        return -PD_E_VALUE;
    *ret_addr = addr;
    *ret_ip_version = v6 ? 6 : 4;
    return 0;
}

const char *pd_addr_format(const struct pd_addr *addr, uint8_t ip_version,
                           char text[PD_ADDR_TEXT_BYTES])
{
    return inet_ntop(ip_version == 6 ? AF_INET6 : AF_INET, addr->bytes, text, PD_ADDR_TEXT_BYTES);
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
    if (fields & (PD_FLOW_SRC_IP | PD_FLOW_DST_IP) && want->ip_version != id->ip_version)
        return false;
    return (!(fields & PD_FLOW_SRC_IP) || !memcmp(&want->src, &id->src, sizeof id->src)) &&
           (!(fields & PD_FLOW_DST_IP) || !memcmp(&want->dst, &id->dst, sizeof id->dst)) &&
           (!(fields & PD_FLOW_SRC_PORT) || want->src_port == id->src_port) &&
           (!(fields & PD_FLOW_DST_PORT) || want->dst_port == id->dst_port) &&
           (!(fields & PD_FLOW_PROTOCOL) || want->protocol == id->protocol);
}
