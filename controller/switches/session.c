/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of one OpenFlow connection: handshake, echoes, checks and repairs, packets in
 * and out. */
#include "controller/switches/session.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define VERSION_BITMAP 1 /* OFPHET_VERSIONBITMAP */
#define ERROR_HELLO    0 /* OFPET_HELLO_FAILED, code 0: OFPHFC_INCOMPATIBLE */
#define OXM_IN_PORT    0x80000004U

static int end(struct pd_of_session *session, enum pd_switches_counter why)
{
    session->end = why;
    return -1;
}

static int bad(struct pd_of_session *session)
{
    return end(session, PD_SWITCHES_BAD_MESSAGES);
}

static void enter(struct pd_of_session *session, enum pd_of_phase phase, uint64_t for_ms,
                  uint64_t now_ns)
{
    session->phase = phase;
    session->deadline_ns = now_ns + for_ms * PD_NS_PER_MS;
}

/* Begins a message of ours with a number of its own. */
static size_t begin(struct pd_of_session *session, enum of_type type)
{
    return of_begin(&session->out, type, ++session->xid);
}

static void say(struct pd_of_session *session, enum of_type type)
{
    of_end(&session->out, begin(session, type));
}

static void say_hello(struct pd_of_session *session)
{
    size_t start = begin(session, OF_HELLO);
    of_write_number(&session->out, VERSION_BITMAP, 2);
    of_write_number(&session->out, 8, 2);
    of_write_number(&session->out, 1U << OF_VERSION, 4);
    of_end(&session->out, start);
}

void pd_switch_session_init(struct pd_of_session *session,
                            const struct pd_switches_settings *settings,
                            const struct pd_of_events *events, _Atomic uint64_t *counters,
                            uint64_t now_ns)
{
    *session = (struct pd_of_session){
        .settings = settings,
        .events = events,
        .counters = counters,
        .pending_max = PD_OF_PENDING_MAX,
        .heard_ns = now_ns,
        .credit_ns = PD_NS_PER_S,
        .credited_ns = now_ns,
    };
    enter(session, PD_OF_HELLO, settings->handshake_ms, now_ns);
    say_hello(session);
}

void pd_switch_session_done(struct pd_of_session *session)
{
    pd_switch_rules_free(session->rules);
    session->rules = NULL;
    of_buffer_done(&session->in);
    of_buffer_done(&session->out);
}

/* ---- handshake */

/* Whether the peer has our version: its bitmap says so, or, without one, its highest version is not
 * below ours. */
static int hello_fits(struct of_reader *body, uint8_t version, bool *ret_fits)
{
    bool fits = version >= OF_VERSION;
    while (body->left) {
        uint64_t type = of_read_number(body, 2), bytes = of_read_number(body, 2);
        const uint8_t *element = bytes < 4 ? NULL : of_read(body, bytes - 4);
        if (!element) {
            return -PD_E_CORRUPT;
        }
        if (type == VERSION_BITMAP && bytes >= 8) {
            fits = of_number(element, 4) >> OF_VERSION & 1;
        }
        size_t padding = (8 - bytes % 8) % 8;
        of_read(body, padding < body->left ? padding : body->left);
    }
    *ret_fits = fits;
    return 0;
}

static int hear_hello(struct pd_of_session *session, struct of_reader *body, uint8_t version)
{
    bool fits;
    if (session->phase != PD_OF_HELLO || hello_fits(body, version, &fits)) {
        return bad(session);
    }
    if (!fits) {
        size_t start = begin(session, OF_ERROR);
        of_write_number(&session->out, ERROR_HELLO, 4);
        of_end(&session->out, start);
        return end(session, PD_SWITCHES_WRONG_VERSION);
    }
    session->phase = PD_OF_FEATURES; /* within the same deadline */
    say(session, OF_FEATURES_REQUEST);
    return 0;
}

