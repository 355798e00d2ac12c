/* SPDX-License-Identifier: Apache-2.0 */
/* loop: a packet goes round in a fabric of made-up forwarding; the switches tag and send it here as
 * their rules say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/args.h"
#include "base/clock.h"
#include "codec/tagging/tagging.h"
#include "packet/packet.h"

extern const struct pd_app_ops pd_app_loop;

#define FRAME_MAX 256
#define HOPS_MAX  4096

/* A network with one packet in it. It follows `way`, whose end goes back to `again`; -1: the end is
 * where it leaves the network. */
struct network {
    struct pd_topology *topology;
    struct pd_codec *codec;
    struct pd_app_world world;
    void *state;
    uint32_t way[32];
    int way_len, again, at; /* at: the place in the way */
    uint32_t src_tor, dst_tor;
    uint8_t frame[FRAME_MAX];
    size_t bytes;
    bool sent_on, pushes_three, mute;
    unsigned punts, outs;
    uint64_t now_ns;
};

static uint64_t now_us(void *context)
{
    return UINT64_C(1700000000000000) + ((struct network *)context)->now_ns / PD_NS_PER_US;
}

static uint32_t index_of(const struct network *n, uint32_t id)
{
    return pd_topology_switch(n->topology, id);
}

/* Tests look at the frame that comes back: it has lost its tags, and is a whole packet. */
static int packet_out(void *context, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                      size_t bytes)
{
    struct network *n = context;

    n->outs++;
    if (n->mute) {
        return -PD_E_NOT_FOUND;
    }
    assert_int_equal(switch_id, n->way[n->at]);
    assert_true(in_port > 0 && bytes <= FRAME_MAX);
    memcpy(n->frame, data, bytes);
    n->bytes = bytes;
    n->sent_on = true;
    return 0;
}

static const struct pd_app_world_ops world_ops = {.now_us = now_us, .packet_out = packet_out};

/* ---- the packet */

