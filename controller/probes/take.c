/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of hosts, believed as far as they speak of their own ways. */
#include "base/clock.h"
#include "controller/probes/private.h"
#include "daemon/count.h"

/* ---- with the lock ---- */

static void note_result(void *context, bool arrived)
{
    pd_probe_watch_result(pd_probes.watch, context, arrived);
}

static bool take_hops(struct pd_bytes *bytes, const struct pd_probe_report_came *came,
                      const struct pd_probe_way *way, uint64_t now_ns)
{
    bool fits = way && way->nodes_len == came->hops + 2;

    for (uint32_t i = 0; i < came->hops; i++) {
        struct pd_probe_hop hop;

        if (!pd_probe_report_next_hop(bytes, &hop)) {
            return false;
        }
        if (fits && way->links[i + 1] < pd_probes.links_len) {
            pd_probes_note_hop(way->links[i + 1], &hop, now_ns);
        }
    }
    return true;
}

static bool take_came(struct pd_bytes *bytes, const struct pd_probe_report *report, uint32_t host,
                      uint64_t now_ns)
{
    struct pd_probe_report_came came;

    if (!pd_probe_report_next_came(bytes, &came)) {
        return false;
    }
    struct pd_probe_way *way = pd_probe_watch_find(pd_probes.watch, came.number);
    way = way && way->dst == host ? way : NULL;
    if (way) {
        pd_count(&pd_probes_counts.unknown,
                 pd_probe_join_came(&way->join, &came.came, report->epoch, now_ns,
                                    PD_PROBES_SLACK_NS, note_result, way));
        if (came.silent) {
            pd_probe_watch_suspect(pd_probes.watch, way);
        }
    }
    return take_hops(bytes, &came, way, now_ns);
}

static bool take_sent(struct pd_bytes *bytes, uint32_t host, uint64_t now_ns)
{
    struct pd_probe_report_sent sent;

    if (!pd_probe_report_next_sent(bytes, &sent)) {
        return false;
    }
    struct pd_probe_way *way = pd_probe_watch_find(pd_probes.watch, sent.number);
    if (way && way->src == host &&
        !pd_probe_join_sent(&way->join, &sent.sent, pd_probes.rate_hz, now_ns)) {
        pd_count(&pd_probes_counts.claims_refused, 1);
    }
    return true;
}

static bool take_all(struct pd_bytes *bytes, const struct pd_probe_report *report, uint32_t host)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    bool good = true;

    for (uint32_t i = 0; i < report->sent_len && good; i++) {
        good = take_sent(bytes, host, now_ns);
    }
    for (uint32_t i = 0; i < report->came_len && good; i++) {
        good = take_came(bytes, report, host, now_ns);
    }
    return good && !bytes->left;
}

static void hear(uint32_t id)
{
    for (size_t i = 0; i < pd_probes.hosts_len; i++) {
        if (pd_probes.hosts[i].id == id) {
            pd_probes.hosts[i].heard_ns = pd_clock_monotonic_ns();
        }
    }
}

static void step(void)
{
    bool laid = false;

    pd_probe_watch_step(pd_probes.watch, &laid);
    if (laid) {
        pd_count(&pd_probes_counts.isolations, 1);
        pd_probes.orders = true;
        pthread_cond_signal(&pd_probes.wake);
    }
}

/* -PD_E_NOT_FOUND: it is of no plan in force. */
static int take(struct pd_bytes *bytes, const struct pd_probe_report *report)
{
    uint32_t host;

    if (!pd_probes.on || !pd_probes.watch || report->plan != pd_probes.plan) {
        return -PD_E_NOT_FOUND;
    }
    host = pd_topology_host(pd_probes.inventory->topology, report->host);
    if (host == PD_NONE) {
        return -PD_E_NOT_FOUND;
    }
    hear(report->host);
    bool good = take_all(bytes, report, host);
    step();
    return good ? 0 : -PD_E_SYNTAX;
}

/* ---- the route ---- */

static int read_head(const struct pd_call *call, struct pd_bytes *bytes,
                     struct pd_probe_report *report, struct pd_error *error)
{
    *bytes = (struct pd_bytes){(const uint8_t *)call->http->body, call->http->body_bytes};
    if (bytes->left > PD_PROBE_REPORT_BYTES_MAX || !pd_probe_report_read(bytes, report)) {
        return pd_fail(error, -PD_E_SYNTAX, "the body is no report of probes");
    }
    if (!pd_http_role_speaks_for(call->http, report->host)) {
        return pd_fail(error, -PD_E_FORBIDDEN, "host: these credentials are not those of host %u",
                       report->host);
    }
    return 0;
}

int pd_probes_take_report(void *daemon, struct pd_call *call, struct pd_answer *answer,
                          struct pd_problem *problem)
{
    struct pd_probe_report report;
    struct pd_bytes bytes;
    int err = read_head(call, &bytes, &report, &problem->error);

    (void)daemon;
    if (!err) {
        pthread_mutex_lock(&pd_probes.lock);
        err = take(&bytes, &report);
        pthread_mutex_unlock(&pd_probes.lock);
        if (err) {
            pd_fail(&problem->error, err, "%s",
                    err == -PD_E_SYNTAX ? "the body is no report of probes"
                                        : "the plan is not in force here");
        }
    }
    pd_count(!err                     ? &pd_probes_counts.reports
             : err == -PD_E_NOT_FOUND ? &pd_probes_counts.reports_stale
                                      : &pd_probes_counts.reports_refused,
             1);
    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, json_pack("{s:b}", "taken", true));
    }
    return err;
}
