/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON, and the paths of one read back. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/path.h"
#include "probe/plan/plan.h"

static json_t *json_paths(const struct pd_plan_paths *paths, const struct pd_topology *topology)
{
    json_t *array = json_array();
    for (uint32_t n = 0; array && n < paths->len; n++) {
        const uint32_t *nodes = pd_plan_path_nodes(paths, n);
        json_t *path = json_array();
        for (uint32_t i = 0; path && i <= paths->paths[n].hops; i++) {
            json_array_append_new(path, json_integer(topology->switches[nodes[i]].id));
        }
        json_array_append_new(array, path);
    }
    return array;
}

static json_t *json_links(const struct pd_plan_cable *links, uint32_t len,
                          const struct pd_topology *topology)
{
    json_t *array = json_array();
    char text[PD_LINK_TEXT_BYTES];
    for (uint32_t n = 0; array && n < len; n++) {
        struct pd_link_match link = {.from = topology->switches[links[n].a].id,
                                     .to = topology->switches[links[n].b].id};
        json_array_append_new(array, json_string(pd_link_format(link, text)));
    }
    return array;
}

static json_t *json_hops(const struct pd_plan_paths *paths)
{
    uint32_t least = paths->len ? UINT32_MAX : 0, most = 0;
    double sum = 0, squares = 0, mean;
    for (uint32_t n = 0; n < paths->len; n++) {
        least = paths->paths[n].hops < least ? paths->paths[n].hops : least;
        most = paths->paths[n].hops > most ? paths->paths[n].hops : most;
        sum += paths->paths[n].hops;
    }
    mean = paths->len ? sum / paths->len : 0;
    for (uint32_t n = 0; n < paths->len; n++) {
        squares += (paths->paths[n].hops - mean) * (paths->paths[n].hops - mean);
    }
    return json_pack("{s:I, s:I, s:f, s:f}", "min", (json_int_t)least, "max", (json_int_t)most,
                     "mean", mean, "stddev", paths->len ? sqrt(squares / paths->len) : 0.0);
}

/* Whole microseconds, what is begun counts. */
static json_int_t us(uint64_t ns)
{
    return (json_int_t)((ns + PD_NS_PER_US - 1) / PD_NS_PER_US);
}

json_t *pd_plan_json(const struct pd_plan *plan, const struct pd_topology *topology,
                     uint64_t walk_ns)
{
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:o, s:I, s:o}", "mode",
        pd_plan_mode_name(plan->mode), "algorithm", pd_plan_algorithm_name(plan->algorithm),
        "max_hops", (json_int_t)plan->max_hops, "switches", (json_int_t)plan->switches, "links",
        (json_int_t)plan->links, "components", (json_int_t)plan->components, "odd",
        (json_int_t)plan->odd, "lower_bound", (json_int_t)plan->lower_bound, "paths",
        json_paths(&plan->paths, topology), "repeated",
        json_links(plan->repeated, plan->repeated_len, topology), "uncovered",
        json_links(plan->uncovered, plan->uncovered_len, topology), "changed",
        (json_int_t)plan->changed, "hops", json_hops(&plan->paths), "plan_us", us(plan->plan_ns),
        "walk_us", walk_ns ? json_integer(us(walk_ns)) : json_null());
}

/* ---- reading */

static int bad(struct pd_error *error, size_t n)
{
    return pd_fail(error, -PD_E_SYNTAX, "paths[%zu]: expects a list of switch IDs", n);
}

/* `nodes` has room for the whole path. */
static int read_path(const json_t *path, size_t n, const struct pd_topology *topology,
                     uint32_t *nodes, struct pd_plan_paths *paths, struct pd_error *error)
{
    uint32_t len = 0;
    for (size_t i = 0; i < json_array_size(path); i++) {
        const json_t *id = json_array_get(path, i);
        json_int_t value = json_integer_value(id);
        if (!json_is_integer(id) || value < 1 || value > UINT32_MAX) {
            return bad(error, n);
        }
        uint32_t node = pd_topology_switch(topology, (uint32_t)value);
        if (node != PD_NONE) {
            nodes[len++] = node;
        } else if (len > 1 && pd_plan_paths_add(paths, nodes, len - 1)) {
            return pd_fail(error, -ENOMEM, "no memory");
        } else {
            len = 0;
        }
    }
    if (len > 1 && pd_plan_paths_add(paths, nodes, len - 1)) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    return 0;
}

int pd_plan_read(const json_t *document, const struct pd_topology *topology,
                 struct pd_plan_paths *ret_paths, struct pd_error *error)
{
    const json_t *array = json_object_get(document, "paths");
    struct pd_plan_paths paths = {0};
    int err = 0;
    if (!json_is_array(array)) {
        return pd_fail(error, -PD_E_SYNTAX, "paths: expects a list");
    }
    for (size_t n = 0; !err && n < json_array_size(array); n++) {
        const json_t *path = json_array_get(array, n);
        uint32_t *nodes = malloc((json_array_size(path) + 1) * sizeof *nodes);
        if (!json_is_array(path)) {
            err = bad(error, n);
        } else if (!nodes) {
            err = pd_fail(error, -ENOMEM, "no memory");
        } else {
            err = read_path(path, n, topology, nodes, &paths, error);
        }
        free(nodes);
    }
    if (err) {
        pd_plan_paths_done(&paths);
    } else {
        *ret_paths = paths;
    }
    return err;
}
