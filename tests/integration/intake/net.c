/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces, veth, tags pushed on the way, and TCP through all of it. */
#include "net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>

#include <bpf/libbpf.h>
#include <cmocka.h>

static int own_fd = -1, sender_fd = -1;

/* ---- namespaces ----------------------------------------------------------------------------- */

static int new_namespace(void)
{
    int fd;

    assert_int_equal(unshare(CLONE_NEWNET), 0);
    fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

void net_make_namespaces(void)
{
    sender_fd = new_namespace();
    net_run("ip link set lo up");
    own_fd = new_namespace();
    net_run("ip link set lo up");
}

void net_enter_sender(void)
{
    assert_int_equal(setns(sender_fd, CLONE_NEWNET), 0);
}

void net_leave_sender(void)
{
    assert_int_equal(setns(own_fd, CLONE_NEWNET), 0);
}

bool net_try(const char *command)
{
    return system(command) == 0; /* a command of the test's own. NOLINT(cert-env33-c) */
}

void net_run(const char *format, ...)
{
    char command[500];
    va_list values;

    va_start(values, format);
    /* clang-tidy 14 loses the list here. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(command, sizeof(command), format, values);
    va_end(values);
    if (!net_try(command)) {
        fail_msg("failed: %s", command);
    }
}

void net_become_nobody(uint64_t capabilities)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};

    for (unsigned i = 0; i < 2; i++) {
        data[i].permitted = (uint32_t)(capabilities >> (32 * i));
        data[i].effective = data[i].permitted;
    }
    if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setresuid(65534, 65534, 65534) < 0 ||
        syscall(SYS_capset, &header, data) < 0) {
        perror("cannot change the user");
        _exit(2);
    }
}

/* Without router solicitations and the like: nodad, no link-local address, fixed neighbours. */
static void set_up_end(const char *name, const char *ipv4, const char *ipv6, const char *peer_mac,
                       const char *peer_ipv4, const char *peer_ipv6)
{
    net_run("ip link set dev %s addrgenmode none mtu 1516", name);
    net_run("ip link set dev %s up", name);
    net_run("ip addr add %s/24 dev %s", ipv4, name);
    net_run("ip -6 addr add %s/64 dev %s nodad", ipv6, name);
    net_run("ip route change 10.77.0.0/24 dev %s src %s mtu 1500", name, ipv4);
    net_run("ip neigh add %s dev %s lladdr %s", peer_ipv4, name, peer_mac);
    net_run("ip neigh add %s dev %s lladdr %s", peer_ipv6, name, peer_mac);
}

void net_make_link(void)
{
    static const char rx_mac[] = "02:00:00:00:00:01", tx_mac[] = "02:00:00:00:00:02";

    net_run("ip link add name rx address %s type veth peer name tx address %s netns /proc/%d/fd/%d",
            rx_mac, tx_mac, getpid(), sender_fd);
    net_push_tags(&(struct push){0});
    set_up_end("rx", RX_IPV4, RX_IPV6, tx_mac, TX_IPV4, TX_IPV6);
    net_enter_sender();
    set_up_end("tx", TX_IPV4, TX_IPV6, rx_mac, RX_IPV4, RX_IPV6);
    net_leave_sender();
}

void net_remove_link(void)
{
    net_run("ip link del rx");
}

/* ---- packet sockets ------------------------------------------------------------------------- */

int net_own_packet_socket(const char *name)
{
    const struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                        .sll_ifindex = (int)if_nametoindex(name)};
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && address.sll_ifindex > 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* After its other end came up a device sends nothing until the kernel has noted the carrier, in its
 * own time: on a busy machine what was sent before is gone. */
static void wait_for_carrier(int fd, const char *name)
{
    struct ifreq request = {.ifr_flags = 0};

    strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &request), 0);
        if (request.ifr_flags & IFF_RUNNING) {
            poll(NULL, 0, 10); /* the queue is set up behind the flag */
            return;
        }
        poll(NULL, 0, 10);
    }
    fail_msg("%s has no carrier", name);
}

int net_packet_socket(void)
{
    int fd;

    net_enter_sender();
    fd = net_own_packet_socket("tx");
    wait_for_carrier(fd, "tx");
    net_leave_sender();
    return fd;
}

void net_rx_address(uint8_t mac[6])
{
    memcpy(mac, (const uint8_t[]){2, 0, 0, 0, 0, 1}, 6);
}

/* ---- tags ----------------------------------------------------------------------------------- */

static struct bpf_object *load_push(const struct push *push)
{
    struct bpf_object *object = bpf_object__open_file(PUSH_OBJECT, NULL);

