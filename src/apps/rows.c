/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the world, and the rows of its answers. */
#include "apps/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query/conform.h"
#include "query/document.h"
#include "query/members.h"
#include "query/way.h"

#define NUMBER_MAX ((UINT64_C(1) << 53) - 1)

/* ---- rows that are no JSON ---- */

struct taking {
    const struct pd_query *query;
    pd_app_visit *visit;
    void *context;
    uint64_t infeasible; /* of conformance: flows that cannot be judged */
};

/* A row for each rule that is broken. */
static int take_violations(struct taking *taking, const struct pd_tib_record *group,
                           struct pd_app_row *row)
{
    unsigned broken = pd_query_conformance_check(taking->query, group);
    int err = 0;

    taking->infeasible += !group->path->len && pd_tib_claim(group).state == PD_CLAIM_INFEASIBLE &&
                          pd_query_conformance_judges_paths(taking->query);
    for (unsigned rule = 0; rule < PD_CONFORMANCE_RULE_COUNT && !err; rule++) {
        if (broken >> rule & 1) {
            row->rule = pd_query_conformance_rule_text((enum pd_conformance_rule)rule);
            err = taking->visit(taking->context, row, NULL);
        }
    }
    return err;
}

static int take_group(void *context, const struct pd_tib_record *group)
{
    struct taking *taking = context;
    struct pd_app_row row = {.flow = group->flow,
                             .has_path = group->path,
                             .stime_us = group->stime_us,
                             .etime_us = group->etime_us,
                             .bytes = group->bytes,
                             .pkts = group->pkts};

    if (group->path) {
        pd_path_copy(&row.path, group->path);
    }
    return taking->query->name == PD_QUERY_CONFORMANCE ? take_violations(taking, group, &row)
                                                       : taking->visit(taking->context, &row, NULL);
}

static int take_sums(void *context, const struct pd_query_sums *sums)
{
    struct taking *taking = context;
    const struct pd_app_row row = {.src_switch = (uint32_t)(sums->key >> 32),
                                   .dst_switch = (uint32_t)sums->key,
                                   .bytes = sums->bytes,
                                   .pkts = sums->pkts};

    return taking->visit(taking->context, &row, NULL);
}

static int give_rows(const struct pd_app_world *world, json_t *document, struct taking *taking,
                     json_t **ret_answer, struct pd_error *error)
{
    static const char *const others[] = {"hosts", NULL};
    const struct pd_items items = {taking, take_group, take_sums};
    struct pd_document read;
    int err = pd_query_document_parse(document, others, &read, error);

    if (err) {
        return err;
    }
    taking->query = pd_query_document_query(&read);
    err = world->ops->rows(world->context, document, &items, ret_answer, error);
    pd_query_document_done(&read);
    return err;
}

/* ---- asking ---- */

static json_t *document_of(const char *query, json_t *args, json_t *hosts)
{
    return json_pack("{s:s, s:o, s:o}", "query", query, "args", args ? args : json_object(),
                     "hosts", hosts ? hosts : json_string("all"));
}

/* Rows go to `taking` where there is one and the world has them. */
static int ask(const struct pd_app_call *call, struct pd_report *report, const char *query,
               json_t *document, struct taking *taking, json_t **ret_answer, struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    json_t *answer = NULL;
    int err;

    if (!document) {
        return pd_fail(error, -ENOMEM, "%s: %s", query, pd_error_text(-ENOMEM));
    }
    err = taking ? give_rows(world, document, taking, &answer, error)
          : world->ops->ask
              ? world->ops->ask(world->context, document, &answer, error)
              : pd_fail(error, -PD_E_UNSUPPORTED, "%s: there are no hosts to ask here", query);
    json_decref(document);
    if (err) {
        return err;
    }
    if (report) {
        pd_app_report_answer(report, answer);
    }
    *ret_answer = answer;
    return 0;
}

int pd_app_ask(const struct pd_app_call *call, struct pd_report *report, const char *query,
               json_t *args, json_t *hosts, json_t **ret_answer, struct pd_error *error)
{
    return ask(call, report, query, document_of(query, args, hosts), NULL, ret_answer, error);
}

/* Where the answer itself is the row: bytes and packets. */
static int visit_answer(const json_t *answer, pd_app_visit *visit, void *context,
                        struct pd_error *error)
{
    struct pd_app_row row = {0};

    if (!pd_app_number(answer, "bytes", &row.bytes) || !pd_app_number(answer, "pkts", &row.pkts)) {
        return pd_fail(error, -PD_E_VALUE, "an answer of the hosts has no bytes and packets");
    }
    return visit(context, &row, answer);
}

