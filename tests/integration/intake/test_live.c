/* SPDX-License-Identifier: Apache-2.0 */
/* The live intake on a veth: the suite of all intakes, tags that the kernel took off, interfaces
 * that come and go. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cmocka.h>

#include "base/clock.h"
#include "conformance.h"
#include "intake/live/live.h"
#include "net.h"

#define SKIPPED 77

static struct pd_intake *open_live(const struct pd_intake_config *config,
                                   const struct pd_trajectory_sink *sink)
{
    struct pd_intake *intake = NULL;
    struct pd_error error = {0};

    if (pd_intake_open("live:rx", config, sink, &intake, &error) < 0) {
        fail_msg("%s", error.text);
    }
    return intake;
}

static void send_traffic(const struct traffic *traffic)
{
    const int fd = net_packet_socket();

    for (size_t i = 0; i < traffic->len; i++) {
        assert_int_equal(send(fd, traffic->frames[i].data, traffic->frames[i].bytes, 0),
                         traffic->frames[i].bytes);
    }
    close(fd);
}

static struct pd_intake_status status_of(const struct pd_intake *intake)
{
    struct pd_intake_status status;

    pd_intake_status(intake, &status);
    return status;
}

static struct pd_intake_config plain_config(void)
{
    const struct traffic nothing = {0};

    return conformance_config(&nothing);
}

static void poll_until_state(struct pd_intake *intake, enum pd_intake_state state)
{
    for (unsigned i = 0; i < 200 && status_of(intake).state != state; i++) {
        assert_int_equal(pd_intake_poll(intake, 50), 0);
    }
    assert_int_equal(status_of(intake).state, state);
}

/* Frames come within milliseconds on a veth: 100 ms without one is the end. */
static void poll_until_quiet(struct pd_intake *intake)
{
    uint64_t frames = UINT64_MAX;

    while (status_of(intake).frames != frames) {
        const uint64_t until_ns = pd_clock_monotonic_ns() + 100 * PD_NS_PER_MS;

        frames = status_of(intake).frames;
        while (pd_clock_monotonic_ns() < until_ns) {
            assert_int_equal(pd_intake_poll(intake, 20), 0);
        }
    }
}

/* ---- the suite ------------------------------------------------------------------------------ */

static struct pd_intake *open_and_send(void *context, const struct traffic *traffic,
                                       const struct pd_intake_config *config,
                                       const struct pd_trajectory_sink *sink)
{
    struct pd_intake *intake = open_live(config, sink);

    (void)context;
    send_traffic(traffic);
    return intake;
}

static void test_conformance(void **state)
{
    const struct feeder feeder = {"live", false, NULL, open_and_send};

    (void)state;
    conformance_run(&feeder);
}

/* ---- tags beside the frame, merged segments ------------------------------------------------- */

/* TCP with tags that were pushed on the way. With one tag the sender's segments come merged, with
 * two each by itself; either way the record has the tags and what TCP says that it sent. */
static void count_tcp(bool use_ipv6, const struct push *push)
{
    struct pd_intake_config config = plain_config();
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake *intake;
    uint64_t pkts, bytes;

    config.options = &(const struct pd_intake_live_options){.strip = true};
    intake = open_live(&config, &sink);
    net_push_tags(push);
    assert_true(net_tcp(use_ipv6, 1000000, 3000, &pkts, &bytes));
    net_push_tags(&(struct push){0});
    poll_until_quiet(intake);
    pd_intake_flush(intake);
    assert_int_equal(collected.sums.len, 1);
    assert_int_equal(collected.sums.of[0].tags_len, push->len);
    for (unsigned i = 0; i < push->len; i++) {
        assert_int_equal(collected.sums.of[0].tags[i], push->tags[i]);
    }
    assert_int_equal(collected.pkts, pkts);
    assert_int_equal(collected.bytes, bytes);
    assert_int_equal(status_of(intake).kernel_drops, 0);
    print_message("%u tags: %llu packets in %llu frames\n", push->len, (unsigned long long)pkts,
                  (unsigned long long)status_of(intake).frames);
    if (push->len < 2) { /* the test would show nothing if the kernel merged none */
        assert_true(status_of(intake).frames < pkts);
    }
    pd_intake_close(intake);
}