static uint16_t header_sum(const uint8_t *ip)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2) {
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

static void make_packet(struct network *n, const char *src, const char *dst, uint16_t id)
{
    uint8_t *ip = n->frame + 14, version;
    struct pd_addr addr;
    uint16_t sum;

    memset(n->frame, 0, sizeof n->frame);
    n->bytes = 14 + 28 + 20;
    n->frame[12] = 8;
    memcpy(ip, (uint8_t[]){0x45, 0, 0, 48, (uint8_t)(id >> 8), (uint8_t)id, 0, 0, 64, 17}, 10);
    assert_int_equal(pd_addr_parse(src, &addr, &version), 0);
    n->src_tor = pd_topology_tor_of(n->topology, &addr, version);
    memcpy(ip + 12, addr.bytes, 4);
    assert_int_equal(pd_addr_parse(dst, &addr, &version), 0);
    n->dst_tor = pd_topology_tor_of(n->topology, &addr, version);
    memcpy(ip + 16, addr.bytes, 4);
    sum = (uint16_t)~header_sum(ip);
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
    memcpy(ip + 20, (uint8_t[]){4, 0, 5, 0, 0, 28}, 6);
}

static unsigned tags_of(const struct network *n)
{
    struct pd_packet packet;

    assert_int_equal(pd_packet_parse(n->frame, n->bytes, n->bytes, &packet), PD_PACKET_OK);
    return packet.tags_len;
}

static void push(struct network *n, uint16_t value)
{
    memmove(n->frame + 16, n->frame + 12, n->bytes - 12);
    memcpy(n->frame + 12, (uint8_t[]){0x81, 0, (uint8_t)(value >> 8), (uint8_t)value}, 4);
    n->bytes += 4;
}

/* ---- the switches */

static uint32_t rank_of(const struct network *n, uint32_t from, uint32_t to)
{
    const struct pd_neighbour *link = pd_topology_link(n->topology, from, to);

    assert_non_null(link);
    return (uint32_t)(link - n->topology->switches[from].neighbours);
}

static bool send_here(struct network *n, uint32_t from, uint32_t at)
{
    struct pd_app_packet packet = {.switch_id = n->topology->switches[at].id,
                                   .in_port = pd_topology_link(n->topology, at, from)->port,
                                   .bytes = n->bytes,
                                   .received_ns = n->now_ns};
    uint8_t *copy = malloc(n->bytes); /* as long as it is: reads beyond it are seen */
    bool found;

    assert_non_null(copy);
    memcpy(copy, n->frame, n->bytes);
    packet.data = copy;
    n->punts++;
    n->sent_on = false;
    found = pd_app_loop.packet_in(n->state, &n->world, &packet);
    free(copy);
    return found;
}

/* Takes the packet over a link and tags it there; with no room for the tag it comes here. Returns
 * true when a loop was proven. */
static bool cross(struct network *n, uint32_t from, uint32_t at)
{
    struct pd_tag_step t = pd_tagging_step(pd_tagging(n->codec), from, rank_of(n, from, at),
                                           n->src_tor, n->dst_tor, false);

    n->sent_on = true;
    while (t.action == PD_TAG_PUSH_VLAN) {
        if (tags_of(n) < 2 || (n->pushes_three && tags_of(n) == 2)) {
            push(n, t.value);
            if (tags_of(n) < 3) {
                return false;
            }
        }
        if (send_here(n, from, at)) {
            return true;
        }
        if (!n->sent_on) {
            return false;
        }
        if (tags_of(n) != 0) {
            fail_msg("the packet still has tags");
        }
    }
    return false;
}

/* The packet runs along its way. True: a loop was proven. False: it left the network, or was kept
 * here. */
static bool run_packet(struct network *n)
{
    uint32_t from;

    n->at = 0;
    for (unsigned hops = 0; hops < HOPS_MAX; hops++) {
        from = index_of(n, n->way[n->at]);
        n->at = n->at + 1 < n->way_len ? n->at + 1 : n->again;
        if (n->at < 0) {
            return false;
        }
        n->now_ns += 10 * PD_NS_PER_US;
        if (cross(n, from, index_of(n, n->way[n->at]))) {
            return true;
        }
        if (!n->sent_on) {
            return false;
        }
    }
    fail_msg("the packet goes round for ever");
    return false;
}

static void set_way(struct network *n, int again, const uint32_t *way, int len)
{
    memcpy(n->way, way, (size_t)len * sizeof *way);
    n->way_len = len;
    n->again = again;
}

#define WAY(n, again, ...)                             \
    set_way(n, again, (const uint32_t[]){__VA_ARGS__}, \
            (int)(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))

/* ---- life */

static void open_network(struct network *n, uint32_t k)
{
    struct pd_app_call call = {.world = &n->world};

    *n = (struct network){.now_ns = pd_clock_monotonic_ns()};
    assert_int_equal(pd_topology_fat_tree(k, &n->topology, NULL), 0);
    assert_int_equal(pd_codec_new(n->topology, &n->codec, NULL), 0);
    n->world = (struct pd_app_world){.ops = &world_ops, .context = n, .topology = n->topology};
    assert_int_equal(pd_app_loop.open(&call, &n->state, NULL), 0);
}

static void close_network(struct network *n)
{
    pd_app_loop.close(n->state);
    pd_codec_free(n->codec);
    pd_topology_free(n->topology);
}

static json_t *report_of(struct network *n)
{
    struct pd_app_call call = {.world = &n->world};
    struct pd_report report;
    json_t *args, *json;

    assert_int_equal(pd_app_args_read(&pd_app_loop, n->topology, NULL, &args, NULL), 0);
    call.args = args;
    pd_app_report_init(&report);
    assert_int_equal(pd_app_loop.run(n->state, &call, &report, NULL), 0);
    json = pd_app_report_json(&report, "loop");
    assert_non_null(json);
    pd_app_report_done(&report);
    json_decref(args);
    return json;
}

static void check_loop(struct network *n, const char *switches, size_t hops)
{
    json_t *json = report_of(n),
           *row = json_array_get(json_object_get(json_object_get(json, "results"), "loops"), 0);

    assert_string_equal(json_string_value(json_object_get(row, "switches")), switches);
    assert_int_equal(json_array_size(json_object_get(json, "links")), hops);
    assert_int_equal(json_array_size(json_object_get(json, "switches")), hops);
    assert_int_equal(json_array_size(json_object_get(json, "flows")), 1);
    assert_int_equal(json_array_size(json_object_get(json, "lacks")), 0);
    assert_true(json_is_true(json_object_get(json, "certain")));
    assert_true(strstr(json_string_value(json_object_get(json, "verdict")), switches) != NULL);
    json_decref(json);
}

static void check_nothing(struct network *n, bool long_paths)
{
    json_t *json;

    n->now_ns += 60 * PD_NS_PER_S;
    json = report_of(n);
    assert_int_equal(json_array_size(json_object_get(json, "links")), 0);
    assert_true(json_is_false(json_object_get(json, "certain")));
    assert_int_equal(json_object_get(json_object_get(json, "results"), "long_paths") != NULL,
                     long_paths);
    json_decref(json);
}

/* ---- loops */

/* Figure 9 of the paper: the agg sends back up what came down. The first visit already holds one
 * link twice, but its host may have written that; the second one was written anew. */
static void four_hops_are_proven_at_the_second_visit(void **unused)
{
    struct network n;

    (void)unused;
    open_network(&n, 4);
    make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
    WAY(&n, 1, 1, 9, 17, 11, 18);
    assert_true(run_packet(&n));
    assert_int_equal(n.punts, 2);
    assert_int_equal(n.outs, 1);
    check_loop(&n, "9, 17, 11, 18", 4);
    close_network(&n);
}

static void six_hops_need_more_visits(void **unused)
{
    struct network n;

    (void)unused;
    open_network(&n,
                 6); /* three cores of a group: aggs 19, 22, 25 of position 1; cores 37, 38, 39 */
    make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
    WAY(&n, 1, 1, 19, 37, 22, 38, 25, 39);
    assert_true(run_packet(&n));
    assert_in_range(n.punts, 2, 3);
    check_loop(&n, "19, 37, 22, 38, 25, 39", 6);
    close_network(&n);
}

/* In the pod of the destination, ToRs and aggs: only the aggs tag. */
static void loops_within_a_pod(void **unused)
{
    struct network n;

    (void)unused;
    open_network(&n, 4);
    make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
    WAY(&n, 3, 1, 9, 17, 11, 4, 12, 3);
    assert_true(run_packet(&n));
    check_loop(&n, "3, 11, 4, 12", 4);
    close_network(&n);
}

static void switches_that_push_three_tags(void **unused)
{
    struct network n;

    (void)unused;
    open_network(&n, 4);
    n.pushes_three = true;
    make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
    WAY(&n, 1, 1, 9, 17, 11, 18);
    assert_true(run_packet(&n));
    check_loop(&n, "9, 17, 11, 18", 4);
    close_network(&n);
}

/* Loops of any size, anywhere: agg and core in turn, as many as the group has. */
static void loops_of_any_size(void **unused)
{
    (void)unused;
    for (int pods = 2; pods <= 8; pods++) {
        struct network n;

        open_network(&n, 16); /* aggs of position 1: 129, 137, …; cores of their group: 257 … 264 */
        make_packet(&n, "10.1.1.2", "10.16.1.2", 1);
        n.way[0] = 1;
        for (int i = 0; i < pods; i++) {
            n.way[1 + 2 * i] = 129 + 8 * (uint32_t)i;
            n.way[2 + 2 * i] = 257 + (uint32_t)i;
        }
        n.way_len = 1 + 2 * pods;
        n.again = 1;
        assert_true(run_packet(&n));
        assert_in_range(n.punts, 1, (unsigned)pods + 1);
        close_network(&n);
    }
}

/* A loop that is repaired and comes again is new; while it is known, packets of its flow end here.
 */
static void known_loops(void **unused)
{
    struct network n;

    (void)unused;
    open_network(&n, 4);
    WAY(&n, 1, 1, 9, 17, 11, 18);
    make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
    assert_true(run_packet(&n));
    make_packet(&n, "10.1.1.2", "10.2.1.2", 2);
    assert_false(run_packet(&n));
    assert_int_equal(n.outs, 1);
    n.now_ns += 60 * PD_NS_PER_S;
    make_packet(&n, "10.1.1.2", "10.2.1.2", 3);
    assert_true(run_packet(&n));
    close_network(&n);
}

/* ---- what hosts write */

/* A host sends packets whose tags are those of a loop: one of them, again and again, differing in
 * nothing, in their number, or in their TTL. Each is a suspicion at most. */
static void one_packet_is_no_loop(void **unused)
{
    static const uint16_t loops[][2] = {{9, 14}, {14, 9}, {9, 9}};
    struct network n;

    (void)unused;
    open_network(&n, 4);
    WAY(&n, -1, 9, 17, 11, 3);
    for (unsigned i = 0; i < 300; i++) {
        make_packet(&n, "10.1.1.2", "10.2.1.2", i % 2 ? 7 : (uint16_t)i);
        push(&n, (uint16_t)(1 << 13 | loops[i % 3][0]));
        push(&n, (uint16_t)(2 << 13 | loops[i % 3][1]));
        n.way[0] = i % 3 ? 9 : 11;
        n.way[2] = i % 3 ? 11 : 9;
        n.way[3] = i % 3 ? 3 : 1;
        assert_false(run_packet(&n));
        n.now_ns += 20 * PD_NS_PER_MS;
    }
    assert_true(n.punts >= 300);
    check_nothing(&n, true);
    json_t *json = report_of(&n);
    assert_true(strstr(json_string_value(json_array_get(json_object_get(json, "evidence"), 0)),
                       "one host alone") != NULL);
    json_decref(json);
    close_network(&n);
}

static struct pd_app_edges edges_now;

static void edges(void *context, struct pd_app_edges *ret_edges)
{
    (void)context;
    *ret_edges = edges_now;
}

/* Growth is proof where no host can write tags; elsewhere it may send its packet once more. */
static void no_edge_may_be_open(void **unused)
{
    static const struct pd_app_edges cases[] = {
        {.held = 8},
        {.held = 7, .open = 1, .first_open = 3},
        {.held = 7, .unknown = 1, .first_unknown = 3},
    };
    struct pd_app_world_ops ops = world_ops;
    struct network n;

    (void)unused;
    ops.edges = edges;
    for (unsigned i = 0; i < 3; i++) {
        open_network(&n, 4);
        n.world.ops = &ops;
        edges_now = cases[i];
        make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
        WAY(&n, 1, 1, 9, 17, 11, 18);
        assert_true(run_packet(&n));
        json_t *json = report_of(&n);
        assert_int_equal(json_is_true(json_object_get(json, "certain")), i == 0);
        assert_int_equal(json_array_size(json_object_get(json, "links")), 4);
        assert_int_equal(json_array_size(json_object_get(json, "lacks")), i == 1);
        json_decref(json);
        close_network(&n);
    }
}

/* ---- no loops */

/* Six hops within a pod (k >= 8): sent on, and it arrives. Many such packets, also twins that
 * differ in nothing, are no loop. */
static void long_paths_are_no_loops(void **unused)
{
    struct network n;

    (void)unused;
    open_network(&n, 8);
    WAY(&n, -1, 1, 33, 2, 34, 3, 35, 4);
    for (int i = 0; i < 50; i++) {
        make_packet(&n, "10.1.1.2", "10.1.4.2", i % 2 ? 7 : (uint16_t)i);
        assert_false(run_packet(&n));
        n.now_ns += 20 * PD_NS_PER_MS;
    }
    assert_int_equal(n.punts, 50);
    assert_int_equal(n.outs, 50);
    check_nothing(&n, true);
    close_network(&n);
}

static void no_packet_at_all(void **unused)
{
    struct network n;

    (void)unused;
    open_network(&n, 4);
    WAY(&n, -1, 1, 9, 17, 11, 3);
    make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
    assert_false(run_packet(&n));
    assert_int_equal(n.punts, 0);
    check_nothing(&n, false);
    close_network(&n);
}

/* ---- bounds */

static void nothing_is_amplified(void **unused)
{
    struct network n;

    (void)unused;
    open_network(&n, 8);
    WAY(&n, -1, 1, 33, 2, 34, 3, 35, 4);
    for (int i = 0; i < 3000; i++) { /* in 0.2 s */
        make_packet(&n, "10.1.1.2", "10.1.4.2", (uint16_t)i);
        run_packet(&n);
    }
    assert_true(n.outs <= 300 && n.outs < n.punts);
    n.now_ns += PD_NS_PER_S;
    make_packet(&n, "10.1.1.2", "10.1.4.2", 9999);
    n.frame[14 + 8] = 1; /* TTL */
    n.outs = 0;
    assert_false(run_packet(&n));
    assert_int_equal(n.outs, 0);
    n.mute = true; /* the switch is gone */
    make_packet(&n, "10.1.1.2", "10.1.4.2", 10000);
    assert_false(run_packet(&n));
    close_network(&n);
}

/* What was not looked at because a switch sent too much is said. */
static void limits_are_said(void **unused)
{
    struct network n;
    struct pd_app_packet packet;

    (void)unused;
    open_network(&n, 4);
    WAY(&n, -1, 17);
    make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
    packet = (struct pd_app_packet){.switch_id = 17,
                                    .in_port = 1,
                                    .data = n.frame,
                                    .bytes = n.bytes,
                                    .received_ns = n.now_ns,
                                    .limited = 4711};
    assert_false(pd_app_loop.packet_in(n.state, &n.world, &packet));
    json_t *json = report_of(&n);
    assert_true(strstr(json_string_value(json_array_get(json_object_get(json, "lacks"), 0)),
                       "4711") != NULL);
    json_decref(json);
    close_network(&n);
}

/* Ports, switches and frames that do not exist. */
static void hostile_packets(void **unused)
{
    struct network n;
    struct pd_app_packet packet;

    (void)unused;
    open_network(&n, 4);
    WAY(&n, -1, 17);
    make_packet(&n, "10.1.1.2", "10.2.1.2", 1);
    packet = (struct pd_app_packet){
        .switch_id = 17, .in_port = 1, .data = n.frame, .bytes = n.bytes, .received_ns = n.now_ns};
    for (int tags = 0; tags <= 6; tags++) {
        for (packet.in_port = 0; packet.in_port < 9; packet.in_port++) {
            for (packet.bytes = 0; packet.bytes <= n.bytes; packet.bytes++) {
                assert_false(pd_app_loop.packet_in(n.state, &n.world, &packet));
            }
        }
        push(&n, (uint16_t)(4095 - tags));
        packet.bytes = n.bytes;
    }
    packet.switch_id = 4711;
    assert_false(pd_app_loop.packet_in(n.state, &n.world, &packet));
    check_nothing(&n, true);
    close_network(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_hops_are_proven_at_the_second_visit),
        cmocka_unit_test(six_hops_need_more_visits),
        cmocka_unit_test(loops_within_a_pod),
        cmocka_unit_test(switches_that_push_three_tags),
        cmocka_unit_test(loops_of_any_size),
        cmocka_unit_test(known_loops),
        cmocka_unit_test(one_packet_is_no_loop),
        cmocka_unit_test(no_edge_may_be_open),
        cmocka_unit_test(long_paths_are_no_loops),
        cmocka_unit_test(no_packet_at_all),
        cmocka_unit_test(nothing_is_amplified),
        cmocka_unit_test(limits_are_said),
        cmocka_unit_test(hostile_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
