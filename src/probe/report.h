/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of probes: what a host has sent and collected, as one binary message. */
#ifndef PD_PROBE_REPORT_H
#define PD_PROBE_REPORT_H

#include "base/error.h"
#include "probe/join.h"
#include "probe/order.h"
#include "telemetry/bytes.h"

/* The body of POST /v1/probes/reports of the controller (docs/formats/probes.md). Paper 001 has
 * each probe sent to the controller; here a host sums up, for each way that it collects and each
 * switch on it, what the probes of a span of time have measured. Numbers have as many bytes as they
 * need, since most are small. All input is hostile.
 *
 * Plain memory, one thread at a time. */

#define PD_PROBE_REPORT_BYTES_MAX ((size_t)1 << 20)

#define PD_PROBE_REPORT_VALUE_MAX (INT64_C(1) << 48)

/* Of `count` values; none is beyond PD_PROBE_REPORT_VALUE_MAX, of either sign. */
struct pd_probe_sum {
    int64_t least, mean, most, p99;
};

/* What the probes of a way read at one of its switches. Hop latency is to the next switch, by both
 * clocks; there is none at the last. */
struct pd_probe_hop {
    struct pd_probe_sum hop_latency_ns, residence_ns, queue_bytes;
};

struct pd_probe_report {
    uint32_t host, plan, order, epoch;
    uint32_t sent_len, came_len;
};

struct pd_probe_report_sent {
    uint32_t number;
    struct pd_probe_join_sent sent;
};

struct pd_probe_report_came {
    uint32_t number;
    struct pd_probe_join_came came;
    bool silent;    /* by its clock several are missing */
    uint32_t count; /* of probes that hops sum up */
    uint32_t hops;  /* 0: they carry no data */
};

/* ---- writing: a buffer that grows; -ENOMEM sticks */

struct pd_probe_report_out {
    uint8_t *bytes;
    size_t len, room;
    int err;
};

void pd_probe_report_begin(struct pd_probe_report_out *out, const struct pd_probe_report *report);
void pd_probe_report_put_sent(struct pd_probe_report_out *out,
                              const struct pd_probe_report_sent *sent);
/* pd_probe_report_put_hop follows as often as `hops` says. */
void pd_probe_report_put_came(struct pd_probe_report_out *out,
                              const struct pd_probe_report_came *came);
void pd_probe_report_put_hop(struct pd_probe_report_out *out, const struct pd_probe_hop *hop);

/* ---- reading, in that order; false: the message lies. At the end `bytes->left` is 0. */

bool pd_probe_report_read(struct pd_bytes *bytes, struct pd_probe_report *ret_report);
bool pd_probe_report_next_sent(struct pd_bytes *bytes, struct pd_probe_report_sent *ret_sent);
bool pd_probe_report_next_came(struct pd_bytes *bytes, struct pd_probe_report_came *ret_came);
bool pd_probe_report_next_hop(struct pd_bytes *bytes, struct pd_probe_hop *ret_hop);

#endif
