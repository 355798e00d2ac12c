/* SPDX-License-Identifier: Apache-2.0 */
/* Word to the service manager (sd_notify's protocol): ready, reloading, stopping, alive. */
#ifndef PD_DAEMON_NOTIFY_H
#define PD_DAEMON_NOTIFY_H

#include <stdint.h>

/* The protocol is one datagram to $NOTIFY_SOCKET and stable by promise, so it is spoken here
 * instead of linking libsystemd. Without the variable nothing is sent.
 *
 * Thread safety: the main thread only. */

/* "READY=1", "STATUS=…", several separated by newlines. Returns 1 when sent, 0 when nobody wants to
 * know, or -errno. */
int pd_daemon_notify(const char *state);

/* "RELOADING=1" with the time stamp that Type=notify-reload wants; READY=1 ends it. */
int pd_daemon_notify_reloading(void);

/* How often (ns) the watchdog wants a sign of life: half its time; 0 when there is none. */
uint64_t pd_daemon_notify_watchdog_ns(void);

#endif
