/* SPDX-License-Identifier: Apache-2.0 */
/* One connection against a scripted switch: installing, repairing, leaving alone; and peers that
 * are broken or hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "controller/switches/session.h"
#include "fake.h"
#include "tests/shared/random.h"

#define ID      9 /* an aggregation switch of the fat-tree of 4: it has rules of every kind */
#define FOREIGN UINT64_C(5)

struct link {
    struct pd_of_session session;
    struct pd_switches_settings settings;
    _Atomic uint64_t counters[PD_SWITCHES_COUNTER_COUNT];
    const struct pd_codec *codec;
    struct fake fake;
    uint64_t now_ns;
    uint64_t identified; /* the datapath ID */
    unsigned checks, packets;
    uint64_t told_limited;
    uint32_t changes, in_port; /* of the latest */
    char *text;
    uint8_t frame[64];
    bool over;
    struct random *damage; /* what the switch says arrives with wrong bytes */
};

static struct link *link_of(struct pd_of_session *session)
{
    return (struct link *)(void *)((char *)session - offsetof(struct link, session));
}

static int identified(struct pd_of_session *session, uint64_t datapath_id)
{
    link_of(session)->identified = datapath_id;
    session->end = PD_SWITCHES_UNKNOWN;
    return datapath_id != ID;
}

static void packet_in(struct pd_of_session *session, const struct pd_switches_packet_in *packet)
{
    struct link *l = link_of(session);
    l->packets++;
    l->told_limited += packet->limited;
    l->in_port = packet->in_port;
    if (packet->bytes <= sizeof l->frame && packet->bytes) {
        memcpy(l->frame, packet->data, packet->bytes);
    }
}

static void checked(struct pd_of_session *session, uint32_t changes)
{
    struct link *l = link_of(session);
    l->checks++;
    l->changes = changes;
    free(l->text);
    assert_int_equal(pd_switch_rules_changes(session->rules, &l->text), 0);
}

static void limited(struct pd_of_session *session)
{
    (void)session;
}

static const struct pd_of_events events = {
    .identified = identified, .packet_in = packet_in, .limited = limited, .checked = checked};

static uint64_t counter(const struct link *l, enum pd_switches_counter id)
{
    return atomic_load_explicit(&l->counters[id], memory_order_relaxed);
}

/* ---- both ends */

static void connect_fake(struct link *l)
{
    pd_switch_session_done(&l->session);
    pd_switch_session_init(&l->session, &l->settings, &events, l->counters, l->now_ns);
    l->over = false;
}

static void link_init(struct link *l, const struct pd_codec *codec)
{
    *l = (struct link){.codec = codec, .now_ns = PD_NS_PER_S};
    l->settings = (struct pd_switches_settings){
        .handshake_ms = 1000, .echo_ms = 1000, .check_ms = 5000, .packet_ins_per_s = 10};
    fake_init(&l->fake, ID);
    connect_fake(l);
}

static void link_done(struct link *l)
{
    pd_switch_session_done(&l->session);
    fake_done(&l->fake);
    free(l->text);
}

/* Bytes for the session, in pieces of the given size. */
static void say(struct link *l, const uint8_t *data, size_t bytes, size_t piece)
{
    for (size_t at = 0; at < bytes && !l->over; at += piece) {
        l->over = pd_switch_session_input(&l->session, data + at,
                                          bytes - at < piece ? bytes - at : piece, l->now_ns) != 0;
    }
}

static void damage_bytes(struct random *random, const struct of_buffer *buffer)
{
    for (uint64_t n = random_below(random, 4); n > 0 && buffer->bytes; n--) {
        buffer->data[random_below(random, buffer->bytes)] = (uint8_t)random_next(random);
    }
}

/* Lets both talk until neither has anything to say. */
static void talk(struct link *l, size_t piece)
{
    while (!l->over && (l->fake.out.bytes || l->session.out.bytes)) {
        struct of_buffer to = l->fake.out;
        l->fake.out = (struct of_buffer){0};
        if (l->damage) {
            damage_bytes(l->damage, &to);
        }
        say(l, to.data, to.bytes, piece);
        of_buffer_done(&to);
        fake_hear(&l->fake, l->session.out.data, l->session.out.bytes);
        l->session.out.bytes = 0;
    }
}

