/* SPDX-License-Identifier: Apache-2.0 */
/* The table of paces, by hash of the URL. */
#include "fleet/pace.h"

#include <string.h>

#include "base/hash.h"

static uint64_t hash_of(const char *url)
{
    uint64_t hash = 1;

    for (; *url; url++) {
        hash = pd_hash_mix(hash ^ (unsigned char)*url);
    }
    return hash ? hash : 1;
}

void pd_fleet_pace_note(struct pd_pace *pace, const char *url, uint64_t first_byte_ns)
{
    uint64_t hash = hash_of(url);
    struct pd_pace_server *server = &pace->servers[hash % PD_PACE_SERVERS];
    uint64_t off;

    if (server->hash != hash) {
        *server = (struct pd_pace_server){hash, first_byte_ns, first_byte_ns / 2};
        return;
    }
    off = first_byte_ns > server->mean_ns ? first_byte_ns - server->mean_ns
                                          : server->mean_ns - first_byte_ns;
    server->deviation_ns += off / 4 - server->deviation_ns / 4;
    server->mean_ns += first_byte_ns / 8 - server->mean_ns / 8;
}

uint64_t pd_fleet_pace_patience_ns(const struct pd_pace *pace, const char *url)
{
    uint64_t hash = hash_of(url);
    const struct pd_pace_server *server = &pace->servers[hash % PD_PACE_SERVERS];
    uint64_t ns = server->hash == hash ? server->mean_ns + 4 * server->deviation_ns : 0;

    if (ns < PD_PACE_LEAST_NS) {
        return PD_PACE_LEAST_NS;
    }
    return ns < PD_PACE_MOST_NS ? ns : PD_PACE_MOST_NS;
}
