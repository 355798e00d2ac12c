/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: where the traces of flows end that do not get through, on networks that tag nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include "apps/blackhole/blackhole.h"
#include "topology/paths.h"

/* An epoch of the tracer, with room: a flow is traced at its first loss of one. */
#define TRACED_BEFORE_US UINT64_C(60000000)

/* Switches that have answered anybody's probe, by their index: another one that does not may be
 * silent, as some routers are, and pass packets on all the same. */
static int note_answers(struct bh_case *c)
{
    const struct pd_topology *topology = c->call->world->topology;

    c->answers = calloc(topology->switches_len + 1, sizeof *c->answers);
    if (!c->answers) {
        return -ENOMEM;
    }
    for (size_t t = 0; t < c->traces.len; t++) {
        const struct pd_path *path = &c->traces.list[t].path;
        for (uint32_t i = 0; i < path->len; i++) {
            uint32_t at = pd_topology_switch(topology, path->switches[i]);
            if (at != PD_NONE) {
                c->answers[at] = true;
            }
        }
    }
    return 0;
}

int pd_blackhole_ask_traces(struct bh_case *c, struct pd_error *error)
{
    uint64_t from_us = c->since_us > TRACED_BEFORE_US ? c->since_us - TRACED_BEFORE_US : 0;

    if (c->call->world->topology->codecs_len || c->answers) {
        return 0;
    }
    int err = pd_app_traces_ask(&c->traces, c->call, from_us, UINT64_MAX, c->report, error);
    if (!err && note_answers(c)) {
        err = pd_fail(error, -ENOMEM, "blackhole: %s", pd_error_text(-ENOMEM));
    }
    return err;
}

/* Up to the last switch that answered. */
static uint32_t answered_len(const struct pd_path *trail)
{
    uint32_t len = trail->len;

    while (len && !trail->switches[len - 1]) {
        len--;
    }
    return len;
}

static bool begins_like(const struct pd_path *path, const struct pd_path *trail, uint32_t len)
{
    bool fits = len <= path->len;

    for (uint32_t i = 0; i < len && fits; i++) {
        fits = !trail->switches[i] || trail->switches[i] == path->switches[i];
    }
    return fits;
}

/* The step behind the end of a trace, and those behind switches that may be silent. */
static void add_behind(const struct bh_case *c, struct bh_miss *miss, const struct pd_path *path,
                       uint32_t from)
{
    for (uint32_t i = from; i + 1 < path->len; i++) {
        uint32_t next = pd_topology_switch(c->call->world->topology, path->switches[i + 1]);

        pd_blackhole_add_link(miss, path, i);
        if (next != PD_NONE && c->answers[next]) {
            return;
        }
    }
}

enum bh_trail pd_blackhole_trail(const struct bh_case *c, const struct bh_flow *flow,
                                 uint32_t *ret_end)
{
    const struct pd_app_trace *trace =
        c->answers ? pd_app_traces_find(&c->traces, &flow->id) : NULL;

    *ret_end = 0;
    if (!trace) {
        return BH_TRAIL_NONE;
    }
    uint32_t len = answered_len(&trace->path);
    if (!len) {
        return BH_TRAIL_NONE;
    }
    *ret_end = trace->path.switches[len - 1];
    if (!trace->reached) {
        return BH_TRAIL_ENDS;
    }
    return trace->time_us + c->slack_us >= flow->alarmed_us ? BH_TRAIL_THROUGH : BH_TRAIL_WAY;
}

/* Up to so many answers that lack may have been lost on their way back, as acknowledgements would
 * be; more of them come back by so many ways that one link hardly swallows all. */
#define LOST_BACK_MAX 2

static void add_way(struct bh_miss *miss, const struct pd_path *path)
{
    for (uint32_t l = 0; l + 1 < path->len; l++) {
        pd_blackhole_add_link(miss, path, l);
    }
}

struct ways_back {
    struct bh_miss *miss;
    size_t len;
};

static int add_way_back(void *context, const struct pd_path *path)
{
    struct ways_back *back = context;

    add_way(back->miss, path);
    return ++back->len == BH_PATHS_MAX;
}

/* The links by which answers of a switch come back, and acknowledgements that pass it. */
static int add_back(const struct bh_case *c, struct bh_miss *miss, uint32_t from_id)
{
    const struct pd_topology *topology = c->call->world->topology;
    struct ways_back back = {.miss = miss};
    uint32_t from = pd_topology_switch(topology, from_id);
    int err = from == PD_NONE
                  ? 0
                  : pd_topology_shortest(topology, from, miss->flow->src_tor, add_way_back, &back);
    return err < 0 ? err : 0;
}

/* What a trace of which so many hops answered leaves of a path. */
static int add_path(const struct bh_case *c, struct bh_miss *miss, const struct pd_path *path,
                    const struct pd_app_trace *trace, uint32_t len)
{
    if (trace->reached) {
        add_way(miss, path);
        return 0;
    }
    add_behind(c, miss, path, len - 1);
    return len < path->len && len + LOST_BACK_MAX >= path->len
               ? add_back(c, miss, path->switches[len])
               : 0;
}

bool pd_blackhole_add_trail(const struct bh_case *c, struct bh_miss *miss)
{
    const struct pd_app_trace *trace = pd_app_traces_find(&c->traces, &miss->flow->id);
    const struct bh_flow *flow = miss->flow;
    const uint32_t len = answered_len(&trace->path);
    int err = 0;

    for (size_t i = 0; i < flow->paths_len && !err; i++) {
        if (begins_like(&flow->paths[i].path, &trace->path, len)) {
            err = add_path(c, miss, &flow->paths[i].path, trace, len);
        }
    }
    if (!err && miss->links_len && trace->reached) {
        err = add_back(c, miss, flow->paths[0].path.switches[flow->paths[0].path.len - 1]);
    }
    return !err && miss->links_len > 0;
}