static void check(struct link *l)
{
    struct pd_of_rules *rules;
    uint32_t sw = pd_topology_switch(l->codec->topology, ID);
    assert_int_equal(pd_switch_rules_new(l->codec, sw, PD_DEPTH_PCP, &rules, NULL), 0);
    assert_int_equal(pd_switch_session_check(&l->session, rules, l->now_ns), 0);
    talk(l, 65536);
}

static void connect_and_check(struct link *l)
{
    talk(l, 65536);
    assert_false(l->over);
    assert_int_equal(l->session.phase, PD_OF_READY);
    check(l);
}

static void reconnect(struct link *l)
{
    struct fake old = l->fake;
    fake_init(&l->fake, ID);
    l->fake.flows = old.flows;
    l->fake.flows_len = old.flows_len;
    l->fake.mixes = old.mixes;
    l->fake.refuses_changes = old.refuses_changes;
    old.flows = NULL;
    fake_done(&old);
    connect_fake(l);
    connect_and_check(l);
}

static unsigned rules_len(const struct link *l)
{
    return l->session.differences.rules;
}

/* ---- rules */

static void test_installs(void **state)
{
    struct link l;
    link_init(&l, *state);
    connect_and_check(&l);
    assert_int_equal(l.identified, ID);
    assert_true(rules_len(&l) > 10);
    assert_int_equal(l.fake.flows_len, rules_len(&l));
    assert_int_equal(l.fake.additions, rules_len(&l));
    assert_int_equal(l.changes, 0);
    assert_string_equal(l.text, "");
    for (size_t i = 0; i < l.fake.flows_len; i++) {
        assert_true(l.fake.flows[i].cookie == PD_SWITCHES_COOKIE && !l.fake.flows[i].table);
    }
    link_done(&l);
}

static void test_reconnect_changes_nothing(void **state)
{
    struct link l;
    link_init(&l, *state);
    connect_and_check(&l);
    for (int mixed = 0; mixed < 2; mixed++) { /* also when it says the same in other words */
        l.fake.mixes = mixed;
        reconnect(&l);
        assert_int_equal(l.fake.additions + l.fake.deletions, 0);
        assert_int_equal(l.session.round, 1);
        assert_int_equal(l.changes, 0);
    }
    link_done(&l);
}

/* One damage of a random kind to a flow that has none yet; returns whether a repair has to change
 * something. */
static bool damage(struct random *random, struct fake *fake)
{
    struct fake_flow *flow = &fake->flows[random_below(random, fake->flows_len)];
    if (flow->cookie == FOREIGN || flow->idle_timeout || !flow->instructions_bytes ||
        flow->priority >= 1000) {
        return false;
    }
    switch (random_below(random, 5)) {
    case 0: *flow = fake->flows[--fake->flows_len]; return true;
    case 1: flow->instructions_bytes = 0; return true;
    case 2: flow->idle_timeout = 10; return true;
    case 3: flow->priority = (uint16_t)(flow->priority + 1000); return true;
    default: flow->cookie = FOREIGN; return false; /* it does the same, whoever's it is */
    }
}

static void test_repairs_random_damage(void **state)
{
    struct random random = {test_seed()};
    for (unsigned run = 0; run < 200; run++) {
        struct link l;
        bool needed = false;
        link_init(&l, *state);
        connect_and_check(&l);
        for (uint64_t n = random_below(&random, 4); n > 0; n--) {
            needed |= damage(&random, &l.fake);
        }
        reconnect(&l);
        assert_int_equal(l.changes, 0);
        assert_int_equal(l.session.differences.blocked, 0);
        assert_int_equal(l.fake.additions + l.fake.deletions > 0, needed);
        assert_true(l.fake.additions + l.fake.deletions <= 2 * 3);
        assert_int_equal(l.fake.flows_len, rules_len(&l));
        link_done(&l);
    }
}

