/* SPDX-License-Identifier: Apache-2.0 */
/* Two network namespaces joined by a veth pair: `tx` in the sender's, `rx` in this process's. */
#ifndef TESTS_INTEGRATION_INTAKE_NET_H
#define TESTS_INTEGRATION_INTAKE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RX_IPV4 "10.77.0.1"
#define TX_IPV4 "10.77.0.2"
#define RX_IPV6 "fd77::1"
#define TX_IPV6 "fd77::2"

/* Everything fails the test (cmocka) when it does not work. The namespaces end with the process. */
void net_make_namespaces(void);
void net_make_link(void); /* tx and rx, up, addressed, and quiet: nothing is sent unasked */
void net_remove_link(void);

/* A shell command, in the namespace that this process is in. */
bool net_try(const char *command);
void net_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
void net_enter_sender(void);
void net_leave_sender(void);

/* In a child: another user from now on, with these capabilities (1 << CAP_…) only; exits when that
 * fails. */
void net_become_nobody(uint64_t capabilities);

int net_packet_socket(void);                 /* in the sender's namespace, on tx */
int net_own_packet_socket(const char *name); /* in this namespace */
void net_rx_address(uint8_t mac[6]);

/* From now on all that leaves tx gets these tags; types[0] is pushed first. 0 tags: none any more.
 */
struct push {
    uint32_t len;
    uint16_t types[4];
    uint16_t tags[4];
};
void net_push_tags(const struct push *push);

/* One TCP connection from the sender to this namespace: that many bytes, then FIN. False: it cannot
 * be established within the time. `ret_pkts` and `ret_bytes` are what the sender's TCP says that it
 * sent, in IP packets. */
bool net_tcp(bool use_ipv6, size_t payload_bytes, int timeout_ms, uint64_t *ret_pkts,
             uint64_t *ret_bytes);

#endif