static void test_tcp_sums(void **state)
{
    static const struct push pushes[] = {
        {0},
        {1, {0x8100}, {9}},
        {1, {0x88a8}, {4094}},
        {2, {0x8100, 0x8100}, {9, 14}},
        {2, {0x8100, 0x88a8}, {1, 2}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
        count_tcp(false, &pushes[i]);
        count_tcp(true, &pushes[i]);
    }
}

/* ---- directions, drops, waking -------------------------------------------------------------- */

static void test_outgoing_is_not_counted(void **state)
{
    const struct pd_intake_config config = plain_config();
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake *intake = open_live(&config, &sink);
    const int fd = net_own_packet_socket("rx");
    struct traffic traffic;

    (void)state;
    traffic_make(&traffic, 3, 10, false);
    for (size_t i = 0; i < traffic.len; i++) {
        assert_true(send(fd, traffic.frames[i].data, traffic.frames[i].bytes, 0) > 0);
    }
    poll_until_quiet(intake);
    assert_int_equal(status_of(intake).frames, 0);
    close(fd);
    traffic_free(&traffic);
    pd_intake_close(intake);
}

/* A ring that is too small: each frame is either read or counted as dropped. */
static void test_drops_are_counted(void **state)
{
    struct pd_intake_config config = plain_config();
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake_status status;
    struct pd_intake *intake;
    struct traffic traffic;

    (void)state;
    config.options = &(const struct pd_intake_live_options){.ring_bytes = 1};
    intake = open_live(&config, &sink);
    traffic_make(&traffic, 5, 20000, false);
    send_traffic(&traffic);
    poll_until_quiet(intake);
    status = status_of(intake);
    assert_true(status.kernel_drops > 0 && status.frames > 0);
    assert_int_equal(status.frames + status.kernel_drops, traffic.len);
    traffic_free(&traffic);
    pd_intake_close(intake);
}

/* Frames that came right before a flush are in the block that the kernel has not handed over yet.
 */
static void test_flush_reads_what_came(void **state)
{
    const struct pd_intake_config config = plain_config();
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake *intake = open_live(&config, &sink);
    struct traffic traffic;

    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        traffic_make(&traffic, round, 100, false);
        send_traffic(&traffic);
        assert_int_equal(pd_intake_flush(intake), 0);
        assert_int_equal(status_of(intake).frames, 100 * (round + 1));
        assert_int_equal(status_of(intake).kernel_drops, 0);
        sums_assert_equal(&collected.sums, &traffic.expected);
        collected.sums.len = 0;
        traffic_free(&traffic);
    }
    pd_intake_close(intake);
}

static void test_waking(void **state)
{
    struct pd_intake_config config = plain_config();
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    const uint64_t one = 1;
    struct pd_intake *intake;
    uint64_t begun_ns;

    (void)state;
    config.wake_fd = eventfd(0, EFD_CLOEXEC);
    assert_true(config.wake_fd >= 0);
    intake = open_live(&config, &sink);
    assert_int_equal(write(config.wake_fd, &one, sizeof(one)), sizeof(one));
    begun_ns = pd_clock_monotonic_ns();
    for (unsigned i = 0; i < 100; i++) { /* 5 s if it slept */
        assert_int_equal(pd_intake_poll(intake, 1000), 0);
    }
    assert_true(pd_clock_monotonic_ns() - begun_ns < PD_NS_PER_S);
    pd_intake_close(intake);
    close(config.wake_fd);
}

/* ---- interfaces that come and go ------------------------------------------------------------ */

static void expect_counting(struct pd_intake *intake, struct collected *collected)
{
    const uint64_t before = status_of(intake).verdicts[PD_PACKET_OK];
    struct traffic traffic;

    traffic_make(&traffic, 23, 100, false);
    send_traffic(&traffic);
    poll_until_quiet(intake);
    assert_int_equal(status_of(intake).verdicts[PD_PACKET_OK] - before, traffic.good);
    pd_intake_flush(intake);
    sums_assert_equal(&collected->sums, &traffic.expected);
    collected->sums.len = 0;
    traffic_free(&traffic);
}

static void test_down_and_up(void **state)
{
    const struct pd_intake_config config = plain_config();
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake *intake;

    (void)state;
    net_run("ip link set dev rx down");
    intake = open_live(&config, &sink);
    assert_int_equal(status_of(intake).state, PD_INTAKE_WAITING);
    assert_non_null(strstr(status_of(intake).detail, "rx is down"));
    net_run("ip link set dev rx up");
    poll_until_state(intake, PD_INTAKE_RUNNING);
    expect_counting(intake, &collected);
    net_run("ip link set dev rx down");
    poll_until_state(intake, PD_INTAKE_WAITING);
    net_run("ip link set dev rx up");
    poll_until_state(intake, PD_INTAKE_RUNNING);
    assert_string_equal(status_of(intake).detail, "");
    expect_counting(intake, &collected);
    pd_intake_close(intake);
    net_remove_link();
    net_make_link();
}

