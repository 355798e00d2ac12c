/* SPDX-License-Identifier: Apache-2.0 */
/* A switch's connection to the controller: its messages, and the flows that they tell. */
#include "openflow.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "controller/switches/flow.h"
#include "flow_row.h"

#define RETRY_NS        (200 * PD_NS_PER_MS)
#define PENDING_MAX     (1 << 20) /* bytes for a controller that does not read */
#define FLOWS_MAX       4096
#define STATS_BYTES_MAX 32000
#define VERSION_BITMAP  1

/* Types and codes of errors: OFPET_…. */
enum { BAD_REQUEST = 1, BAD_ACTION = 2, BAD_MATCH = 4, FLOW_MOD_FAILED = 5 };
enum { BAD_TYPE = 1, BAD_MULTIPART = 2, TABLE_FULL = 1, BAD_COMMAND = 6 };

struct tc_flow {
    struct pd_of_flow of;
    uint8_t *memory; /* of its match and instructions */
    struct pd_codec_row row;
};

static void leave(struct tc_session *session, uint64_t now_ns)
{
    close(session->fd);
    session->fd = -1;
    session->retry_ns = now_ns + RETRY_NS;
    of_buffer_done(&session->in);
    of_buffer_done(&session->out);
}

/* ---- messages out --------------------------------------------------------------------------- */

static void say_error(struct tc_session *session, uint32_t xid, unsigned type, unsigned code)
{
    const size_t start = of_begin(&session->out, OF_ERROR, xid);

    of_write_number(&session->out, type, 2);
    of_write_number(&session->out, code, 2);
    of_end(&session->out, start);
}

static void say_hello(struct tc_session *session)
{
    const size_t start = of_begin(&session->out, OF_HELLO, 0);

    of_write_number(&session->out, VERSION_BITMAP, 2);
    of_write_number(&session->out, 8, 2);
    of_write_number(&session->out, 1U << OF_VERSION, 4);
    of_end(&session->out, start);
}

static void say_features(struct tc_session *session, uint32_t xid)
{
    const size_t start = of_begin(&session->out, OF_FEATURES_REPLY, xid);

    of_write_number(&session->out, session->sw->id, 8);
    of_write(&session->out, 4);
    of_write_number(&session->out, 2, 1); /* tables: tagging, and the forwarding behind it */
    of_write(&session->out, 1 + 2 + 4 + 4);
    of_end(&session->out, start);
}

static size_t begin_stats(struct tc_session *session, uint32_t xid)
{
    const size_t start = of_begin(&session->out, OF_MULTIPART_REPLY, xid);

    of_write_number(&session->out, OF_MULTIPART_FLOW, 2);
    of_write(&session->out, 2 + 4);
    return start;
}

static void say_flow(struct of_buffer *out, const struct pd_of_flow *flow)
{
    const size_t start = out->bytes;

    of_write(out, 2);
    of_write_number(out, flow->table, 1);
    of_write(out, 1 + 4 + 4);
    of_write_number(out, flow->priority, 2);
    of_write(out, 2 + 2 + 2 + 4);
    of_write_number(out, flow->cookie, 8);
    of_write(out, 8 + 8);
    of_write_number(out, 1, 2);
    of_write_number(out, 4U + flow->match_bytes, 2);
    of_write_bytes(out, flow->match, flow->match_bytes);
    of_pad8(out, start);
    of_write_bytes(out, flow->instructions, flow->instructions_bytes);
    if (!out->error) {
        out->data[start] = (uint8_t)((out->bytes - start) >> 8);
        out->data[start + 1] = (uint8_t)(out->bytes - start);
    }
}

static void say_flows(struct tc_session *session, uint32_t xid)
{
    size_t start = begin_stats(session, xid);

    for (size_t i = 0; i < session->flows_len && !session->out.error; i++) {
        if (session->out.bytes - start > STATS_BYTES_MAX) {
            session->out.data[start + OF_HEADER_BYTES + 3] = OF_MORE;
            of_end(&session->out, start);
            start = begin_stats(session, xid);
        }
        say_flow(&session->out, &session->flows[i].of);
    }
    of_end(&session->out, start);
}

void tc_session_punt(struct tc_session *session, const struct punt *punt)
{
    const size_t bytes =
        punt->data_bytes < sizeof(punt->data) ? punt->data_bytes : sizeof(punt->data);
    size_t start;

    if (session->fd < 0 || session->out.bytes + bytes > PENDING_MAX) {
        session->packet_ins_lost++;
        return;
    }
    start = of_begin(&session->out, OF_PACKET_IN, 0);
    of_write_number(&session->out, OF_NO_BUFFER, 4);
    of_write_number(&session->out, punt->frame_bytes, 2);
    of_write_number(&session->out, punt->by_row ? 1 : 0, 1);
    of_write(&session->out, 1 + 8);
    of_write_number(&session->out, 1, 2);
    of_write_number(&session->out, 12, 2);
    of_write_number(&session->out, OF_OXM_BASIC << 16 | OF_IN_PORT << 9 | 4, 4);
    of_write_number(&session->out, punt->in_port, 4);
    of_write(&session->out, 4 + 2);
    of_write_bytes(&session->out, punt->data, bytes);
    of_end(&session->out, start);
    session->packet_ins++;
}

