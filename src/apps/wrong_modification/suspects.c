/* SPDX-License-Identifier: Apache-2.0 */
/* Counts right and wrong flows of each switch, and picks those that fit best. */
#include "apps/wrong_modification/suspects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/paths.h"

struct counts {
    const struct pd_topology *topology;
    size_t *wrong, *right; /* by switch */
    size_t *seen;          /* number of the last flow that was counted there: each flow once */
    size_t number;
};

/* Each switch of the path, once for each flow. */
static int count(struct counts *c, const struct pd_path *path, size_t *by_switch)
{
    for (unsigned i = 0; i < path->len; i++) {
        uint32_t sw = pd_topology_switch(c->topology, path->switches[i]);

        if (sw == PD_NONE || c->seen[sw] == c->number) {
            continue;
        }
        c->seen[sw] = c->number;
        by_switch[sw]++;
    }
    return 0;
}

static int see_possible(void *context, const struct pd_path *path)
{
    struct counts *c = context;

    return count(c, path, c->wrong);
}

static int count_infeasible(struct counts *c, const struct pd_flow_id *flow)
{
    uint32_t from[PD_HOMES_MAX], to[PD_HOMES_MAX];
    uint32_t from_len = pd_topology_tors_of(c->topology, &flow->src, flow->ip_version, from);
    uint32_t to_len = pd_topology_tors_of(c->topology, &flow->dst, flow->ip_version, to);
    int err = 0;

    for (uint32_t i = 0; i < from_len * to_len && !err; i++) {
        err = pd_topology_shortest(c->topology, from[i / to_len], to[i % to_len], see_possible, c);
    }
    return err;
}

/* For wrong tags each flow with a path is a right one; for changed packets only those whose sender
 * knows them. */
static bool is_right(const struct wm_arrived *arrived, enum wm_kind kind)
{
    return kind == WM_INFEASIBLE ? arrived->path.len > 0 : arrived->kind == WM_RIGHT;
}

static int count_all(struct counts *c, const struct wm_flows *flows, enum wm_kind kind,
                     struct wm_suspects *suspects)
{
    const struct pd_flow_id *source = NULL;
    int err = 0;

    for (size_t i = 0; i < flows->arrived_len && !err; i++) {
        const struct wm_arrived *arrived = &flows->arrived[i];

        c->number = i + 1;
        if (arrived->kind == kind && suspects->wrong < WM_WRONG_MAX) {
            suspects->wrong++;
            if (!source || memcmp(&source->src, &arrived->flow.src, sizeof source->src) != 0) {
                suspects->sources += suspects->sources < 2;
            }
            source = source ? source : &arrived->flow;
            err = arrived->path.len ? count(c, &arrived->path, c->wrong)
                                    : count_infeasible(c, &arrived->flow);
        } else if (arrived->kind != kind && is_right(arrived, kind)) {
            err = count(c, &arrived->path, c->right);
        }
    }
    return err;
}

static void pick(const struct counts *c, struct wm_suspects *suspects)
{
    for (uint32_t sw = 0; sw < c->topology->switches_len; sw++) {
        bool better = c->wrong[sw] > suspects->covered ||
                      (c->wrong[sw] == suspects->covered && c->right[sw] < suspects->right);

        if (!c->wrong[sw]) {
            continue;
        }
        if (better) {
            suspects->len = 0;
            suspects->covered = c->wrong[sw];
            suspects->right = c->right[sw];
        }
        if (c->wrong[sw] == suspects->covered && c->right[sw] == suspects->right &&
            suspects->len < WM_SUSPECTS_MAX) {
            suspects->ids[suspects->len++] = c->topology->switches[sw].id;
        }
    }
}

int pd_wrong_modification_find_suspects(const struct pd_topology *topology,
                                        const struct wm_flows *flows, enum wm_kind kind,
                                        struct wm_suspects *ret_suspects)
{
    size_t n = topology->switches_len;
    struct counts c = {.topology = topology,
                       .wrong = calloc(n, sizeof *c.wrong),
                       .right = calloc(n, sizeof *c.right),
                       .seen = calloc(n, sizeof *c.seen)};
    struct wm_suspects suspects = {0};
    int err = c.wrong && c.right && c.seen ? 0 : -ENOMEM;

    if (!err) {
        err = count_all(&c, flows, kind, &suspects);
    }
    if (!err) {
        pick(&c, &suspects);
        *ret_suspects = suspects;
    }
    free(c.wrong);
    free(c.right);
    free(c.seen);
    return err;
}

/* Whether no right flow and each wrong one has the link. */
static bool fits(const struct wm_flows *flows, struct pd_link_match link)
{
    for (size_t i = 0; i < flows->arrived_len; i++) {
        const struct wm_arrived *arrived = &flows->arrived[i];

        if (arrived->kind == WM_UNSENT || arrived->kind == WM_RIGHT) {
            if (pd_path_crosses(&arrived->path, link) != (arrived->kind == WM_UNSENT)) {
                return false;
            }
        }
    }
    return true;
}

void pd_wrong_modification_add_links(const struct wm_flows *flows,
                                     const struct wm_suspects *suspects, struct pd_report *report)
{
    const struct pd_path *path = NULL;

    for (size_t i = 0; i < flows->arrived_len && !path; i++) {
        if (flows->arrived[i].kind == WM_UNSENT) {
            path = &flows->arrived[i].path;
        }
    }
    for (unsigned i = 1; path && suspects->covered == suspects->wrong && i < path->len; i++) {
        if (fits(flows, (struct pd_link_match){path->switches[i - 1], path->switches[i]})) {
            pd_app_report_link(report, path->switches[i - 1], path->switches[i]);
        }
    }
}