static void test_leaves_foreign_flows(void **state)
{
    struct link l;
    link_init(&l, *state);
    connect_and_check(&l);
    l.fake.flows[0].cookie = FOREIGN; /* in the place of a rule, and does something else */
    l.fake.flows[0].instructions_bytes = 0;
    l.fake.flows[1].cookie = FOREIGN; /* nobody's place */
    l.fake.flows[1].priority = 7;
    l.fake.flows[2].table = 1; /* ours, but elsewhere */
    reconnect(&l);
    assert_int_equal(l.session.differences.blocked, 1);
    assert_int_equal(l.session.differences.foreign, 2);
    assert_int_equal(l.fake.additions, 2);
    assert_int_equal(l.fake.deletions, 0);
    assert_int_equal(l.fake.flows[0].cookie, FOREIGN);
    assert_int_equal(l.fake.flows[0].instructions_bytes, 0);
    assert_int_equal(strncmp(l.text, "blocked table=0,priority=", 25), 0);
    link_done(&l);
}

static void test_dry_run(void **state)
{
    struct link l;
    link_init(&l, *state);
    l.settings.dry_run = true;
    connect_and_check(&l);
    assert_int_equal(l.fake.additions + l.fake.deletions, 0);
    assert_int_equal(l.changes, rules_len(&l));
    unsigned lines = 0;
    for (const char *at = l.text; *at; at = strchr(at, '\n') + 1, lines++) {
        assert_int_equal(strncmp(at, "add table=0,priority=", 21), 0);
    }
    assert_int_equal(lines, rules_len(&l));
    link_done(&l);
}

static void test_switch_that_refuses(void **state)
{
    struct link l;
    link_init(&l, *state);
    l.fake.refuses_changes = true;
    connect_and_check(&l);
    assert_false(l.over);
    assert_int_equal(l.changes, rules_len(&l));
    assert_int_equal(l.fake.additions, (PD_OF_ROUNDS - 1) * rules_len(&l));
    assert_non_null(strstr(l.session.last_error, "type 5 code 1"));
    assert_int_equal(counter(&l, PD_SWITCHES_ERRORS), l.fake.additions);
    link_done(&l);
}

/* ---- packets */

static void test_packets(void **state)
{
    const uint8_t frame[] = "a frame with three tags";
    struct link l;
    link_init(&l, *state);
    connect_and_check(&l);
    fake_packet_in(&l.fake, 3, frame, sizeof frame);
    talk(&l, 1);
    assert_int_equal(l.packets, 1);
    assert_int_equal(l.in_port, 3);
    assert_memory_equal(l.frame, frame, sizeof frame);
    assert_int_equal(
        pd_switch_session_packet_out(&l.session, 3, OF_PORT_TABLE, frame, sizeof frame), 0);
    talk(&l, 1);
    assert_int_equal(l.fake.packet_outs, 1);
    assert_int_equal(l.fake.packet_out_bytes, 40 + sizeof frame);
    assert_int_equal(of_number(l.fake.packet_out + 12, 4), 3);
    assert_int_equal(of_number(l.fake.packet_out + 28, 4), OF_PORT_TABLE);
    assert_memory_equal(l.fake.packet_out + 40, frame, sizeof frame);
    link_done(&l);
}

/* A storm costs what the rate allows; the rest is counted, and none is lost from the account. */
static void test_packet_storm(void **state)
{
    struct link l;
    link_init(&l, *state);
    connect_and_check(&l);
    for (unsigned second = 0; second < 3; second++) {
        for (unsigned i = 0; i < 100; i++) {
            fake_packet_in(&l.fake, 3, (const uint8_t *)"x", 1);
        }
        talk(&l, 65536);
        l.now_ns += PD_NS_PER_S;
    }
    assert_int_equal(l.packets, 30);
    assert_int_equal(l.told_limited + l.session.limited, 270);
    assert_int_equal(counter(&l, PD_SWITCHES_PACKET_INS), 30);
    assert_int_equal(counter(&l, PD_SWITCHES_PACKET_INS_LIMITED), 270);
    link_done(&l);
}

/* ---- broken and hostile peers */

static void expect_end(struct link *l, enum pd_switches_counter why)
{
    if (!l->over) {
        l->over = pd_switch_session_tick(&l->session, l->now_ns) != 0;
    }
    assert_true(l->over);
    assert_string_equal(pd_switches_counter_name(l->session.end), pd_switches_counter_name(why));
}