/* ---- flows ---------------------------------------------------------------------------------- */

static size_t find_flow(const struct tc_session *session, const struct pd_of_flow *wanted,
                        bool *ret_found)
{
    size_t at = 0;
    int order = -1;

    while (at < session->flows_len &&
           (order = pd_switch_flow_compare(&session->flows[at].of, wanted)) < 0) {
        at++;
    }
    *ret_found = at < session->flows_len && !order;
    return at;
}

static void drop_flow(struct tc_session *session, size_t at)
{
    free(session->flows[at].memory);
    session->flows_len--;
    memmove(&session->flows[at], &session->flows[at + 1],
            (session->flows_len - at) * sizeof(*session->flows));
}

static bool make_room(struct tc_session *session)
{
    const size_t room = session->flows_room ? 2 * session->flows_room : 64;
    struct tc_flow *grown;

    if (session->flows_len < session->flows_room) {
        return true;
    }
    grown = room <= FLOWS_MAX ? reallocarray(session->flows, room, sizeof(*grown)) : NULL;
    if (grown) {
        session->flows = grown;
        session->flows_room = room;
    }
    return grown;
}

/* Its own copy of what the message holds. */
static void add_flow(struct tc_session *session, uint32_t xid, const struct pd_of_flow *flow)
{
    struct tc_flow entry = {.of = *flow};
    bool found;
    size_t at = find_flow(session, flow, &found);

    if (!tc_flow_row(flow, &entry.row, &session->tpid)) {
        say_error(session, xid, BAD_ACTION, 0);
        return;
    }
    if (found) {
        drop_flow(session, at);
    }
    entry.memory = malloc(flow->match_bytes + flow->instructions_bytes + 1U);
    if (!entry.memory || !make_room(session)) {
        free(entry.memory);
        say_error(session, xid, FLOW_MOD_FAILED, TABLE_FULL);
        return;
    }
    entry.of.match = entry.memory;
    entry.of.instructions = entry.memory + flow->match_bytes;
    memcpy(entry.of.match, flow->match, flow->match_bytes);
    memcpy(entry.of.instructions, flow->instructions, flow->instructions_bytes);
    memmove(&session->flows[at + 1], &session->flows[at],
            (session->flows_len++ - at) * sizeof(entry));
    session->flows[at] = entry;
    session->changed = true;
}

static void delete_flow(struct tc_session *session, const struct pd_of_flow *flow, uint64_t mask)
{
    bool found;
    const size_t at = find_flow(session, flow, &found);

    if (found && !((session->flows[at].of.cookie ^ flow->cookie) & mask)) {
        drop_flow(session, at);
        session->changed = true;
    }
}

static void hear_flow(struct tc_session *session, uint32_t xid, struct of_reader *body)
{
    struct pd_of_flow flow = {.cookie = of_read_number(body, 8)};
    const uint64_t mask = of_read_number(body, 8);
    uint64_t command, match_bytes;

    flow.table = (uint8_t)of_read_number(body, 1);
    command = of_read_number(body, 1);
    flow.timed = of_read_number(body, 4);
    flow.priority = (uint16_t)of_read_number(body, 2);
    of_read(body, 4 + 4 + 4 + 2 + 2 + 2);
    match_bytes = of_read_number(body, 2);
    flow.match = (uint8_t *)(uintptr_t)of_read(body, match_bytes < 4 ? 0 : match_bytes - 4);
    flow.match_bytes = (uint16_t)(match_bytes < 4 ? 0 : match_bytes - 4);
    of_read(body, (8 - match_bytes % 8) % 8);
    flow.instructions = (uint8_t *)(uintptr_t)body->at;
    flow.instructions_bytes = (uint16_t)body->left;
    if (body->failed || flow.table || pd_switch_flow_simplify(&flow)) {
        say_error(session, xid, BAD_MATCH, 0);
    } else if (command == OF_ADD) {
        add_flow(session, xid, &flow);
    } else if (command == OF_DELETE_STRICT) {
        delete_flow(session, &flow, mask);
    } else {
        say_error(session, xid, FLOW_MOD_FAILED, BAD_COMMAND);
    }
}

/* From now on the kernel does what the flows say. */
static void install(struct tc_session *session, uint32_t xid)
{
    struct pd_codec_rows rows = {.tpid = session->tpid};
    struct pd_error error;
    int err = 0;

    for (size_t i = 0; i < session->flows_len && !err; i++) {
        err = pd_codec_rows_add(&rows, &session->flows[i].row);
    }
    if (!err && session->changed) {
        err = tc_switch_rows(session->sw, &rows, &error);
    }
    session->changed = err;
    pd_codec_rows_done(&rows);
    if (err) {
        say_error(session, xid, FLOW_MOD_FAILED, 0);
    }
}

