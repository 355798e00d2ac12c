/* SPDX-License-Identifier: Apache-2.0 */
/* DPDK plug-in of tests/bench/ovs_overhead: makes many flows of the few frames that net_pcap
 * receives over and over.
 *
 * net_pcap holds each frame of its capture in a buffer of its own, so it cannot have a million of
 * them, and with some thousand it measures its own cache misses. This callback behind its receive
 * burst writes a new pair of UDP ports into each packet instead: PD_BENCH_FLOWS flows in turn. The
 * checksum of UDP is 0, so nothing else changes.
 *
 * OVS loads it with -d; a thread waits for the port, since there is no device yet when a plug-in is
 * loaded. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

enum { MACS = 12, TAG = 4, IPV4 = 20 };

static uint32_t flows, next_flow;

static uint16_t renumber(uint16_t port, uint16_t queue, struct rte_mbuf *packets[], uint16_t n,
                         uint16_t max, void *tags)
{
    (void)port, (void)queue, (void)max;
    for (uint16_t i = 0; i < n; i++) {
        uint8_t *udp =
            rte_pktmbuf_mtod(packets[i], uint8_t *) + MACS + (uintptr_t)tags * TAG + 2 + IPV4;
        memcpy(udp, &next_flow, sizeof next_flow);
        next_flow = next_flow + 1 < flows ? next_flow + 1 : 0;
    }
    return n;
}

static void *wait_for_port(void *tags)
{
    for (;; usleep(10000)) {
        uint16_t port;
        RTE_ETH_FOREACH_DEV(port)
        {
            struct rte_eth_dev_info info;
            struct rte_eth_rxq_info queue;
            if (rte_eth_dev_info_get(port, &info) == 0 &&
                strcmp(info.driver_name, "net_pcap") == 0 && info.nb_rx_queues > 0 &&
                rte_eth_rx_queue_info_get(port, 0, &queue) != -EINVAL &&
                rte_eth_add_rx_callback(port, 0, renumber, tags)) {
                return NULL;
            }
        }
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("PD_BENCH_FLOWS"), *tags = getenv("PD_BENCH_TAGS");
    pthread_t thread;
    flows = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : 1;
    pthread_create(&thread, NULL, wait_for_port,
                   (void *)(uintptr_t)(tags ? strtoul(tags, NULL, 10) : 0));
}