static void test_versions(void **state)
{
    static const struct {
        uint8_t bytes[24];
        size_t len;
        bool fits, malformed;
    } hellos[] = {
        {{1, 0, 0, 8, 0, 0, 0, 1}, 8, false, false},
        {{6, 0, 0, 8, 0, 0, 0, 1}, 8, true, false},
        {{6, 0, 0, 16, 0, 0, 0, 1, 0, 1, 0, 8, 0, 0, 0, 0x50}, 16, true, false},
        {{6, 0, 0, 16, 0, 0, 0, 1, 0, 1, 0, 8, 0, 0, 0, 0x42}, 16, false, false},
        {{4, 0, 0, 16, 0, 0, 0, 1, 0, 1, 0, 3, 0, 0, 0, 0x10}, 16, false, true},
        {{4, 0, 0, 16, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0x10}, 16, false, true},
        {{4, 0, 0, 7, 0, 0, 0, 1}, 8, false, true},
        {{0, 0, 0, 8, 0, 0, 0, 1}, 8, false, true},
        {{4, 6, 0, 8, 0, 0, 0, 1}, 8, false, true},
    };
    for (size_t i = 0; i < sizeof hellos / sizeof *hellos; i++) {
        struct link l;
        link_init(&l, *state);
        say(&l, hellos[i].bytes, hellos[i].len, 3);
        assert_int_equal(l.over, !hellos[i].fits);
        if (l.over) {
            expect_end(&l,
                       hellos[i].malformed ? PD_SWITCHES_BAD_MESSAGES : PD_SWITCHES_WRONG_VERSION);
        }
        link_done(&l);
    }
}

static void test_auxiliary_and_unknown(void **state)
{
    struct link l;
    link_init(&l, *state);
    l.fake.auxiliary = 1;
    talk(&l, 65536);
    expect_end(&l, PD_SWITCHES_AUXILIARY);
    link_done(&l);
    link_init(&l, *state);
    l.fake.datapath_id = 77;
    talk(&l, 65536);
    expect_end(&l, PD_SWITCHES_UNKNOWN);
    assert_int_equal(l.fake.additions, 0);
    link_done(&l);
}

static void test_half_messages(void **state)
{
    struct link l;
    link_init(&l, *state);
    connect_and_check(&l);
    reconnect(&l);
    struct link bytewise;
    link_init(&bytewise, *state);
    talk(&bytewise, 1);
    assert_int_equal(bytewise.session.phase, PD_OF_READY);
    static const uint8_t half[] = {4, 10, 255, 255, 0, 0, 0, 1, 2, 3};
    for (unsigned i = 0; i < sizeof half; i++) { /* one byte a second: no whole message, no life */
        bytewise.now_ns += PD_NS_PER_S;
        bytewise.over = pd_switch_session_tick(&bytewise.session, bytewise.now_ns) != 0;
        say(&bytewise, half + i, 1, 1);
        if (bytewise.over) {
            break;
        }
    }
    expect_end(&bytewise, PD_SWITCHES_ECHO_TIMEOUTS);
    link_done(&bytewise);
    link_done(&l);
}

static void test_silence(void **state)
{
    struct link l;
    link_init(&l, *state);
    l.now_ns += 1001 * PD_NS_PER_MS;
    expect_end(&l, PD_SWITCHES_HANDSHAKE_TIMEOUTS);
    link_done(&l);
    link_init(&l, *state);
    connect_and_check(&l);
    for (unsigned i = 0; i < 10; i++) { /* one that answers echoes lives */
        l.now_ns += 1100 * PD_NS_PER_MS;
        assert_int_equal(pd_switch_session_tick(&l.session, l.now_ns), 0);
        talk(&l, 65536);
    }
    assert_int_equal(l.fake.echoes, 10);
    l.now_ns += 1100 * PD_NS_PER_MS;
    assert_int_equal(pd_switch_session_tick(&l.session, l.now_ns), 0);
    l.now_ns += 1000 * PD_NS_PER_MS;
    expect_end(&l, PD_SWITCHES_ECHO_TIMEOUTS);
    link_done(&l);
}