int pd_app_ask_rows(const struct pd_app_call *call, struct pd_report *report,
                    const struct pd_app_rows_query *query, pd_app_visit *visit, void *context,
                    uint64_t *ret_infeasible, struct pd_error *error)
{
    bool typed = call->world->ops->rows;
    struct taking taking = {.visit = visit, .context = context};
    json_t *answer = NULL;
    int err = ask(call, report, query->name, document_of(query->name, query->args, query->hosts),
                  typed ? &taking : NULL, &answer, error);

    if (!err && !typed) {
        err = query->list ? pd_app_rows(answer, query->list, report, visit, context, error)
                          : visit_answer(answer, visit, context, error);
    }
    if (!err && !typed) {
        (void)pd_app_number(answer, "infeasible", &taking.infeasible);
    }
    json_decref(answer);
    if (!err && ret_infeasible) {
        *ret_infeasible = taking.infeasible;
    }
    return err;
}

/* No flow retransmits that often: the answer says who is there, and nothing else. */
int pd_app_roll_call(const struct pd_app_call *call, struct pd_report *report,
                     struct pd_error *error)
{
    json_t *answer;
    int e =
        pd_app_ask(call, report, "getPoorTCPFlows",
                   json_pack("{s:I}", "threshold", (json_int_t)UINT32_MAX), NULL, &answer, error);

    if (!e) {
        json_decref(answer);
    }
    return e;
}

int pd_app_alarms(const struct pd_app_call *call, const char *reason, uint64_t from_us,
                  uint64_t to_us, size_t most, json_t **ret_alarms, struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    json_t *alarms = NULL;
    int err = 0;

    if (world->ops->alarms) {
        err = world->ops->alarms(world->context, reason, from_us, to_us, most, &alarms, error);
    } else {
        alarms = json_array();
    }
    if (!err && !json_is_array(alarms)) {
        json_decref(alarms);
        err = pd_fail(error, -ENOMEM, "alarms: %s", pd_error_text(-ENOMEM));
    }
    if (!err) {
        *ret_alarms = alarms;
    }
    return err;
}

/* ---- flows, paths ---- */

json_t *pd_app_flow_json(const struct pd_flow_id *flow)
{
    return pd_query_flow_id_json(flow);
}

bool pd_app_flow_read(const json_t *object, struct pd_flow_id *ret_flow)
{
    return !pd_query_flow_id_read(object, ret_flow, NULL);
}

bool pd_app_path_read(const json_t *row, struct pd_path *ret_path)
{
    const json_t *switches = json_object_get(row, "path");
    const char *member;
    struct pd_path path;
    struct pd_claim claim;

    if (json_is_array(switches) && !json_array_size(switches) && !json_object_get(row, "tags")) {
        ret_path->len = 0;
        return true;
    }
    if (pd_query_way_read(row, &path, &claim, &member)) {
        return false;
    }
    pd_path_copy(ret_path, &path);
    return true;
}

json_t *pd_app_path_json(const struct pd_path *path)
{
    return pd_query_path_json(path);
}

const char *pd_app_path_text(const struct pd_path *path, char text[PD_APP_PATH_TEXT_BYTES])
{
    size_t at = 0;

    *text = '\0';
    for (unsigned i = 0; i < path->len && i < PD_PATH_MAX; i++) {
        at += (size_t)snprintf(text + at, PD_APP_PATH_TEXT_BYTES - at, "%s%" PRIu32, i ? "-" : "",
                               path->switches[i]);
    }
    return text;
}

bool pd_app_path_exists(const struct pd_topology *topology, const struct pd_path *path)
{
    uint32_t before = PD_NONE;

    for (unsigned i = 0; i < path->len; i++) {
        uint32_t at = pd_topology_switch(topology, path->switches[i]);

        if (at == PD_NONE || (i && !pd_topology_link(topology, before, at))) {
            return false;
        }
        before = at;
    }
    return path->len;
}

/* ---- rows ---- */

bool pd_app_number(const json_t *object, const char *member, uint64_t *ret_number)
{
    return !pd_query_member_number(object, member, 0, NUMBER_MAX, ret_number, NULL);
}

/* Zero where there is none. */
static bool read_optional(const json_t *object, const char *member, uint64_t *ret_number)
{
    return !json_object_get(object, member) || pd_app_number(object, member, ret_number);
}

