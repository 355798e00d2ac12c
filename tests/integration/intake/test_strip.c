/* SPDX-License-Identifier: Apache-2.0 */
/* strip: the host's own stack gets frames without tags, through either hook, and only while the
 * process lives. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "intake/live/strip.h"
#include "net.h"

#define SKIPPED     77
#define NO_TCP_MS   600
#define TCP_MS      3000
#define PORT        7777
#define TCP_PAYLOAD 200000

static const enum pd_strip_hook hooks[] = {PD_STRIP_TCX, PD_STRIP_CLSACT};
static const char *const hook_names[] = {"TCX", "clsact"};

/* ---- helpers -------------------------------------------------------------------------------- */

static struct pd_strip *open_strip(enum pd_strip_hook hook, bool clear_dscp)
{
    struct pd_strip *strip = NULL;
    struct pd_error error = {0};

    const struct pd_strip_what what = {.clear_dscp = clear_dscp};

    if (pd_live_strip_open((int)if_nametoindex("rx"), hook, &what, &strip, &error) < 0) {
        fail_msg("%s", error.text);
    }
    return strip;
}

static bool tcp_works(bool use_ipv6, int timeout_ms)
{
    uint64_t pkts, bytes;

    return net_tcp(use_ipv6, TCP_PAYLOAD, timeout_ms, &pkts, &bytes);
}

/* The kernel's own list of what sits on the hook. */
static bool filter_is_listed(void)
{
    return net_try("tc filter show dev rx ingress | grep -q strip_clsact");
}

/* ---- TCP ------------------------------------------------------------------------------------ */

/* Tagged TCP does not arrive without strip, does with it, and does not after it. */
static void test_tcp(void **state)
{
    static const struct push pushes[] = {
        {1, {0x8100}, {9}},
        {2, {0x8100, 0x8100}, {9, 14}},
        {2, {0x8100, 0x88a8}, {9, 14}},
        {4, {0x8100, 0x8100, 0x88a8, 0x8100}, {1, 2, 3, 4094}},
    };

    (void)state;
    for (unsigned h = 0; h < 2; h++) {
        for (unsigned i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
            struct pd_strip *strip = open_strip(hooks[h], i % 2);

            print_message("%s, %u tags\n", hook_names[h], pushes[i].len);
            net_push_tags(&pushes[i]);
            assert_true(tcp_works(false, TCP_MS));
            assert_true(tcp_works(true, TCP_MS));
            pd_live_strip_close(strip);
            assert_false(tcp_works(false, NO_TCP_MS));
            assert_false(filter_is_listed());
            net_push_tags(&(struct push){0});
        }
    }
}

/* Untagged traffic passes as before. */
static void test_untagged(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 2; h++) {
        struct pd_strip *strip = open_strip(hooks[h], true);

        assert_true(tcp_works(false, TCP_MS));
        assert_true(tcp_works(true, TCP_MS));
        pd_live_strip_close(strip);
    }
}

/* ---- any tags, and the DSCP ----------------------------------------------------------------- */

static uint16_t header_checksum(const uint8_t *header)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2) {
        sum += (uint32_t)header[i] << 8 | header[i + 1];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

/* UDP over IPv4 with these tag types, outermost first; returns the frame's bytes. */
static size_t make_datagram(uint8_t *frame, const uint16_t *types, unsigned types_len, uint8_t tos)
{
    uint8_t ip[] = {0x45,      tos,         0,  32, 0, 1,  0,   0,   64,  IPPROTO_UDP, 0,
                    0,         10,          77, 0,  2, 10, 77,  0,   1,   0,           9,
                    PORT >> 8, PORT & 0xff, 0,  12, 0, 0,  'p', 'a', 't', 'h'};
    const uint16_t sum = (net_rx_address(frame), header_checksum(ip));
    size_t at = 12;

    memcpy(frame + 6, (const uint8_t[]){2, 0, 0, 0, 0, 2}, 6);
    for (unsigned i = 0; i < types_len; i++) {
        const uint8_t tag[] = {(uint8_t)(types[i] >> 8), (uint8_t)types[i], 0x20, (uint8_t)(i + 1)};

        memcpy(frame + at, tag, sizeof(tag));
        at += sizeof(tag);
    }
    memcpy(frame + at, (const uint8_t[]){8, 0}, 2);
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
    memcpy(frame + at + 2, ip, sizeof(ip));
    return at + 2 + sizeof(ip);
}

static int udp_socket(void)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), yes = 1;

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &yes, sizeof(yes)), 0);
    return fd;
}

/* True when a datagram came; then its TOS byte. */
static bool receive(int fd, uint8_t *ret_tos)
{
    char text[16], control[64];
    struct iovec io = {text, sizeof(text)};
    struct msghdr message = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct pollfd one = {fd, POLLIN, 0};
    const struct cmsghdr *tos;

    if (poll(&one, 1, 300) <= 0) {
        return false;
    }
    assert_int_equal(recvmsg(fd, &message, 0), 4);
    assert_memory_equal(text, "path", 4);
    tos = CMSG_FIRSTHDR(&message);
    if (!tos) {
        fail_msg("no TOS beside the datagram");
        return false;
    }
    *ret_tos = *CMSG_DATA(tos);
    return true;
}

