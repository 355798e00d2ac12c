/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the peer where DPDK is not installed. */
#include "peer.h"

#include <stdio.h>

const char *peer_name(void)
{
    fputs("bench_trajectory: built without libdpdk (package libdpdk-dev): no peer\n", stderr);
    return NULL;
}

void peer_open(uint32_t live)
{
    (void)live;
}

void peer_update(const struct pd_packet *packets, unsigned n, uint64_t now_ns)
{
    (void)packets;
    (void)n;
    (void)now_ns;
}

void peer_close(void)
{
}
