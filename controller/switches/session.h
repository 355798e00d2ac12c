/* SPDX-License-Identifier: Apache-2.0 */
/* One OpenFlow connection without its socket: bytes in, bytes out, time from outside. */
#ifndef PD_CONTROLLER_SWITCHES_SESSION_H
#define PD_CONTROLLER_SWITCHES_SESSION_H

#include <stdatomic.h>

#include "controller/switches/rules.h"
#include "controller/switches/switches.h"

/* hello ⇄, features → who is it?, then whenever the owner says so a check:
 *
 *     flow statistics of the tagging table → differences? → repair, barrier → flow statistics once
 * more → …
 *
 * at most PD_OF_ROUNDS times. It answers echoes and asks for one when the peer is silent. Whatever
 * does not fit ends the session: a function returns -1 and `end` names the counter of the reason.
 *
 * Internal to controller/switches/. Thread safety: one thread. */

#define PD_OF_ROUNDS 3
/* Bytes that wait for the peer to read, beyond those of a repair. */
#define PD_OF_PENDING_MAX (1 << 20)

enum pd_of_phase { PD_OF_HELLO, PD_OF_FEATURES, PD_OF_READY, PD_OF_READING, PD_OF_REPAIRING };

struct pd_of_session;

struct pd_of_events {
    /* The peer has said who it is; nonzero ends the session, which `end` then explains. */
    int (*identified)(struct pd_of_session *session, uint64_t datapath_id);
    void (*packet_in)(struct pd_of_session *session, const struct pd_switches_packet_in *packet_in);
    void (*limited)(struct pd_of_session *session); /* a packet beyond the rate was dropped */
    /* A check is over: `differences` are those of the last reading; `rules` go away after the call.
     */
    void (*checked)(struct pd_of_session *session, uint32_t changes);
};

struct pd_of_session {
    const struct pd_switches_settings *settings; /* without zeros */
    const struct pd_of_events *events;
    _Atomic uint64_t *counters; /* by enum pd_switches_counter; relaxed: they only count */
    enum pd_of_phase phase;
    enum pd_switches_counter end; /* why it ended */
    struct of_buffer in;          /* less than one message between calls */
    struct of_buffer out;         /* the owner sends it and takes away what was sent */
    size_t pending_max;
    uint32_t xid;         /* the latest one used */
    uint32_t awaited_xid; /* of the answer that the phase waits for */
    unsigned round;
    struct pd_of_rules *rules; /* during a check */
    struct pd_of_differences differences;
    char last_error[160];
    uint64_t heard_ns;    /* the last whole message */
    uint64_t deadline_ns; /* of the phase */
    bool asked;           /* an echo is on its way */
    uint64_t credit_ns;   /* packet-ins: a bucket that holds one second */
    uint64_t credited_ns;
    uint64_t limited; /* packets beyond the rate since one was handed on */
};

/* Says hello. */
void pd_switch_session_init(struct pd_of_session *session,
                            const struct pd_switches_settings *settings,
                            const struct pd_of_events *events, _Atomic uint64_t *counters,
                            uint64_t now_ns);
void pd_switch_session_done(struct pd_of_session *session);

/* All three return 0, or -1 when the session is over. */
int pd_switch_session_input(struct pd_of_session *session, const uint8_t *data, size_t bytes,
                            uint64_t now_ns);
int pd_switch_session_tick(struct pd_of_session *session, uint64_t now_ns);
/* In the phase PD_OF_READY; takes the rules. */
int pd_switch_session_check(struct pd_of_session *session, struct pd_of_rules *rules,
                            uint64_t now_ns);

/* -PD_E_FULL when too much waits already, -ENOMEM. */
int pd_switch_session_packet_out(struct pd_of_session *session, uint32_t in_port, uint32_t out_port,
                                 const uint8_t *data, size_t bytes);

static inline void pd_of_count(struct pd_of_session *session, enum pd_switches_counter counter,
                               uint64_t by)
{
    atomic_fetch_add_explicit(&session->counters[counter], by, memory_order_relaxed);
}

#endif