static void test_any_tags(void **state)
{
    static const struct {
        unsigned len;
        uint16_t types[5];
    } stacks[] = {
        {0, {0}},
        {1, {0x8100}},
        {1, {0x88a8}},
        {1, {0x9100}},
        {2, {0x88a8, 0x8100}},
        {2, {0x9100, 0x8100}},
        {2, {0x8100, 0x9100}},
        {2, {0x9100, 0x9100}},
        {3, {0x88a8, 0x9100, 0x8100}},
        {4, {0x8100, 0x8100, 0x8100, 0x8100}},
        {4, {0x9100, 0x9100, 0x9100, 0x9100}},
    };
    const int to = udp_socket(), from = net_packet_socket();

    (void)state;
    for (unsigned n = 0; n < 4; n++) {
        const bool clear_dscp = n & 1;
        struct pd_strip *strip = open_strip(hooks[n / 2], clear_dscp);

        for (unsigned i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
            for (unsigned tos = 1; tos < 256; tos += 62) {
                uint8_t frame[128], got;
                const size_t bytes =
                    make_datagram(frame, stacks[i].types, stacks[i].len, (uint8_t)tos);

                assert_int_equal(send(from, frame, bytes, 0), bytes);
                if (!receive(to, &got)) {
                    fail_msg("%s: nothing came of stack %u", hook_names[n / 2], i);
                }
                assert_int_equal(got, clear_dscp ? tos & 3 : tos);
            }
        }
        pd_live_strip_close(strip);
    }
    close(from);
    close(to);
}

/* The same field in IPv6: through a socket, so that the kernel makes the checksum. */
static void test_ipv6_dscp(void **state)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    const int to = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), yes = 1;
    int from;

    (void)state;
    assert_int_equal(bind(to, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(to, IPPROTO_IPV6, IPV6_RECVTCLASS, &yes, sizeof(yes)), 0);
    assert_int_equal(inet_pton(AF_INET6, RX_IPV6, &address.sin6_addr), 1);
    net_enter_sender();
    from = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    net_leave_sender();
    net_push_tags(&(struct push){2, {0x8100, 0x8100}, {9, 14}});
    for (unsigned h = 0; h < 2; h++) {
        struct pd_strip *strip = open_strip(hooks[h], true);

        for (int class = 1; class < 256; class += 62) {
            uint8_t got;

            assert_int_equal(setsockopt(from, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class)), 0);
            assert_int_equal(
                sendto(from, "path", 4, 0, (const struct sockaddr *)&address, sizeof(address)), 4);
            assert_true(receive(to, &got));
            assert_int_equal(got, class & 3);
        }
        pd_live_strip_close(strip);
    }
    net_push_tags(&(struct push){0});
    close(from);
    close(to);
}

/* ---- life and death ------------------------------------------------------------------------- */

/* A child that strips until it is killed. */
static pid_t start_stripper(enum pd_strip_hook hook)
{
    int ready[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        struct pd_strip *strip;
        struct pd_error error = {0};

        if (pd_live_strip_open((int)if_nametoindex("rx"), hook, &(struct pd_strip_what){0}, &strip,
                               &error) < 0) {
            fprintf(stderr, "%s\n", error.text);
            _exit(1);
        }
        if (write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

/* kill -9: from then on tags stay on. A new start is not held up by what the old one left. */
static void test_kill(void **state)
{
    (void)state;
    net_push_tags(&(struct push){1, {0x8100}, {9}});
    for (unsigned h = 0; h < 2; h++) {
        const pid_t child = start_stripper(hooks[h]);
        struct pd_strip *strip;

        assert_true(tcp_works(false, TCP_MS));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_false(tcp_works(false, NO_TCP_MS));
        strip = open_strip(hooks[h], false);
        assert_true(tcp_works(false, TCP_MS));
        pd_live_strip_close(strip);
        assert_false(tcp_works(false, NO_TCP_MS));
        assert_false(filter_is_listed());
    }
    net_push_tags(&(struct push){0});
}

/* ---- permission ----------------------------------------------------------------------------- */

static int strip_as_nobody(enum pd_strip_hook hook, uint64_t capabilities)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        struct pd_strip *strip = NULL;
        struct pd_error error = {0};
        int r;

        net_become_nobody(capabilities);
        r = pd_live_strip_open((int)if_nametoindex("rx"), hook,
                               &(struct pd_strip_what){.clear_dscp = true}, &strip, &error);
        if (r < 0) {
            fprintf(stderr, "%s\n", error.text);
        }
        pd_live_strip_close(strip);
        _exit(r == 0 ? 0 : strstr(error.text, "CAP_BPF and CAP_NET_ADMIN") ? 10 : 11);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* CAP_BPF and CAP_NET_ADMIN are enough; without them the error names them. */
static void test_capabilities(void **state)
{
    const uint64_t net_admin = UINT64_C(1) << CAP_NET_ADMIN, bpf = UINT64_C(1) << CAP_BPF;

    (void)state;
    for (unsigned h = 0; h < 2; h++) {
        assert_int_equal(strip_as_nobody(hooks[h], net_admin | bpf), 0);
        assert_int_equal(strip_as_nobody(hooks[h], net_admin), 10);
        assert_int_equal(strip_as_nobody(hooks[h], 0), 10);
    }
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
        cmocka_unit_test(test_untagged), cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_any_tags), cmocka_unit_test(test_ipv6_dscp),
        cmocka_unit_test(test_kill),     cmocka_unit_test(test_capabilities),
    };

    if (geteuid() != 0) {
        fprintf(stderr, "SKIPPED: needs root (network namespaces and BPF)\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, make_link, NULL);
}
