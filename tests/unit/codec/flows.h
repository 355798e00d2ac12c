/* SPDX-License-Identifier: Apache-2.0 */
/* A small OpenFlow switch for the tests: reads the text that a codec writes and runs packets
 * through it. */
#ifndef PD_TESTS_CODEC_FLOWS_H
#define PD_TESTS_CODEC_FLOWS_H

#include "topology/topology.h"

#define FLOW_VLANS_MAX 8

struct flow_packet {
    struct pd_addr src, dst;
    uint8_t ip_version; /* 1: ARP; 2: a tag of 0x9100 */
    uint8_t dscp;
    struct {
        uint16_t vid;
        uint8_t pcp;
    } vlans[FLOW_VLANS_MAX]; /* outermost last */
    unsigned vlans_len;
};

struct flow_table;

/* Reads table 0 of a switch; fails the test on a word that it does not know. */
struct flow_table *flow_table_read(const char *text);
void flow_table_free(struct flow_table *table);
unsigned flow_table_len(const struct flow_table *table);

enum flow_verdict { FLOW_FORWARD, FLOW_CONTROLLER, FLOW_DROP, FLOW_AGAIN };

/* The packet enters by a port. Fails the test when no flow matches or two of one priority do. */
enum flow_verdict flow_table_run(const struct flow_table *table, uint32_t in_port,
                                 struct flow_packet *packet);

#endif