static bool read_switches(const json_t *object, struct pd_app_row *row)
{
    uint64_t src = 0, dst = 0;

    if (!pd_app_number(object, "src_switch", &src) || !pd_app_number(object, "dst_switch", &dst) ||
        src > UINT32_MAX || dst > UINT32_MAX) {
        return false;
    }
    row->src_switch = (uint32_t)src;
    row->dst_switch = (uint32_t)dst;
    return true;
}

bool pd_app_row_read(const json_t *object, struct pd_app_row *ret_row)
{
    const json_t *flow = json_object_get(object, "flow_id");
    struct pd_app_row row = {.has_path = json_object_get(object, "path"),
                             .rule = json_string_value(json_object_get(object, "rule"))};

    if (!flow && !row.has_path && !read_switches(object, &row)) {
        return false;
    }
    if (flow && !pd_app_flow_read(flow, &row.flow)) {
        return false;
    }
    if (row.has_path && !pd_app_path_read(object, &row.path)) {
        return false;
    }
    if (!read_optional(object, "stime_us", &row.stime_us) ||
        !read_optional(object, "etime_us", &row.etime_us) ||
        !read_optional(object, "bytes", &row.bytes) || !read_optional(object, "pkts", &row.pkts)) {
        return false;
    }
    *ret_row = row;
    return true;
}

int pd_app_rows(const json_t *answer, const char *list, struct pd_report *report,
                pd_app_visit *visit, void *context, struct pd_error *error)
{
    const json_t *rows = json_object_get(answer, list), *object;
    size_t i, wrong = 0;
    int err = 0;

    if (!json_is_array(rows)) {
        return pd_fail(error, -PD_E_VALUE, "an answer of the hosts has no list \"%s\"", list);
    }
    json_array_foreach((json_t *)(uintptr_t)rows, i, object)
    {
        struct pd_app_row row;

        if (!pd_app_row_read(object, &row)) {
            wrong++;
        } else if ((err = visit(context, &row, object))) {
            break;
        }
    }
    if (wrong && report) {
        pd_app_report_lacks(report, "%zu rows of an answer (%s) were not in order: left out", wrong,
                            list);
    }
    return err;
}

bool pd_app_alarm_read(const json_t *object, struct pd_app_alarm *ret_alarm)
{
    const json_t *flow = json_object_get(object, "flow_id");
    struct pd_app_alarm alarm = {0};
    uint64_t host = 0;

    if (!pd_app_number(object, "time_us", &alarm.time_us) ||
        !read_optional(object, "id", &alarm.id) ||
        pd_query_member_text(object, "reason", alarm.reason, sizeof alarm.reason, NULL)) {
        return false;
    }
    if (json_object_get(object, "host") &&
        pd_query_member_number(object, "host", 0, UINT32_MAX, &host, NULL)) {
        return false;
    }
    if (flow && !json_is_null(flow) && !pd_app_flow_read(flow, &alarm.flow)) {
        return false;
    }
    alarm.host = (uint32_t)host;
    *ret_alarm = alarm;
    return true;
}

/* ---- topology ---- */

static bool has_addr(const struct pd_host *host, const struct pd_addr *addr, uint8_t ip_version)
{
    for (uint32_t i = 0; i < host->addrs_len; i++) {
        if (host->ip_versions[i] == ip_version && !memcmp(&host->addrs[i], addr, sizeof *addr)) {
            return true;
        }
    }
    return false;
}

static uint32_t host_in(const struct pd_topology *topology, const struct pd_switch *rack,
                        const struct pd_addr *addr, uint8_t ip_version)
{
    for (uint32_t i = rack->switch_neighbours; i < rack->neighbours_len; i++) {
        const struct pd_host *host = &topology->hosts[rack->neighbours[i].node];

        if (has_addr(host, addr, ip_version)) {
            return host->id;
        }
    }
    return 0;
}

/* Racks may share a prefix; each of them is looked into. */
uint32_t pd_app_host_of(const struct pd_topology *topology, const struct pd_addr *addr,
                        uint8_t ip_version)
{
    uint32_t tors[PD_HOMES_MAX], len = pd_topology_tors_of(topology, addr, ip_version, tors);
    uint32_t id = 0;

    for (uint32_t t = 0; t < len && !id; t++) {
        id = host_in(topology, &topology->switches[tors[t]], addr, ip_version);
    }
    return id;
}

void pd_app_lacks_evidence(unsigned wanted, unsigned has, struct pd_report *report)
{
    if (wanted & PD_APP_PROBES & ~has) {
        pd_app_report_lacks(report, "no probes are sent in this network");
    }
    if (wanted == PD_APP_METERS && !(has & PD_APP_METERS)) {
        pd_app_report_lacks(report, "no meters count what paths lose in this network");
    }
}
