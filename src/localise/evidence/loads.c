/* SPDX-License-Identifier: Apache-2.0 */
/* How much each link carried in one period, access links included. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "localise/evidence/loads.h"

void pd_loads_done(struct pd_loads *loads)
{
    free(loads->bytes);
    *loads = (struct pd_loads){0};
}

int pd_loads_begin(struct pd_loads *loads, size_t links_len)
{
    if (links_len > loads->room) {
        double *bytes = realloc(loads->bytes, 2 * links_len * sizeof *bytes);
        if (!bytes) {
            return -ENOMEM;
        }
        loads->bytes = bytes;
        loads->room = 2 * links_len;
    }
    if (links_len) {
        memset(loads->bytes, 0, links_len * sizeof *loads->bytes);
    }
    return 0;
}

static uint64_t access_key(uint64_t direction, const struct pd_addr *addr)
{
    return direction | (pd_hash(addr, sizeof *addr) & ((UINT64_C(1) << 62) - 1));
}

int pd_loads_hops(struct pd_links *links, const struct pd_flow_id *flow,
                  const struct pd_evidence_way *way, uint32_t ret_hops[PD_HOPS_MAX],
                  size_t *ret_len)
{
    size_t len = 0;
    int err = pd_links_add(links, access_key(PD_ACCESS_UP, &flow->src), &ret_hops[len++]);
    for (uint32_t i = 1; i < way->nodes_len && !err; i++) {
        err = pd_links_add(links, pd_link_key(way->nodes[i - 1], way->nodes[i]), &ret_hops[len++]);
    }
    if (!err) {
        err = pd_links_add(links, access_key(PD_ACCESS_DOWN, &flow->dst), &ret_hops[len++]);
    }
    if (!err) {
        *ret_len = len;
    }
    return err;
}
