/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from the kernel, made by hand and made wrong: netlink messages, pieces of the ring,
 * /proc/net/snmp; and the JSON of answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>

#include "../../shared/random.h"
#include "monitor/bpf/bpf.h"
#include "monitor/bpf/event.h"
#include "monitor/inet_diag/diag.h"
#include "monitor/inet_diag/snmp.h"
#include "monitor/json.h"

/* ---- netlink ---- */

struct message {
    struct nlmsghdr header;
    struct inet_diag_msg body;
    struct nlattr attribute;
    struct tcp_info info;
} __attribute__((packed, aligned(8)));

static struct message make_message(void)
{
    struct message message = {
        .header = {.nlmsg_len = sizeof message, .nlmsg_type = SOCK_DIAG_BY_FAMILY},
        .body = {.idiag_family = AF_INET,
                 .idiag_state = 1,
                 .id = {.idiag_sport = htons(1000),
                        .idiag_dport = htons(80),
                        .idiag_src = {htonl(0x0a090001)},
                        .idiag_dst = {htonl(0x0a090002)},
                        .idiag_cookie = {7, 1}}},
        .attribute = {.nla_len = sizeof(struct nlattr) + sizeof(struct tcp_info),
                      .nla_type = INET_DIAG_INFO},
        .info = {.tcpi_total_retrans = 5,
                 .tcpi_retransmits = 2,
                 .tcpi_rtt = 300,
                 .tcpi_bytes_acked = 99,
                 .tcpi_delivery_rate = 1000},
    };

    return message;
}

struct taken {
    unsigned count;
    struct pd_monitor_reading last;
};

static void keep(void *context, const struct pd_monitor_reading *reading)
{
    struct taken *taken = context;

    taken->count++;
    taken->last = *reading;
}

static struct taken read_bytes(const void *bytes, size_t len, uint64_t *ret_refused)
{
    struct pd_diag *diag = pd_inet_diag_offline();
    struct taken taken = {0};

    assert_non_null(diag);
    (void)pd_inet_diag_read(diag, bytes, len, 1, keep, &taken);
    if (ret_refused) {
        *ret_refused = pd_inet_diag_counters(diag).refused;
    }
    pd_inet_diag_close(diag);
    return taken;
}

static void messages_are_read(void **state)
{
    struct message message = make_message();
    struct taken taken = read_bytes(&message, sizeof message, NULL);

    (void)state;
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.retransmissions, 5);
    assert_int_equal(taken.last.unanswered, 2);
    assert_int_equal(taken.last.srtt_us, 300);
    assert_int_equal(taken.last.throughput_bps, 8000);
    assert_int_equal(taken.last.cookie, UINT64_C(1) << 32 | 7);
    assert_int_equal(taken.last.flow.src_port, 1000);
    assert_int_equal(taken.last.flow.ip_version, 4);
    assert_int_equal(taken.last.flow.src.bytes[3], 1);
}

/* ::ffff:10.9.0.1 is 10.9.0.1, but not when the other end is something else. */
static void mapped_addresses_are_ipv4(void **state)
{
    struct message message = make_message();
    const __be32 src[4] = {0, 0, htonl(0xffff), htonl(0x0a090001)};
    struct taken taken;
    uint64_t refused;

    (void)state;
    message.body.idiag_family = AF_INET6;
    memcpy(message.body.id.idiag_src, src, sizeof src);
    taken = read_bytes(&message, sizeof message, &refused);
    assert_int_equal(taken.count, 0);
    assert_int_equal(refused, 1);
    memcpy(message.body.id.idiag_dst, src, sizeof src);
    taken = read_bytes(&message, sizeof message, NULL);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.flow.ip_version, 4);
    assert_int_equal(taken.last.flow.src.bytes[0], 10);
}

/* A kernel that says less, or more, than the headers know; a half-open connection has no figures.
 */
