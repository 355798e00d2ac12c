/* SPDX-License-Identifier: Apache-2.0 */
/* What every intake must do, whichever kind it is: one suite that each kind
 * passes with a feeder of its own. */
#ifndef TESTS_INTAKE_CONFORMANCE_H
#define TESTS_INTAKE_CONFORMANCE_H

#include "intake/intake.h"
#include "traffic.h"

/* How traffic reaches an intake of this kind. */
struct feeder {
    const char *name;
    /* records have the times of the traffic; else those of now */
    bool keeps_times;
    void *context;
    /* Opens the intake before or after the traffic is put where it reads. Fails
     * the test when it cannot. */
    struct pd_intake *(*open)(void *context, const struct traffic *traffic,
                              const struct pd_intake_config *config,
                              const struct pd_trajectory_sink *sink);
};

/* What came out of the sink. */
struct collected {
    struct sums sums;
    uint64_t records, pkts, bytes, new_flows;
    uint64_t first_ns, last_ns; /* of all records */
    unsigned refuse_every;      /* every n-th offer is refused; 0: none */
    unsigned offers;
};

struct pd_intake_config conformance_config(const struct traffic *traffic);
struct pd_trajectory_sink conformance_sink(struct collected *collected);

/* Polls until `frames` were read or poll ends, at most ten seconds; returns the
 * last answer of poll. */
int conformance_poll(struct pd_intake *intake, uint64_t frames);

/* The whole suite. */
void conformance_run(const struct feeder *feeder);

#endif
