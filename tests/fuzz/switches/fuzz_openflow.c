/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a switch that sends any bytes, from its hello to the answers of a check.
 *
 * An input is a list of: 1 byte (bit 0: time passes; bits 1-3: skip the handshake when all are 1;
 * bit 4: the numbers of replies are made right, so that they are taken for answers), 2 bytes
 * length, what the switch sends. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/switches/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID         3 /* the spine */
#define CHECKS_MAX 3 /* of one input: making the rules takes most of the time */

static const struct pd_codec *codec;

static int identified(struct pd_of_session *session, uint64_t datapath_id)
{
    session->end = PD_SWITCHES_UNKNOWN;
    return datapath_id != ID;
}

/* Reads each byte. */
static void packet_in(struct pd_of_session *session, const struct pd_switches_packet_in *packet)
{
    (void)session;
    uint8_t *copy = malloc(packet->bytes + 1);
    if (copy && packet->bytes) {
        memcpy(copy, packet->data, packet->bytes);
    }
    free(copy);
}

static void checked(struct pd_of_session *session, uint32_t changes)
{
    char *text;
    const struct pd_of_differences *d = &session->differences;
    assert(changes == d->missing + d->differing + d->surplus);
    assert(d->missing + d->differing + d->blocked <= d->rules);
    if (!pd_switch_rules_changes(session->rules, &text)) {
        free(text);
    }
}

static void limited(struct pd_of_session *session)
{
    (void)session;
}

static const struct pd_of_events events = {
    .identified = identified, .packet_in = packet_in, .limited = limited, .checked = checked};

static void make_codec(void)
{
    struct pd_topology *topology;
    struct pd_codec *made;
    if (codec) {
        return;
    }
    if (pd_topology_leaf_spine(2, 1, 0, &topology, NULL) || pd_codec_new(topology, &made, NULL)) {
        abort();
    }
    codec = made;
}

static int say(struct pd_of_session *session, const uint8_t *data, size_t bytes, uint64_t now_ns)
{
    return session->end ? -1 : pd_switch_session_input(session, data, bytes, now_ns);
}

static int start_check(struct pd_of_session *session, uint64_t now_ns)
{
    struct pd_of_rules *rules;
    if (session->phase != PD_OF_READY || session->counters[PD_SWITCHES_CHECKS] >= CHECKS_MAX ||
        pd_switch_rules_new(codec, pd_topology_switch(codec->topology, ID), PD_DEPTH_PCP, &rules,
                            NULL)) {
        return 0;
    }
    return pd_switch_session_check(session, rules, now_ns);
}

static void shake_hands(struct pd_of_session *session, uint64_t now_ns)
{
    static const uint8_t hello[] = {4, 0, 0, 8, 0, 0, 0, 1};
    static const uint8_t features[32] = {4, 6, 0, 32, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, ID};
    if (say(session, hello, sizeof hello, now_ns) ||
        say(session, features, sizeof features, now_ns)) {
        abort();
    }
    start_check(session, now_ns);
}

/* Messages get the number that is waited for, where the lengths lead to one. */
static void mend(const struct pd_of_session *session, uint8_t *data, size_t bytes)
{
    for (size_t at = session->in.bytes ? bytes : 0; bytes - at >= OF_HEADER_BYTES;) {
        size_t message = of_number(data + at + 2, 2);
        for (unsigned i = 0; i < 4; i++) {
            data[at + 4 + i] = (uint8_t)(session->awaited_xid >> (24 - 8 * i));
        }
        if (message < OF_HEADER_BYTES || message > bytes - at) {
            break;
        }
        at += message;
    }
}

static int turn(struct pd_of_session *session, struct of_reader *input, uint64_t *now_ns)
{
    unsigned options = (unsigned)of_read_number(input, 1);
    size_t bytes = of_read_number(input, 2);
    uint8_t said[4096];
    if (bytes > sizeof said) {
        bytes = sizeof said;
    }
    if (bytes > input->left) {
        bytes = input->left;
    }
    const uint8_t *from = of_read(input, bytes);
    if (from) {
        memcpy(said, from, bytes);
    }
    if (options & 16) {
        mend(session, said, bytes);
    }
    *now_ns += options & 1 ? PD_NS_PER_S : 0;
    if (say(session, said, bytes, *now_ns) || start_check(session, *now_ns) ||
        pd_switch_session_tick(session, *now_ns)) {
        return -1;
    }
    session->out.bytes = 0;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pd_switches_settings settings = {
        .handshake_ms = 5000, .echo_ms = 5000, .check_ms = 30000, .packet_ins_per_s = 100};
    _Atomic uint64_t counters[PD_SWITCHES_COUNTER_COUNT] = {0};
    struct of_reader input = {.at = data, .left = size};
    struct pd_of_session session;
    uint64_t now_ns = PD_NS_PER_S;
    make_codec();
    pd_switch_session_init(&session, &settings, &events, counters, now_ns);
    if (size && (data[0] >> 1 & 7) == 7) {
        shake_hands(&session, now_ns);
    }
    while (input.left && !input.failed && !turn(&session, &input, &now_ns))
        ;
    pd_switch_session_done(&session);
    return 0;
}
