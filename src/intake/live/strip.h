/* SPDX-License-Identifier: Apache-2.0 */
/* `strip = true`: a BPF program in the kernel takes the link tags off what the host's own stack
 * receives. */
#ifndef PD_INTAKE_LIVE_STRIP_H
#define PD_INTAKE_LIVE_STRIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The program sits on the interface's tc ingress, behind the point where packet sockets see the
 * frame: what is counted has its tags, what the stack gets has none. It must never outlive the
 * process (nobody would know why tags vanish), however that dies:
 *
 * - TCX (Linux 6.6 and later): a BPF link, which the kernel takes off when the process's last
 *   descriptor closes.
 * - clsact (before): the filter itself stays, but it strips only while it finds a socket of this
 *   process in a sockmap, and the kernel takes closed sockets out of sockmaps. What stays is inert
 *   until the next start replaces it.
 *
 * Needs CAP_BPF and CAP_NET_ADMIN. Thread safety: one owner. */

enum pd_strip_hook { PD_STRIP_ANY, PD_STRIP_TCX, PD_STRIP_CLSACT };

struct pd_strip;

struct pd_strip_what {
    bool clear_dscp; /* their DSCP as well */
    uint16_t tpid;   /* only tags of this type that lie outside of all others; 0: any */
};

/* From now on frames that `ifindex` receives lose their tags (up to PD_PACKET_TAGS_MAX), as
 * `what` says. PD_STRIP_ANY takes TCX where the kernel has it. -EPERM,
 * -PD_E_UNSUPPORTED (kernel or build) or what failed. */
int pd_live_strip_open(int ifindex, enum pd_strip_hook hook, const struct pd_strip_what *what,
                       struct pd_strip **ret_strip, struct pd_error *error);
void pd_live_strip_close(struct pd_strip *strip); /* NULL is fine */

#endif