    assert_non_null(object);
    assert_int_equal(bpf_map__set_initial_value(bpf_object__find_map_by_name(object, ".rodata"),
                                                push, sizeof(*push)),
                     0);
    assert_int_equal(bpf_object__load(object), 0);
    return object;
}

void net_push_tags(const struct push *push)
{
    struct bpf_object *object = load_push(push);

    net_enter_sender();

    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex("tx"),
                .attach_point = BPF_TC_EGRESS);
    LIBBPF_OPTS(bpf_tc_opts, filter, .handle = 1, .priority = 1, .flags = BPF_TC_F_REPLACE,
                .prog_fd = bpf_program__fd(bpf_object__find_program_by_name(object, "push_tags")));
    const int r = bpf_tc_hook_create(&hook);

    assert_true(r == 0 || r == -EEXIST);
    assert_int_equal(bpf_tc_attach(&hook, &filter), 0);
    net_leave_sender();
    bpf_object__close(object); /* the filter holds the program */
}

/* ---- TCP ------------------------------------------------------------------------------------ */

union address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
};

static socklen_t rx_address(bool use_ipv6, union address *ret_address)
{
    memset(ret_address, 0, sizeof(*ret_address));
    if (use_ipv6) {
        ret_address->ipv6.sin6_family = AF_INET6;
        assert_int_equal(inet_pton(AF_INET6, RX_IPV6, &ret_address->ipv6.sin6_addr), 1);
        return sizeof(ret_address->ipv6);
    }
    ret_address->ipv4.sin_family = AF_INET;
    assert_int_equal(inet_pton(AF_INET, RX_IPV4, &ret_address->ipv4.sin_addr), 1);
    return sizeof(ret_address->ipv4);
}

static int tcp_socket(const union address *address)
{
    const int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    return fd;
}

static bool wait_for(int fd, short events, int timeout_ms)
{
    struct pollfd one = {fd, events, 0};

    return poll(&one, 1, timeout_ms) > 0;
}

/* Both ends in one thread; returns when the receiver has read to the end. */
static void transfer(int from_fd, int to_fd, size_t payload_bytes)
{
    static uint8_t buffer[65536];
    size_t sent = 0, got = 0;
    ssize_t n = 1;

    while (n != 0) {
        const size_t left = payload_bytes - sent;

        if (left > 0) {
            n = send(from_fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer), 0);
            sent += n > 0 ? (size_t)n : 0;
            if (sent == payload_bytes) {
                shutdown(from_fd, SHUT_WR);
            }
        }
        assert_true(wait_for(to_fd, POLLIN, 5000));
        n = recv(to_fd, buffer, sizeof(buffer), MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(got, payload_bytes);
}

/* Every segment has 20 bytes of TCP header and 12 of time stamps; the SYN has 8 more of options. */
static void read_sent(int fd, bool use_ipv6, uint64_t *ret_pkts, uint64_t *ret_bytes)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof(info);

    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes), 0);
    *ret_pkts = info.tcpi_segs_out;
    *ret_bytes = info.tcpi_bytes_sent + info.tcpi_segs_out * (use_ipv6 ? 72ULL : 52ULL) + 8;
}

bool net_tcp(bool use_ipv6, size_t payload_bytes, int timeout_ms, uint64_t *ret_pkts,
             uint64_t *ret_bytes)
{
    union address address;
    socklen_t bytes = rx_address(use_ipv6, &address);
    const int listen_fd = tcp_socket(&address);
    int fd, accepted_fd;
    bool connected;

    assert_int_equal(bind(listen_fd, &address.any, bytes), 0);
    assert_int_equal(listen(listen_fd, 1), 0);
    assert_int_equal(getsockname(listen_fd, &address.any, &bytes), 0);
    net_enter_sender();
    fd = tcp_socket(&address);
    net_leave_sender();
    assert_true(connect(fd, &address.any, bytes) < 0 && errno == EINPROGRESS);
    connected = wait_for(listen_fd, POLLIN, timeout_ms);
    if (connected) {
        accepted_fd = accept(listen_fd, NULL, NULL);
        assert_true(accepted_fd >= 0);
        assert_true(wait_for(fd, POLLOUT, timeout_ms));
        transfer(fd, accepted_fd, payload_bytes);
        close(accepted_fd); /* its FIN is acknowledged at once, and that is counted as well */
        assert_true(wait_for(fd, POLLIN, timeout_ms));
        read_sent(fd, use_ipv6, ret_pkts, ret_bytes);
    }
    close(fd);
    close(listen_fd);
    return connected;
}
