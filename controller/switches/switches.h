/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's side of the switches: an OpenFlow 1.3 endpoint that keeps the codec's rules on
 * them. */
#ifndef PD_CONTROLLER_SWITCHES_SWITCHES_H
#define PD_CONTROLLER_SWITCHES_SWITCHES_H

#include "codec/codec.h"
#include "http/credentials.h"

/* Switches connect to it. One whose datapath ID is that of a switch of the topology has its
 * tagging table read, compared with the codec's rules and repaired where it differs, then read once
 * more; the same after each reconnect. Nothing else on it is touched: no other table, no flow with
 * another cookie. A switch that the topology does not know gets nothing and is reported. Packets
 * that switches send here (a tag too many) are handed on, and packets can be sent out through a
 * switch.
 *
 *     struct pd_switches_settings settings = {.listen = "tcp:127.0.0.1:6653", .on_packet_in = …,
 * .on_unknown = …}; pd_switches_open(codec, &settings, &switches, &error);
 *     pd_switches_packet_out(switches, 5, 3, PD_SWITCHES_PORT_TABLE, frame, frame_bytes);
 *     pd_switches_close(switches);
 *
 * Thread safety: one thread of its own does all the work and makes all the callbacks; those must
 * return soon, and may call every function here but pd_switches_close. The functions may be called
 * from any thread. Several endpoints may live in a process. */

#define PD_SWITCHES_COOKIE     UINT64_C(0x0050617468546167) /* "PathTag": on every flow of ours */
#define PD_SWITCHES_TABLE      0
#define PD_SWITCHES_PORT_TABLE UINT32_C(0xfffffff9) /* through the tables, as if it had come in */
/* Bytes of a frame that is sent out: it must fit into a message. */
#define PD_SWITCHES_FRAME_MAX 65000

#define PD_SWITCHES_COUNTERS(X)                                                                    \
    X(ACCEPTED, accepted, "connections accepted")                                                  \
    X(CONNECTED, connected, "handshakes of switches of the topology")                              \
    X(UNKNOWN, unknown_switches, "connections of switches that the topology does not know")        \
    X(TLS_FAILED, tls_failed, "connections ended: no TLS, or no certificate that is trusted here") \
    X(WRONG_CERTIFICATE, wrong_certificates, "switches refused: the certificate is another's")     \
    X(REPLACED, replaced, "connections ended by a newer one of the same switch")                   \
    X(AUXILIARY, auxiliary_refused, "auxiliary connections refused")                               \
    X(CROWDED, crowded_out, "connections ended before the handshake to make room for newer ones")  \
    X(NO_ROOM, no_room, "connections refused because descriptors or memory ran out")               \
    X(PEER_ENDED, ended_by_peer, "connections ended by the peer")                                  \
    X(BAD_MESSAGES, bad_messages, "connections ended because of a malformed message")              \
    X(WRONG_VERSION, wrong_version, "connections ended because the peer has no OpenFlow 1.3")      \
    X(HANDSHAKE_TIMEOUTS, handshake_timeouts, "connections ended: no handshake in time")           \
    X(ECHO_TIMEOUTS, echo_timeouts, "connections ended: no whole message in time")                 \
    X(CHECK_TIMEOUTS, check_timeouts, "connections ended: flows or barrier not in time")           \
    X(SLOW_READERS, slow_readers, "connections ended: the peer does not read")                     \
    X(MESSAGES, messages, "messages received")                                                     \
    X(IGNORED, messages_ignored, "messages received that mean nothing here")                       \
    X(ERRORS, errors_received, "error messages received")                                          \
    X(CHECKS, checks, "tables read and compared to the end")                                       \
    X(REPAIRS, repairs, "times a table was repaired")                                              \
    X(CHANGES, flows_changed, "flows added, replaced or deleted")                                  \
    X(PACKET_INS, packet_ins, "packets received from switches and handed on")                      \
    X(PACKET_INS_LIMITED, packet_ins_limited, "packets of a switch beyond its rate, dropped")      \
    X(PACKET_OUTS, packet_outs, "packets given to switches")                                       \
    X(PACKET_OUTS_DROPPED, packet_outs_dropped,                                                    \
      "packets for switches that went away or do not read")

enum pd_switches_counter {
#define X(id, name, text) PD_SWITCHES_##id,
    PD_SWITCHES_COUNTERS(X)
#undef X
        PD_SWITCHES_COUNTER_COUNT
};

/* State of a switch: what is known about its rules. */
#define PD_SWITCH_STATES(X)                               \
    X(AWAY, "away")           /* not connected */         \
    X(WAITING, "waiting")     /* for its turn */          \
    X(CHECKING, "checking")   /* or being repaired */     \
    X(INSTALLED, "installed") /* it has what it should */ \
    X(DIFFERING, "differing") /* dry run, or the repair did not help */

enum pd_switch_state {
#define X(id, name) PD_SWITCH_##id,
    PD_SWITCH_STATES(X)
#undef X
};

/* Whether marks that hosts make themselves are stopped there (codec/edge.h). */
#define PD_SWITCH_EDGES(X) \
    X(UNKNOWN, "unknown")  \
    X(HELD, "held")        \
    X(OPEN, "open")