/* ---- messages in ---------------------------------------------------------------------------- */

static void hear_question(struct tc_session *session, uint32_t xid, struct of_reader *body)
{
    if (of_read_number(body, 2) != OF_MULTIPART_FLOW) {
        say_error(session, xid, BAD_REQUEST, BAD_MULTIPART);
        return;
    }
    install(session, xid);
    say_flows(session, xid);
}

/* The first output is what is done. */
static void hear_packet(struct tc_session *session, uint32_t xid, struct of_reader *body)
{
    uint32_t in_port, out_port;
    uint64_t type;
    size_t actions;

    of_read(body, 4);
    in_port = (uint32_t)of_read_number(body, 4);
    actions = of_read_number(body, 2);
    of_read(body, 6);
    type = of_read_number(body, 2);
    of_read(body, 2);
    out_port = (uint32_t)of_read_number(body, 4);
    of_read(body, actions < 8 ? 0 : actions - 8);
    if (body->failed || actions < 8 || type != OF_OUTPUT ||
        tc_switch_send(session->sw, in_port, out_port, body->at, body->left)) {
        say_error(session, xid, BAD_ACTION, 0);
    }
}

static void hear(struct tc_session *session, unsigned type, uint32_t xid, struct of_reader *body)
{
    size_t start;

    switch (type) {
    case OF_FEATURES_REQUEST: say_features(session, xid); break;
    case OF_ECHO_REQUEST:
        start = of_begin(&session->out, OF_ECHO_REPLY, xid);
        of_write_bytes(&session->out, body->at, body->left);
        of_end(&session->out, start);
        break;
    case OF_FLOW_MOD: hear_flow(session, xid, body); break;
    case OF_MULTIPART_REQUEST: hear_question(session, xid, body); break;
    case OF_PACKET_OUT: hear_packet(session, xid, body); break;
    case OF_BARRIER_REQUEST:
        install(session, xid);
        of_end(&session->out, of_begin(&session->out, OF_BARRIER_REPLY, xid));
        break;
    case OF_HELLO:
    case OF_ECHO_REPLY:
    case OF_ERROR: break;
    default: say_error(session, xid, BAD_REQUEST, BAD_TYPE); break;
    }
}

/* Whole messages; the rest moves to the front. False: it is no OpenFlow. */
static bool hear_all(struct tc_session *session)
{
    struct of_buffer *in = &session->in;
    size_t at = 0;

    while (in->bytes - at >= OF_HEADER_BYTES) {
        const size_t bytes = of_number(in->data + at + 2, 2);
        struct of_reader body = {.at = in->data + at + OF_HEADER_BYTES,
                                 .left = bytes - OF_HEADER_BYTES};

        if (bytes < OF_HEADER_BYTES) {
            return false;
        }
        if (bytes > in->bytes - at) {
            break;
        }
        hear(session, in->data[at + 1], (uint32_t)of_number(in->data + at + 4, 4), &body);
        at += bytes;
    }
    in->bytes -= at;
    memmove(in->data, in->data + at, in->bytes);
    return true;
}

/* ---- the connection ------------------------------------------------------------------------- */

void tc_session_init(struct tc_session *session, struct tc_switch *sw, const char *controller)
{
    *session = (struct tc_session){.sw = sw, .controller = controller, .fd = -1, .tpid = 0x8100};
}

void tc_session_tick(struct tc_session *session, uint64_t now_ns)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (session->fd >= 0 || now_ns < session->retry_ns) {
        return;
    }
    session->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", session->controller);
    if (session->fd < 0 ||
        connect(session->fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        leave(session, now_ns);
        return;
    }
    say_hello(session);
}

short tc_session_events(const struct tc_session *session)
{
    return session->out.bytes ? POLLIN | POLLOUT : POLLIN;
}

static bool receive(struct tc_session *session)
{
    uint8_t data[1 << 16];
    const ssize_t got = recv(session->fd, data, sizeof(data), MSG_DONTWAIT);

    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    of_write_bytes(&session->in, data, (size_t)got);
    return !session->in.error && hear_all(session);
}

static bool send_pending(struct tc_session *session)
{
    struct of_buffer *out = &session->out;
    const ssize_t sent =
        out->bytes ? send(session->fd, out->data, out->bytes, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

    if (sent < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    out->bytes -= (size_t)sent;
    if (out->bytes) {
        memmove(out->data, out->data + sent, out->bytes);
    }
    return !out->error;
}

void tc_session_ready(struct tc_session *session, short events, uint64_t now_ns)
{
    if (session->fd >= 0 &&
        (!((events & (POLLIN | POLLHUP)) == 0 || receive(session)) || !send_pending(session))) {
        leave(session, now_ns);
    }
}