/* Removed, made anew under the same name: counting goes on, and so does stripping. */
static void test_removed_and_back(void **state)
{
    struct pd_intake_config config = plain_config();
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake *intake;
    uint64_t pkts, bytes;

    (void)state;
    config.options = &(const struct pd_intake_live_options){.strip = true};
    intake = open_live(&config, &sink);
    expect_counting(intake, &collected);
    net_remove_link();
    poll_until_state(intake, PD_INTAKE_WAITING);
    assert_non_null(strstr(status_of(intake).detail, "rx was removed"));
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(pd_intake_poll(intake, 50), 0);
    }
    net_make_link();
    poll_until_state(intake, PD_INTAKE_RUNNING);
    expect_counting(intake, &collected);
    net_push_tags(&(struct push){1, {0x8100}, {5}});
    assert_true(net_tcp(false, 1000, 3000, &pkts, &bytes));
    net_push_tags(&(struct push){0});
    pd_intake_close(intake);
}

/* ---- what cannot be opened ------------------------------------------------------------------ */

static void expect_refused(const char *spec, int err, const char *words)
{
    const struct pd_intake_config config = plain_config();
    struct collected collected = {0};
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake *intake = NULL;
    struct pd_error error = {0};

    assert_int_equal(pd_intake_open(spec, &config, &sink, &intake, &error), err);
    assert_null(intake);
    assert_null(strchr(error.text, '\n'));
    if (!strstr(error.text, words)) {
        fail_msg("'%s' is not in '%s'", words, error.text);
    }
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("live:nosuchif0", -ENODEV, "nosuchif0: no such interface");
    expect_refused("live:a-name-that-is-much-too-long", -ENODEV, "no such interface");
    if (net_try("ip tuntap add dev tun9 mode tun 2>/dev/null")) {
        expect_refused("live:tun9", -PD_E_UNSUPPORTED, "Ethernet only");
        net_run("ip tuntap del dev tun9 mode tun");
    }
}

/* In a child with these capabilities only: 0 when the intake opens and counts, else what fails. */
static int live_as_nobody(uint64_t capabilities, bool strip, const char *words)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        struct pd_intake_config config = plain_config();
        struct collected collected = {0};
        const struct pd_trajectory_sink sink = conformance_sink(&collected);
        struct pd_intake *intake = NULL;
        struct pd_error error = {0};
        int r;

        config.options =
            &(const struct pd_intake_live_options){.strip = strip, .promiscuous = true};
        net_become_nobody(capabilities);
        r = pd_intake_open("live:rx", &config, &sink, &intake, &error);
        if (r == 0) {
            r = pd_intake_poll(intake, 20);
            pd_intake_close(intake);
        }
        if (words) {
            r = r == -EPERM && strstr(error.text, words) ? 0 : -1;
        }
        _exit(r == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_capabilities(void **state)
{
    const uint64_t raw = UINT64_C(1) << CAP_NET_RAW;
    const uint64_t all = raw | UINT64_C(1) << CAP_NET_ADMIN | UINT64_C(1) << CAP_BPF;

    (void)state;
    assert_int_equal(live_as_nobody(0, false, "CAP_NET_RAW"), 0);
    assert_int_equal(live_as_nobody(raw, false, NULL), 0);
    assert_int_equal(live_as_nobody(raw, true, "CAP_BPF and CAP_NET_ADMIN"), 0);
    assert_int_equal(live_as_nobody(all, true, NULL), 0);
}

static int make_link(void **state)
{
    (void)state;
    net_make_namespaces();
    net_make_link();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conformance),
        cmocka_unit_test(test_tcp_sums),
        cmocka_unit_test(test_outgoing_is_not_counted),
        cmocka_unit_test(test_drops_are_counted),
        cmocka_unit_test(test_flush_reads_what_came),
        cmocka_unit_test(test_waking),
        cmocka_unit_test(test_down_and_up),
        cmocka_unit_test(test_removed_and_back),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_capabilities),
    };

    if (geteuid() != 0) {
        fprintf(stderr, "SKIPPED: needs root (network namespaces, packet sockets, BPF)\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, make_link, NULL);
}