static int hear_features(struct pd_of_session *session, struct of_reader *body)
{
    uint64_t datapath_id = of_read_number(body, 8);
    of_read(body, 4 + 1);
    uint64_t auxiliary = of_read_number(body, 1);
    of_read(body, 2 + 4 + 4);
    if (body->failed || session->phase != PD_OF_FEATURES) {
        return bad(session);
    }
    if (auxiliary) {
        return end(session, PD_SWITCHES_AUXILIARY);
    }
    session->phase = PD_OF_READY;
    return session->events->identified(session, datapath_id) ? -1 : 0;
}

/* ---- checks */

static void ask_for_flows(struct pd_of_session *session, uint64_t now_ns)
{
    pd_switch_rules_begin(session->rules);
    enter(session, PD_OF_READING, session->settings->check_ms, now_ns);
    size_t start = begin(session, OF_MULTIPART_REQUEST);
    of_write_number(&session->out, OF_MULTIPART_FLOW, 2);
    of_write(&session->out, 2 + 4);
    of_write_number(&session->out, PD_SWITCHES_TABLE, 1);
    of_write(&session->out, 3);
    of_write_number(&session->out, OF_ANY, 4);
    of_write_number(&session->out, OF_ANY, 4);
    of_write(&session->out, 4 + 8 + 8); /* any cookie: flows of others may be in the way */
    of_write_number(&session->out, UINT64_C(1) << 48 | UINT64_C(4) << 32, 8); /* any match */
    of_end(&session->out, start);
    session->awaited_xid = session->xid;
}

int pd_switch_session_check(struct pd_of_session *session, struct pd_of_rules *rules,
                            uint64_t now_ns)
{
    session->rules = rules;
    session->round = 1;
    ask_for_flows(session, now_ns);
    return session->out.error ? end(session, PD_SWITCHES_NO_ROOM) : 0;
}

static void repair(struct pd_of_session *session, uint32_t changes, uint64_t now_ns)
{
    size_t before = session->out.bytes;
    pd_switch_rules_repair(session->rules, ++session->xid, &session->out);
    session->pending_max = PD_OF_PENDING_MAX + session->out.bytes - before;
    enter(session, PD_OF_REPAIRING, session->settings->check_ms, now_ns);
    say(session, OF_BARRIER_REQUEST);
    session->awaited_xid = session->xid;
    session->round++;
    pd_of_count(session, PD_SWITCHES_REPAIRS, 1);
    pd_of_count(session, PD_SWITCHES_CHANGES, changes);
}

static void flows_read(struct pd_of_session *session, uint64_t now_ns)
{
    uint32_t changes = pd_switch_rules_count(session->rules, &session->differences);
    pd_of_count(session, PD_SWITCHES_CHECKS, 1);
    if (changes && !session->settings->dry_run && session->round < PD_OF_ROUNDS) {
        repair(session, changes, now_ns);
        return;
    }
    session->phase = PD_OF_READY;
    session->events->checked(session, changes);
    pd_switch_rules_free(session->rules);
    session->rules = NULL;
}

static int hear_flows(struct pd_of_session *session, struct of_reader *body, uint64_t now_ns)
{
    uint64_t type = of_read_number(body, 2), flags = of_read_number(body, 2);
    struct pd_of_flow flow;
    of_read(body, 4);
    if (body->failed || type != OF_MULTIPART_FLOW) {
        return bad(session);
    }
    while (body->left) {
        if (pd_switch_flow_next(body, &flow)) {
            return bad(session);
        }
        if (pd_switch_rules_see(session->rules, &flow)) {
            return end(session, PD_SWITCHES_NO_ROOM);
        }
    }
    if (!(flags & OF_MORE)) {
        flows_read(session, now_ns);
    }
    return 0;
}

/* ---- the rest */

static int hear_error(struct pd_of_session *session, struct of_reader *body)
{
    unsigned type = (unsigned)of_read_number(body, 2), code = (unsigned)of_read_number(body, 2);
    if (body->failed) {
        return bad(session);
    }
    pd_of_count(session, PD_SWITCHES_ERRORS, 1);
    if (session->phase == PD_OF_HELLO) {
        return end(session, PD_SWITCHES_WRONG_VERSION);
    }
    snprintf(session->last_error, sizeof session->last_error,
             "the switch answered with OpenFlow error type %u code %u", type, code);
    return 0;
}

