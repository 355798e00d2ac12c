/* SPDX-License-Identifier: Apache-2.0 */
/* What segments lost lately, for applications, and how they are, for people. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "controller/meters/private.h"

static int keep_rows(const struct pd_meters *meters, struct pd_meters_kept *kept)
{
    const uint32_t len = pd_meter_loop_len(meters->loop);
    struct pd_meters_row *rows = calloc((size_t)len + 1, sizeof *rows);

    if (!rows) {
        return -ENOMEM;
    }
    free(kept->rows);
    kept->rows = rows;
    kept->len = 0;
    for (uint32_t s = 0; s < len; s++) {
        const struct pd_meter_segment *segment = pd_meter_loop_segment(meters->loop, s);

        if (segment->given_sent) {
            rows[kept->len++] = (struct pd_meters_row){meters->stretches.paths[s],
                                                       segment->given_sent, segment->given_lost};
        }
    }
    return 0;
}

static int keep_views(struct pd_meters *meters)
{
    const uint32_t len = pd_meter_loop_len(meters->loop);
    struct pd_meters_segment_view *views = calloc((size_t)len + 1, sizeof *views);

    if (!views) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < len; s++) {
        views[s] = (struct pd_meters_segment_view){meters->stretches.paths[s],
                                                   *pd_meter_loop_segment(meters->loop, s)};
    }
    free(meters->views);
    meters->views = views;
    meters->views_len = len;
    return 0;
}

int pd_meters_keep(struct pd_meters *meters, uint64_t epoch)
{
    struct pd_meters_kept *kept = &meters->kept[meters->kept_next % PD_METERS_KEPT_MAX];
    int err = keep_rows(meters, kept);

    if (!err) {
        kept->from_us = epoch * meters->epoch_ms * 1000;
        kept->to_us = kept->from_us + meters->epoch_ms * 1000;
        kept->read_us = pd_clock_wall_us();
        meters->kept_next++;
        err = keep_views(meters);
    }
    meters->epoch = epoch;
    meters->loop_counters = pd_meter_loop_counters(meters->loop);
    return err;
}

void pd_meters_forget(struct pd_meters *meters)
{
    for (size_t i = 0; i < PD_METERS_KEPT_MAX; i++) {
        free(meters->kept[i].rows);
        meters->kept[i] = (struct pd_meters_kept){.rows = NULL};
    }
    free(meters->views);
    meters->views = NULL;
    meters->views_len = 0;
}

bool pd_controller_meters_are_there(void)
{
    return pd_meters.monitors_len > 0;
}

/* ---- evidence ---- */

static int give(const struct pd_meters_kept *kept, bool continues,
                const struct pd_evidence_sink *sink)
{
    struct pd_evidence_row *rows = calloc(kept->len + 1, sizeof *rows);
    struct pd_evidence_way *ways = calloc(kept->len + 1, sizeof *ways);
    struct pd_evidence_period period = {.from_us = kept->from_us,
                                        .to_us = kept->to_us,
                                        .continues = continues,
                                        .rows = rows,
                                        .rows_len = kept->len};
    int err = rows && ways ? 0 : -ENOMEM;

    for (size_t i = 0; i < kept->len && !err; i++) {
        const struct pd_meters_row *row = &kept->rows[i];

        ways[i] = (struct pd_evidence_way){.nodes = row->path->switches,
                                           .nodes_len = row->path->len,
                                           .reached = true,
                                           .origin = PD_EVIDENCE_FROM_METER,
                                           .pkts = row->sent};
        rows[i] = (struct pd_evidence_row){.kind = PD_EVIDENCE_PATH,
                                           .pkts = row->sent,
                                           .lost = row->lost,
                                           .ways = &ways[i],
                                           .ways_len = 1};
    }
    err = err ? err : sink->take(sink->context, &period);
    free(rows);
    free(ways);
    return err;
}

/* A copy, since a sink may take its time. */
static int copy_kept(uint64_t from_us, uint64_t to_us, struct pd_meters_kept **ret_kept,
                     size_t *ret_len)
{
    struct pd_meters *meters = &pd_meters;
    struct pd_meters_kept *copies = calloc(PD_METERS_KEPT_MAX, sizeof *copies);
    size_t len = 0;

    if (!copies) {
        return -ENOMEM;
    }
    pthread_mutex_lock(&meters->lock);
    for (size_t i = 0; i < PD_METERS_KEPT_MAX; i++) { /* oldest first */
        const struct pd_meters_kept *kept =
            &meters->kept[(meters->kept_next + i) % PD_METERS_KEPT_MAX];

        if (!kept->rows || kept->read_us <= from_us || kept->read_us > to_us) {
            continue;
        }
        copies[len] = *kept;
        copies[len].rows = calloc(kept->len + 1, sizeof *kept->rows);
        for (size_t r = 0; copies[len].rows && r < kept->len; r++) {
            copies[len].rows[r] = kept->rows[r];
        }
        len += copies[len].rows != NULL;
    }
    pthread_mutex_unlock(&meters->lock);
    *ret_kept = copies;
    *ret_len = len;
    return 0;
}

int pd_controller_meters_observe(uint64_t from_us, uint64_t to_us, bool continues,
                                 const struct pd_evidence_sink *sink)
{
    struct pd_meters_kept *kept = NULL;
    size_t len = 0;
    int err = copy_kept(from_us, to_us, &kept, &len);

    for (size_t i = 0; i < len; i++) {
        err = err ? err : give(&kept[i], continues, sink);
        free(kept[i].rows);
    }
    free(kept);
    return err;
}
