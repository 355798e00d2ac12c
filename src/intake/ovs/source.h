/* SPDX-License-Identifier: Apache-2.0 */
/* A source: one region of a switch, as this process has it mapped. */
#ifndef PD_INTAKE_OVS_SOURCE_H
#define PD_INTAKE_OVS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trajectory/region.h"

/* Thread safety: the intake's owner only, but for pd_ovs_source_committed, which the intake's lock
 * guards. */

struct pd_source {
    struct pd_view view; /* region is NULL once it is unmapped */
    void *map;
    size_t bytes;
    struct pd_index *index;
    uint64_t key; /* names the region in the TIB */
    uint64_t region_id;
    uint64_t read; /* events given to the sink */
    uint64_t told; /* the same, as the owner was told */
    bool untold;   /* records of its tables were given */
    bool ended;    /* all was given; goes once the owner was told */
};

/* Where records go: times are put on the wall clock by adding `wall_ahead_ns`. */
struct pd_source_sink {
    const struct pd_trajectory_sink *sink;
    int64_t wall_ahead_ns;
};

/* Maps both descriptors, which stay the caller's. `stored` as in struct pd_intake_config. */
int pd_ovs_source_open(struct pd_source *source, int region_fd, int index_fd, uint64_t instance_id,
                       int (*stored)(void *context, uint64_t key, uint64_t *ret_position),
                       void *stored_context, struct pd_error *error);
void pd_ovs_source_close(struct pd_source *source);

/* Gives up to `max` events of the ring to the sink; returns how many. `seen` (may be NULL) gets
 * each record evicted, on the switch's clock. */
struct pd_records;
size_t pd_ovs_source_drain(struct pd_source *source, const struct pd_source_sink *sink, size_t max,
                           struct pd_records *seen);

/* Copies what is live to `visit`, together with what the sink was given: each record once. -ENOMEM.
 */
int pd_ovs_source_walk(struct pd_source *source, const struct pd_source_sink *sink,
                       void (*visit)(void *context, const struct pd_trajectory_record *record),
                       void *context);

/* The switch is dead: all that it left goes to the sink. `ret_torn`: records that it was writing
 * when it died. */
int pd_ovs_source_bury(struct pd_source *source, const struct pd_source_sink *sink,
                       uint64_t *ret_torn);

uint64_t pd_ovs_source_unstored(const struct pd_source *source); /* events in the ring */

/* The events up to `position` are stored: the switch may write over them. */
void pd_ovs_source_committed(struct pd_source *source, uint64_t position);

#endif
