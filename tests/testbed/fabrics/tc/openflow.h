/* SPDX-License-Identifier: Apache-2.0 */
/* A switch's side of OpenFlow 1.3: the controller tells it its rows, and gets its packets. */
#ifndef TESTBED_FABRICS_TC_OPENFLOW_H
#define TESTBED_FABRICS_TC_OPENFLOW_H

#include "controller/switches/wire.h"
#include "switches.h"

/* What pathdump-controller uses of OpenFlow, and no more: hello, features, echoes, flows of the
 * tagging table added and deleted by match, their statistics, barriers, packets in and out. A flow
 * that the program in the kernel cannot execute is refused with an error message. Flows become
 * entries of the kernel's tables at the next barrier or question, and stay when the controller goes
 * away; the switch then tries again until it is back.
 *
 * One thread. */

struct tc_flow;

struct tc_session {
    struct tc_switch *sw;
    const char *controller; /* path of its socket */
    int fd;                 /* -1: away */
    uint64_t retry_ns;      /* monotonic */
    struct of_buffer in, out;
    struct tc_flow *flows; /* by pd_switch_flow_compare */
    size_t flows_len, flows_room;
    uint16_t tpid; /* of the latest row that pushes */
    bool changed;  /* the kernel has not got all of them yet */
    uint64_t packet_ins, packet_ins_lost;
};

void tc_session_init(struct tc_session *session, struct tc_switch *sw, const char *controller);

/* Connects when it is time to. */
void tc_session_tick(struct tc_session *session, uint64_t now_ns);
short tc_session_events(const struct tc_session *session); /* of poll */
void tc_session_ready(struct tc_session *session, short events, uint64_t now_ns);

/* A packet for the controller. It is lost, and counted, where that is away or does not read. */
void tc_session_punt(struct tc_session *session, const struct punt *punt);

#endif