static void answer_echo(struct pd_of_session *session, uint32_t xid, const struct of_reader *body)
{
    size_t start = of_begin(&session->out, OF_ECHO_REPLY, xid);
    of_write_bytes(&session->out, body->at, body->left);
    of_end(&session->out, start);
}

/* Pays for one packet from a bucket that fills with time and holds those of one second. */
static bool may_hand_on(struct pd_of_session *session, uint64_t now_ns)
{
    uint64_t price_ns = PD_NS_PER_S / session->settings->packet_ins_per_s;
    session->credit_ns += now_ns - session->credited_ns;
    session->credited_ns = now_ns;
    if (session->credit_ns > PD_NS_PER_S) {
        session->credit_ns = PD_NS_PER_S;
    }
    if (session->credit_ns < price_ns) {
        return false;
    }
    session->credit_ns -= price_ns;
    return true;
}

/* The port by which the packet came, out of the fields of the match. */
static int read_in_port(struct of_reader *body, uint32_t *ret_port)
{
    uint64_t type = of_read_number(body, 2), bytes = of_read_number(body, 2);
    struct of_reader fields = {.at = body->at, .left = bytes < 4 ? 0 : bytes - 4};
    if (type != 1 || bytes < 4 || !of_read(body, fields.left + (8 - bytes % 8) % 8)) {
        return -PD_E_CORRUPT;
    }
    while (fields.left) {
        uint64_t head = of_read_number(&fields, 4);
        const uint8_t *value = of_read(&fields, head & 0xff);
        if (!value) {
            return -PD_E_CORRUPT;
        }
        if (head == OXM_IN_PORT) {
            *ret_port = (uint32_t)of_number(value, 4);
        }
    }
    return 0;
}

static int hear_packet(struct pd_of_session *session, struct of_reader *body, uint64_t now_ns)
{
    struct pd_switches_packet_in packet_in = {.in_port = 0};
    of_read(body, 4 + 2);
    packet_in.reason = (uint8_t)of_read_number(body, 1);
    packet_in.table = (uint8_t)of_read_number(body, 1);
    of_read(body, 8);
    if (read_in_port(body, &packet_in.in_port) || !of_read(body, 2)) {
        return bad(session);
    }
    packet_in.data = body->at;
    packet_in.bytes = body->left;
    if (!may_hand_on(session, now_ns)) {
        pd_of_count(session, PD_SWITCHES_PACKET_INS_LIMITED, 1);
        session->limited++;
        session->events->limited(session);
        return 0;
    }
    packet_in.limited = session->limited;
    session->limited = 0;
    pd_of_count(session, PD_SWITCHES_PACKET_INS, 1);
    session->events->packet_in(session, &packet_in);
    return 0;
}

/* Messages of a peer that is through with the handshake. */
static int hear(struct pd_of_session *session, enum of_type type, uint32_t xid,
                struct of_reader *body, uint64_t now_ns)
{
    bool awaited = xid == session->awaited_xid;
    if (type == OF_PACKET_IN) {
        return hear_packet(session, body, now_ns);
    }
    if (type == OF_MULTIPART_REPLY && session->phase == PD_OF_READING && awaited) {
        return hear_flows(session, body, now_ns);
    }
    if (type == OF_BARRIER_REPLY && session->phase == PD_OF_REPAIRING && awaited) {
        ask_for_flows(session, now_ns);
    } else {
        pd_of_count(session, PD_SWITCHES_IGNORED, 1);
    }
    return 0;
}