static void lengths_may_differ(void **state)
{
    struct message message = make_message();
    struct taken taken;
    uint64_t refused;

    (void)state;
    message.attribute.nla_len = sizeof(struct nlattr) + 104;
    message.header.nlmsg_len = (uint32_t)(offsetof(struct message, info) + 104);
    taken = read_bytes(&message, message.header.nlmsg_len, NULL);
    assert_int_equal(taken.last.retransmissions, 5);
    assert_int_equal(taken.last.bytes_acked, 0);
    assert_int_equal(taken.last.timeouts, UINT32_MAX);
    message.header.nlmsg_len = offsetof(struct message, attribute);
    taken = read_bytes(&message, message.header.nlmsg_len, &refused);
    assert_int_equal(taken.count + refused, 1);
    assert_int_equal(refused, 1);
    message.body.idiag_state = 12;
    message.body.idiag_retrans = 3;
    taken = read_bytes(&message, message.header.nlmsg_len, NULL);
    assert_int_equal(taken.last.state, PD_MONITOR_SYN_RECV);
    assert_int_equal(taken.last.retransmissions, 3);
    assert_false(taken.last.has_info);
}

/* Bytes turned over at random: each message is taken or refused, never more than is there. */
static void hostile_messages(void **state)
{
    struct random random = {test_seed()};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct message message = make_message();
        size_t len = sizeof message;
        uint8_t *bytes = malloc(len);

        assert_non_null(bytes);
        memcpy(bytes, &message, len);
        for (uint64_t n = 1 + random_below(&random, 4); n; n--) {
            bytes[random_below(&random, i % 2 ? len : 100)] = (uint8_t)random_next(&random);
        }
        len -= random_below(&random, 2) * random_below(&random, len);
        (void)read_bytes(bytes, len, NULL);
        free(bytes);
    }
}

/* ---- the ring ---- */

static struct pd_monitor_event make_event(void)
{
    return (struct pd_monitor_event){.time_ns = 9,
                                     .cookie = 7,
                                     .kind = PD_EVENT_RETRANSMISSION,
                                     .family = AF_INET,
                                     .state = 1,
                                     .src = {10, 9, 0, 1},
                                     .dst = {10, 9, 0, 2},
                                     .src_port = 1000,
                                     .dst_port = 80,
                                     .retransmissions = 3,
                                     .timeouts = PD_EVENT_NO_TIMEOUTS,
                                     .mss_bytes = 1000,
                                     .delivered_pkts = 10,
                                     .delivered_us = 1000};
}

static const struct pd_flow_labels labels = {.automatic = true};