/* It answers echoes, but not what it was asked. */
static void check_never_done(const struct pd_codec *codec, bool mute)
{
    struct link l;
    link_init(&l, codec);
    l.fake.mute = mute;
    l.fake.never_ends = !mute;
    connect_and_check(&l);
    for (unsigned i = 0; i < 4; i++) {
        l.now_ns += 1100 * PD_NS_PER_MS;
        assert_int_equal(pd_switch_session_tick(&l.session, l.now_ns), 0);
        talk(&l, 65536);
    }
    assert_int_equal(l.checks, 0);
    l.now_ns += 1100 * PD_NS_PER_MS;
    expect_end(&l, PD_SWITCHES_CHECK_TIMEOUTS);
    link_done(&l);
}

static void test_checks_end(void **state)
{
    check_never_done(*state, true);
    check_never_done(*state, false);
}

/* It asks for echoes and never reads an answer. */
static void test_slow_reader(void **state)
{
    static uint8_t echo[65535] = {4, OF_ECHO_REQUEST, 255, 255};
    struct link l;
    link_init(&l, *state);
    connect_and_check(&l);
    for (unsigned i = 0; i < 1000 && !l.over; i++) {
        say(&l, echo, sizeof echo, sizeof echo);
    }
    expect_end(&l, PD_SWITCHES_SLOW_READERS);
    assert_true(l.session.out.bytes < 4 * PD_OF_PENDING_MAX);
    link_done(&l);
}

/* Right messages with random damage, at any time: it ends or goes on, and nothing else. */
static void test_damaged_messages(void **state)
{
    struct random random = {test_seed()};
    for (unsigned run = 0; run < 2000; run++) {
        struct link l;
        link_init(&l, *state);
        l.fake.flows_per_part = 1 + (unsigned)random_below(&random, 40);
        talk(&l, 65536);
        l.damage = &random;
        check(&l);
        fake_packet_in(&l.fake, 1, (const uint8_t *)"frame", 5);
        talk(&l, 1 + random_below(&random, 5000));
        link_done(&l);
    }
}

static void test_garbage(void **state)
{
    struct random random = {test_seed()};
    for (unsigned run = 0; run < 2000; run++) {
        struct link l;
        uint8_t garbage[300];
        link_init(&l, *state);
        if (random_below(&random, 2)) {
            talk(&l, 65536);
        }
        for (size_t i = 0; i < sizeof garbage; i++) {
            garbage[i] = (uint8_t)random_next(&random);
        }
        garbage[0] = random_below(&random, 4) ? OF_VERSION : garbage[0];
        garbage[1] %= OF_TYPE_LAST + 2;
        garbage[2] = 0;
        say(&l, garbage, sizeof garbage, 1 + random_below(&random, sizeof garbage));
        link_done(&l);
    }
}

int main(void)
{
    struct pd_topology *topology;
    struct pd_codec *codec;
    if (pd_topology_fat_tree(4, &topology, NULL) || pd_codec_new(topology, &codec, NULL)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_installs, codec),
        cmocka_unit_test_prestate(test_reconnect_changes_nothing, codec),
        cmocka_unit_test_prestate(test_repairs_random_damage, codec),
        cmocka_unit_test_prestate(test_leaves_foreign_flows, codec),
        cmocka_unit_test_prestate(test_dry_run, codec),
        cmocka_unit_test_prestate(test_switch_that_refuses, codec),
        cmocka_unit_test_prestate(test_packets, codec),
        cmocka_unit_test_prestate(test_packet_storm, codec),
        cmocka_unit_test_prestate(test_versions, codec),
        cmocka_unit_test_prestate(test_auxiliary_and_unknown, codec),
        cmocka_unit_test_prestate(test_half_messages, codec),
        cmocka_unit_test_prestate(test_silence, codec),
        cmocka_unit_test_prestate(test_checks_end, codec),
        cmocka_unit_test_prestate(test_slow_reader, codec),
        cmocka_unit_test_prestate(test_damaged_messages, codec),
        cmocka_unit_test_prestate(test_garbage, codec),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pd_codec_free(codec);
    pd_topology_free(topology);
    return failed;
}
