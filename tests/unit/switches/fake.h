/* SPDX-License-Identifier: Apache-2.0 */
/* A scripted switch: answers as OpenFlow 1.3 says, keeps a flow table, and misbehaves where a test
 * wants it to. */
#ifndef PD_TESTS_UNIT_SWITCHES_FAKE_H
#define PD_TESTS_UNIT_SWITCHES_FAKE_H

#include "controller/switches/wire.h"

struct fake_flow {
    uint64_t cookie;
    uint8_t table;
    uint16_t priority, idle_timeout;
    uint16_t match_bytes, instructions_bytes; /* match: of the fields alone */
    uint8_t match[256], instructions[256];
};

struct fake {
    uint64_t datapath_id;
    uint8_t version, auxiliary; /* of the hello, without a bitmap; of the features reply */
    struct of_buffer in, out;   /* bytes from the controller; bytes for it */
    struct fake_flow *flows;
    size_t flows_len;
    unsigned flows_per_part; /* of a statistics reply; 0: 2 */
    bool refuses_changes;    /* answers flow modifications with an error */
    bool never_ends;         /* each part of a reply promises another one; there is none */
    bool mute;               /* answers nothing but hello, features and echo */
    bool mixes; /* answers with fields and instructions in another order, with full masks */
    unsigned additions, deletions, echoes, packet_outs, requests; /* heard */
    uint8_t packet_out[2048];                                     /* the latest, as it came */
    size_t packet_out_bytes;
};

void fake_init(struct fake *fake, uint64_t datapath_id); /* its hello is in `out` */
void fake_done(struct fake *fake);
/* Bytes from the controller; the answers are added to `out`. */
void fake_hear(struct fake *fake, const uint8_t *data, size_t bytes);
void fake_packet_in(struct fake *fake, uint32_t in_port, const uint8_t *frame, size_t bytes);

#endif
