/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers of meters: how a kind of switch is given rules and read. */
#ifndef PD_AGENT_METERS_DRIVER_H
#define PD_AGENT_METERS_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/flow_id.h"

/* A driver knows one switch or host with meters: both roles, two instances for odd and even epochs,
 * HashPipe. The part knows what an epoch is and whether it can be read now; drivers only fetch.
 *
 * Thread safety: one call at a time. */

/* A bucket in use. */
struct pd_agent_meter_bucket {
    struct pd_flow_id flow;
    uint64_t filter, pkts; /* the filter as documents have it; upstream 0 */
    uint32_t place;
    uint8_t row;
    bool dirty; /* then flow, filter and packets are nobody's */
};

/* A flow without a rule downstream: a stray, or one of the largest. */
struct pd_agent_meter_flow {
    struct pd_flow_id flow;
    uint64_t filter, pkts; /* of strays no filter */
};

/* What was counted in an epoch. Freed by pd_agent_meter_reading_done. */
struct pd_agent_meter_reading {
    uint32_t rows, width;
    struct {
        struct pd_agent_meter_bucket *buckets;
        size_t len, room;
    } roles[2]; /* upstream, downstream */
    struct {
        struct pd_agent_meter_flow *flows;
        size_t len, room;
    } strays, largest;
};

/* Packets, since the switch began. */
#define PD_AGENT_METER_COUNTS(X)                                    \
    X(sent, "packets of chosen flows, counted upstream and marked") \
    X(received, "marked packets, counted downstream")               \
    X(late, "marked packets that came when their epoch was over")   \
    X(strays, "marked packets of flows without a rule")             \
    X(other, "packets whose flow could not be told")
struct pd_agent_meter_counts {
#define X(name, text) uint64_t name;
    PD_AGENT_METER_COUNTS(X)
#undef X
};

/* A driver of some kind has this first. */
struct pd_agent_meter_driver {
    const struct pd_agent_meter_driver_ops *ops;
    uint64_t epoch_ns; /* in force; 0: nothing is counted */
};

struct pd_agent_meter_driver_ops {
    const char *kind;     /* "tc" */
    const char *argument; /* what follows the colon, for people: "FOLDER" */
    uint32_t rules_max;   /* of a role */
    /* `where`: behind the colon. 0, or a negative error in words. */
    int (*open)(const char *where, uint32_t monitor, struct pd_agent_meter_driver **ret_driver,
                struct pd_error *error);
    void (*close)(struct pd_agent_meter_driver *driver);
    /* These are all rules of a role from now on, at most rules_max; epochs are so long. Those that
     * stay go on counting meanwhile. 0 or a negative error in words. */
    int (*rules)(struct pd_agent_meter_driver *driver, bool down, const struct pd_flow_id *flows,
                 size_t len, uint64_t epoch_ns, struct pd_error *error);
    /* What was counted in an epoch, into an empty reading. 0 or a negative error in words: then the
     * epoch is not told at all. Can be asked again. */
    int (*read)(struct pd_agent_meter_driver *driver, uint64_t epoch,
                struct pd_agent_meter_reading *reading, struct pd_error *error);
    int (*counts)(struct pd_agent_meter_driver *driver, struct pd_agent_meter_counts *ret_counts);
};

/* Ends with NULL. */
extern const struct pd_agent_meter_driver_ops *const pd_agent_meter_drivers[];

/* "KIND:WHERE". 0, or a negative error in words. */
int pd_agent_meter_driver_open(const char *name, uint32_t monitor,
                               struct pd_agent_meter_driver **ret_driver, struct pd_error *error);
void pd_agent_meter_driver_close(struct pd_agent_meter_driver *driver); /* NULL is fine */

/* For drivers: adds to a reading. 0 or -ENOMEM. */
int pd_agent_meter_reading_bucket(struct pd_agent_meter_reading *reading, bool down,
                                  const struct pd_agent_meter_bucket *bucket);
int pd_agent_meter_reading_stray(struct pd_agent_meter_reading *reading,
                                 const struct pd_agent_meter_flow *stray);
/* A flow and its filter that are there already get more packets. */
int pd_agent_meter_reading_large(struct pd_agent_meter_reading *reading,
                                 const struct pd_agent_meter_flow *flow);
void pd_agent_meter_reading_done(struct pd_agent_meter_reading *reading);

#endif