enum pd_switch_edge {
#define X(id, name) PD_SWITCH_EDGE_##id,
    PD_SWITCH_EDGES(X)
#undef X
};

/* One switch of the topology. The numbers are those of the latest check that came to its end, all 0
 * before. */
struct pd_switch_status {
    uint32_t id;
    enum pd_switch_state state;
    enum pd_switch_edge edge;
    uint32_t rules;              /* that it should have */
    uint32_t missing;            /* rules without a flow */
    uint32_t differing;          /* rules whose flow does something else */
    uint32_t surplus;            /* flows of ours that are no rule */
    uint32_t blocked;            /* rules in whose place a flow of somebody else's stands */
    uint64_t foreign;            /* flows of others in the tagging table */
    uint64_t connects;           /* handshakes so far */
    uint64_t packet_ins;         /* handed on so far */
    uint64_t packet_ins_limited; /* received beyond the rate so far: not handed on */
    uint64_t changed_us;  /* wall time at which `state` was entered; 0: as it was from the start */
    char last_error[160]; /* "" when there was none since the latest handshake */
};

struct pd_switches_packet_in {
    uint32_t switch_id;
    uint32_t in_port; /* 0 when the switch did not say */
    uint8_t reason;   /* OFPR_…: 0 no match, 1 a flow said so */
    uint8_t table;
    const uint8_t *data; /* the frame, valid during the callback */
    size_t bytes;
    uint64_t limited; /* packets of this switch beyond its rate since the one before */
};

/* 0 in a number means the default. A callback may be NULL. */
struct pd_switches_settings {
    /* "tcp:127.0.0.1:6653", "tcp:[::1]:6653", "unix:/PATH"; "tls:0.0.0.0:6653": beyond loopback;
     * several with commas between them */
    const char *listen;
    struct pd_credentials *credentials; /* for TLS; they outlive the endpoint; NULL: none */
    enum pd_depth depth;
    bool dry_run;          /* compare and say what would change, but change nothing */
    uint64_t handshake_ms; /* to hello and features; 5000 */
    /* of silence before the peer is asked, and again before it is given up; 5000 */
    uint64_t echo_ms;
    uint64_t check_ms;         /* of one table or one repair; 30000 */
    uint32_t strangers_max;    /* connections before their handshake; 1024 */
    uint32_t checks_max;       /* at the same time; 32 */
    uint32_t packet_ins_per_s; /* handed on for each switch; 100 */
    void *context;             /* of the callbacks */
    void (*on_packet_in)(void *context, const struct pd_switches_packet_in *packet_in);
    /* A switch that the topology does not know; `peer` is its address. At most once a minute for
     * each of the 256 latest. */
    void (*on_unknown)(void *context, uint64_t datapath_id, const char *peer);
    /* Who says that it is this switch, and has another's certificate. As often. */
    void (*on_refused)(void *context, uint32_t switch_id, const char *peer);
    void (*on_state)(void *context, const struct pd_switch_status *status); /* it has changed */
};

struct pd_switches;

/* Is it a list of addresses to listen at? *ret_tls: one of them needs credentials. -PD_E_VALUE. */
int pd_switch_endpoint_check(const char *listen, bool *ret_tls, struct pd_error *error);

/* Listens and starts the thread. The codec outlives it. -PD_E_VALUE, -ENOMEM or -errno. */
int pd_switches_open(const struct pd_codec *codec, const struct pd_switches_settings *settings,
                     struct pd_switches **ret_switches, struct pd_error *error);
void pd_switches_close(struct pd_switches *switches); /* NULL is fine */

const char *pd_switches_address(const struct pd_switches *switches); /* port 0 resolved */
uint64_t pd_switches_counter(const struct pd_switches *switches, enum pd_switches_counter counter);
const char *pd_switches_counter_name(enum pd_switches_counter counter);
const char *pd_switches_counter_text(enum pd_switches_counter counter);
const char *pd_switch_state_name(enum pd_switch_state state);
const char *pd_switch_edge_name(enum pd_switch_edge edge);

/* `index` is the switch's in the topology: 0 … switches_len - 1. */
void pd_switches_status(struct pd_switches *switches, uint32_t index,
                        struct pd_switch_status *ret_status);

/* What the latest check would change (dry run) or could not: a line for each flow, "add FLOW",
 * "replace FLOW", "delete FLOW", "blocked FLOW"; "" when nothing. The caller frees. -PD_E_NOT_FOUND
 * when the topology has no such switch or it was not checked since it connected; -ENOMEM. */
int pd_switches_changes(struct pd_switches *switches, uint32_t switch_id, char **ret_text);

/* Reads the table of a connected switch again, soon. -PD_E_NOT_FOUND, -PD_E_FULL, -ENOMEM. */
int pd_switches_check(struct pd_switches *switches, uint32_t switch_id);

/* Sends a frame through a switch: out of a port, or PD_SWITCHES_PORT_TABLE for the way that its
 * rules give it; `in_port` is where it seems to come from. 0 means that it was given to the thread.
 * -PD_E_NOT_FOUND when the switch is not connected, -PD_E_TOO_LARGE, -PD_E_FULL, -ENOMEM. */
int pd_switches_packet_out(struct pd_switches *switches, uint32_t switch_id, uint32_t in_port,
                           uint32_t out_port, const uint8_t *data, size_t bytes);

#endif