/* ip6_make_flowlabel: the hash turned by 16 bits, its last 20 bits in the order of the wire. */
static void labels_are_the_kernels(void **state)
{
    struct pd_monitor_event event = make_event();
    const struct pd_flow_labels none = {0}, stateless = {true, true};
    struct pd_monitor_reading reading;

    (void)state;
    event.family = AF_INET6;
    event.src[0] = event.dst[0] = 0xfd;
    event.txhash = 0x12345678;
    event.traffic_class = 0x28;
    event.tos = 0x20;
    assert_true(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    assert_true(reading.has_label);
    assert_int_equal(reading.flow_label, 0x27856); /* 0x56781234 lies as 34 12 78 56 */
    assert_int_equal(reading.traffic_class, 0x28);
    assert_true(pd_monitor_event_read(&event, sizeof event, &stateless, &reading));
    assert_int_equal(reading.flow_label, 0xa7856);
    assert_true(pd_monitor_event_read(&event, sizeof event, &none, &reading));
    assert_int_equal(reading.flow_label, 0);
    event.flow_label = 0xabcde;
    assert_true(pd_monitor_event_read(&event, sizeof event, &stateless, &reading));
    assert_int_equal(reading.flow_label, 0xabcde);
    event.family = AF_INET;
    assert_true(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    assert_false(reading.has_label);
    assert_int_equal(reading.traffic_class, 0x20);
}

static void events_are_read(void **state)
{
    struct pd_monitor_event event = make_event();
    struct pd_monitor_reading reading;

    (void)state;
    assert_true(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    assert_int_equal(reading.kind, PD_MONITOR_RETRANSMISSION);
    assert_int_equal(reading.throughput_bps, 80000000);
    assert_int_equal(reading.timeouts, UINT32_MAX);
    assert_false(reading.is_empty);
    event.empty = 1;
    assert_true(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    assert_true(reading.is_empty);
    event.family = AF_INET6;
    memset(event.src, 0, 16);
    event.src[10] = event.src[11] = 0xff;
    event.src[12] = 10;
    memcpy(event.dst, event.src, 16);
    assert_true(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    assert_int_equal(reading.flow.ip_version, 4);
    assert_int_equal(reading.flow.dst.bytes[0], 10);
    event.kind = PD_EVENT_CLOSED;
    assert_true(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    assert_true(reading.closed);
    event.kind = PD_EVENT_SYN_ACK;
    assert_true(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    assert_false(reading.has_info);
}

static void wrong_events_are_refused(void **state)
{
    struct pd_monitor_event event = make_event();
    struct pd_monitor_reading reading;

    (void)state;
    assert_false(pd_monitor_event_read(&event, sizeof event - 1, &labels, &reading));
    event.kind = 0;
    assert_false(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    event = make_event();
    event.state = 6;
    assert_false(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    event = make_event();
    event.family = AF_UNIX;
    assert_false(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
    event = make_event();
    event.dst_port = 0;
    assert_false(pd_monitor_event_read(&event, sizeof event, &labels, &reading));
}

/* ---- /proc/net/snmp ---- */

static int read_snmp(const char *given, uint64_t *ret_value)
{
    char text[300];

    snprintf(text, sizeof text, "%s", given);
    return pd_inet_diag_snmp_retransmissions(text, strlen(text), ret_value);
}

static void the_counter_is_found(void **state)
{
    static const char *const wrong[] = {"",
                                        "Tcp: RetransSegs",
                                        "Tcp: OutSegs\nTcp: 1",
                                        "Tcp: A RetransSegs\nTcp: 1",
                                        "Tcp: RetransSegs\nTcp: x",
                                        "Tcp: RetransSegs\nTcp: -1",
                                        "Tcp: RetransSegs\nTcp: 99999999999999999999",
                                        "Tcp: RetransSegs\nTcp: 1x",
                                        "Udp: RetransSegs\nUdp: 1"};
    uint64_t value = 0;

    (void)state;
    assert_int_equal(
        read_snmp("Ip: A B\nIp: 1 2\nTcp: MaxConn RetransSegs InErrs\nTcp: -1 42 7\n", &value), 0);
    assert_int_equal(value, 42);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_snmp(wrong[i], &value), -PD_E_SYNTAX);
    }
    assert_int_equal(value, 42);
}

/* ---- JSON ---- */

static void lists_are_json(void **state)
{
    struct pd_monitor_flow flow = {
        .flow = {.src_port = 1, .dst_port = 2, .protocol = 6, .ip_version = 4},
        .state = PD_MONITOR_SYN_SENT,
        .retransmissions = 4,
        .recent = 2,
        .first_us = 1};
    struct pd_monitor_list list = {.flows = &flow,
                                   .len = 1,
                                   .complete = true,
                                   .stat = {.source = PD_MONITOR_BPF, .flows_forgotten = 3}};
    json_t *json = pd_monitor_list_json(&list, true), *one;

    (void)state;
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "source")), "bpf");
    assert_int_equal(json_integer_value(json_object_get(json, "forgotten")), 3);
    one = json_array_get(json_object_get(json, "flows"), 0);
    assert_string_equal(json_string_value(json_object_get(one, "state")), "syn_sent");
    assert_int_equal(json_integer_value(json_object_get(one, "recent")), 2);
    assert_true(json_is_null(json_object_get(one, "opened_us")));
    json_decref(json);
    flow.closed = true;
    json = pd_monitor_flow_json(&flow, false);
    assert_string_equal(json_string_value(json_object_get(json, "state")), "closed");
    assert_null(json_object_get(json, "recent"));
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_read),        cmocka_unit_test(mapped_addresses_are_ipv4),
        cmocka_unit_test(lengths_may_differ),       cmocka_unit_test(hostile_messages),
        cmocka_unit_test(labels_are_the_kernels),   cmocka_unit_test(events_are_read),
        cmocka_unit_test(wrong_events_are_refused), cmocka_unit_test(the_counter_is_found),
        cmocka_unit_test(lists_are_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