static int hear_message(struct pd_of_session *session, const uint8_t *message, size_t bytes,
                        uint64_t now_ns)
{
    struct of_reader body = {.at = message + OF_HEADER_BYTES, .left = bytes - OF_HEADER_BYTES};
    unsigned version = message[0], type = message[1];
    uint32_t xid = (uint32_t)of_number(message + 4, 4);
    pd_of_count(session, PD_SWITCHES_MESSAGES, 1);
    session->heard_ns = now_ns;
    session->asked = false;
    if (type == OF_HELLO && version) {
        return hear_hello(session, &body, (uint8_t)version);
    }
    if (type == OF_ERROR) {
        return hear_error(session, &body);
    }
    if (version != OF_VERSION || type > OF_TYPE_LAST || session->phase == PD_OF_HELLO) {
        return bad(session);
    }
    if (type == OF_ECHO_REQUEST) {
        answer_echo(session, xid, &body);
    } else if (type == OF_FEATURES_REPLY) {
        return hear_features(session, &body);
    } else if (type != OF_ECHO_REPLY && session->phase != PD_OF_FEATURES) {
        return hear(session, (enum of_type)type, xid, &body, now_ns);
    }
    return 0;
}

/* ---- bytes and time */

static int check_pending(struct pd_of_session *session)
{
    if (session->in.error || session->out.error) {
        return end(session, PD_SWITCHES_NO_ROOM);
    }
    return session->out.bytes > session->pending_max ? end(session, PD_SWITCHES_SLOW_READERS) : 0;
}

/* Handles whole messages; the rest moves to the front. */
static int hear_messages(struct pd_of_session *session, uint64_t now_ns)
{
    size_t at = 0;
    int over = 0;
    while (!over && session->in.bytes - at >= OF_HEADER_BYTES) {
        size_t bytes = of_number(session->in.data + at + 2, 2);
        if (bytes < OF_HEADER_BYTES) {
            return bad(session);
        }
        if (bytes > session->in.bytes - at) {
            break;
        }
        over = hear_message(session, session->in.data + at, bytes, now_ns);
        if (!over) {
            over = check_pending(session);
        }
        at += bytes;
    }
    session->in.bytes -= at;
    if (at && session->in.bytes) {
        memmove(session->in.data, session->in.data + at, session->in.bytes);
    }
    return over;
}

int pd_switch_session_input(struct pd_of_session *session, const uint8_t *data, size_t bytes,
                            uint64_t now_ns)
{
    of_write_bytes(&session->in, data, bytes);
    int over = session->in.error ? check_pending(session) : hear_messages(session, now_ns);
    if (!over && !session->in.bytes) {
        of_buffer_done(&session->in); /* thousands of connections are silent most of the time */
    }
    return over;
}

int pd_switch_session_tick(struct pd_of_session *session, uint64_t now_ns)
{
    uint64_t silent_ns = now_ns - session->heard_ns;
    uint64_t echo_ns = session->settings->echo_ms * PD_NS_PER_MS;
    if (session->phase <= PD_OF_FEATURES) {
        return now_ns > session->deadline_ns ? end(session, PD_SWITCHES_HANDSHAKE_TIMEOUTS) : 0;
    }
    if (session->phase > PD_OF_READY && now_ns > session->deadline_ns) {
        return end(session, PD_SWITCHES_CHECK_TIMEOUTS);
    }
    if (silent_ns > 2 * echo_ns) {
        return end(session, PD_SWITCHES_ECHO_TIMEOUTS);
    }
    if (silent_ns > echo_ns && !session->asked) {
        session->asked = true;
        say(session, OF_ECHO_REQUEST);
    }
    return check_pending(session);
}

int pd_switch_session_packet_out(struct pd_of_session *session, uint32_t in_port, uint32_t out_port,
                                 const uint8_t *data, size_t bytes)
{
    if (session->out.bytes + bytes > session->pending_max) {
        return -PD_E_FULL;
    }
    size_t start = begin(session, OF_PACKET_OUT);
    of_write_number(&session->out, OF_NO_BUFFER, 4);
    of_write_number(&session->out, in_port ? in_port : OF_PORT_CONTROL, 4);
    of_write_number(&session->out, 16, 2);
    of_write(&session->out, 6);
    of_write_number(&session->out, OF_OUTPUT, 2);
    of_write_number(&session->out, 16, 2);
    of_write_number(&session->out, out_port, 4);
    of_write(&session->out, 2 + 6);
    of_write_bytes(&session->out, data, bytes);
    of_end(&session->out, start);
    return session->out.error;
}
