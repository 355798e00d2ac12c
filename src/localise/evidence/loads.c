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

int pd_loads_hops(struct pd_links *links, const struct pd_tib_record *record,
                  uint32_t ret_hops[PD_HOPS_MAX], size_t *ret_len)
{
    const struct pd_path *path = record->path;
    size_t len = 0;
    int code = pd_links_add(links, access_key(PD_ACCESS_UP, &record->flow.src), &ret_hops[len++]);
    for (unsigned i = 1; i < path->len && !code; i++) {
        code = pd_links_add(links, pd_link_key(path->switches[i - 1], path->switches[i]),
                            &ret_hops[len++]);
    }
    if (!code) {
        code = pd_links_add(links, access_key(PD_ACCESS_DOWN, &record->flow.dst), &ret_hops[len++]);
    }
    if (!code) {
        *ret_len = len;
    }
    return code;
}
