/* SPDX-License-Identifier: Apache-2.0 */
/* What people ask of probes. */
#include <errno.h>

#include "controller/probes/private.h"

/* ---- documents, with the lock ---- */

static json_t *way_json(const struct pd_probe_way *way)
{
    static const char *const states[] = {
        [PD_PROBE_OK] = "ok", [PD_PROBE_SILENT] = "silent", [PD_PROBE_LOSSY] = "lossy"};

    return json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:s}", "number", (json_int_t)way->number,
                     "path", pd_probes_path_json(way), "from_host", (json_int_t)way->nodes[0],
                     "to_host", (json_int_t)way->nodes[way->nodes_len - 1], "sent",
                     (json_int_t)way->total, "received", (json_int_t)(way->total - way->total_lost),
                     "lost", (json_int_t)way->total_lost, "state",
                     states[pd_probe_watch_state(pd_probes.watch, way->number)]);
}

static json_t *paths_json(void)
{
    json_t *paths = json_array();
    const struct pd_probe_way *way;

    for (size_t i = 0; pd_probes.watch && (way = pd_probe_watch_way(pd_probes.watch, i)); i++) {
        if (!way->isolates) {
            json_array_append_new(paths, way_json(way));
        }
    }
    return paths;
}

static json_t *hosts_json(void)
{
    json_t *hosts = json_array();

    for (size_t i = 0; i < pd_probes.hosts_len; i++) {
        if (!pd_probes.hosts[i].able) {
            json_array_append_new(hosts,
                                  json_pack("{s:I, s:s}", "id", (json_int_t)pd_probes.hosts[i].id,
                                            "reason", pd_probes.hosts[i].reason));
        }
    }
    return hosts;
}

static json_t *document_json(void)
{
    const bool on = pd_probes.on;

    return json_pack("{s:o, s:s?, s:s, s:I, s:I, s:b, s:o, s:o}", "plan",
                     on ? json_integer(pd_probes.plan) : json_null(), "carrier",
                     on ? pd_probes.carrier->name : NULL, "clock",
                     pd_probes.synchronised ? "common" : "estimated", "rate_hz",
                     (json_int_t)(on ? pd_probes.rate_hz : 0), "max_hops",
                     (json_int_t)(on ? pd_probes.max_hops : 0), "overruled", pd_probes.overruled,
                     "paths", paths_json(), "hosts_left_out", hosts_json());
}

/* ---- routes ---- */

static int get_probes(void *daemon, struct pd_call *call, struct pd_answer *answer,
                      struct pd_problem *problem)
{
    (void)daemon;
    (void)call;
    pthread_mutex_lock(&pd_probes.lock);
    json_t *document = document_json();
    pthread_mutex_unlock(&pd_probes.lock);
    if (!document) {
        return pd_fail(&problem->error, -ENOMEM, "no memory for the answer");
    }
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}

static int post_probes(void *daemon, struct pd_call *call, struct pd_answer *answer,
                       struct pd_problem *problem)
{
    static const char *const members[] = {"carrier", "rate_hz", "max_hops", NULL};
    const struct pd_json_cursor at = {
        .object = call->body, .err = -PD_E_VALUE, .error = &problem->error};
    int err = pd_json_only(&at, members);

    pthread_mutex_lock(&pd_probes.lock);
    err = err ? err : pd_probes_read_wish(&at);
    if (!err) {
        pd_probes.on = pd_probes.replan = true;
        pd_probes.overruled = false;
        err = pd_probes_save(&problem->error);
        pthread_cond_signal(&pd_probes.wake);
    }
    pthread_mutex_unlock(&pd_probes.lock);
    return err ? err : get_probes(daemon, call, answer, problem);
}

static int delete_probes(void *daemon, struct pd_call *call, struct pd_answer *answer,
                         struct pd_problem *problem)
{
    pthread_mutex_lock(&pd_probes.lock);
    const bool was_on = pd_probes.on;
    pd_probes.on = pd_probes.replan = pd_probes.orders = false;
    int err = pd_probes_save(&problem->error);
    pthread_mutex_unlock(&pd_probes.lock);
    if (was_on && !err) {
        pd_probes_end_all();
    }
    pthread_mutex_lock(&pd_probes.lock);
    if (!pd_probes.on) {
        pd_probes_drop_plan();
    }
    pthread_mutex_unlock(&pd_probes.lock);
    return err ? err : get_probes(daemon, call, answer, problem);
}

const struct pd_part_route pd_probes_routes[] = {
    {.route = {"GET", "/v1/probes", PD_ROLE_READ, "the plan of probes, and what came of each path"},
     .handler = get_probes},
    {.route = {"POST", "/v1/probes", PD_ROLE_ADMIN, "probes begin, or go on otherwise"},
     .handler = post_probes},
    {.route = {"DELETE", "/v1/probes", PD_ROLE_ADMIN, "probes end"}, .handler = delete_probes},
    {.route = {"POST", "/v1/probes/reports", PD_ROLE_AGENT, "what a host has sent and collected"},
     .bytes = true,
     .handler = pd_probes_take_report},
    {.handler = NULL},
};
