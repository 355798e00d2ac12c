/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel for its TCP sockets: all of them, or one (sock_diag over netlink). */
#ifndef PD_MONITOR_INET_DIAG_DIAG_H
#define PD_MONITOR_INET_DIAG_DIAG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "monitor/reading.h"

/* Needs no privilege. Sockets of the network namespace in which it was opened: IPv4, IPv6,
 * half-open ones as well; not those that listen, and not those that only wait for late packets.
 * About 2 µs for each socket of a dump.
 *
 * What comes over netlink is parsed as hostile: lengths are checked, and what makes no sense is
 * counted and left out.
 *
 * Thread safety: one owner. */

struct pd_diag;

typedef void pd_diag_take(void *context, const struct pd_monitor_reading *reading);

int pd_inet_diag_open(struct pd_diag **ret_diag, struct pd_error *error);
void pd_inet_diag_close(struct pd_diag *diag); /* NULL is fine */

/* Each socket once. 0, or -errno: what was taken until then stays taken. */
int pd_inet_diag_dump(struct pd_diag *diag, pd_diag_take *take, void *context);

/* The one socket. -ENOENT: it is gone. */
int pd_inet_diag_get(struct pd_diag *diag, const struct pd_flow_id *flow, uint64_t cookie,
                     struct pd_monitor_reading *ret_reading);

struct pd_diag_counters {
    uint64_t read;
    uint64_t refused;
};
struct pd_diag_counters pd_inet_diag_counters(const struct pd_diag *diag);

/* A buffer of netlink messages, for whoever tests it. Returns what libmnl does: above 0 more may
 * come, 0 the end, below 0 an error. */
int pd_inet_diag_read(struct pd_diag *diag, const void *bytes, size_t len, uint64_t time_ns,
                      pd_diag_take *take, void *context);
/* One without a socket, for pd_inet_diag_read alone. NULL: no memory. */
struct pd_diag *pd_inet_diag_offline(void);

#endif
