/* SPDX-License-Identifier: Apache-2.0 */
/* The world of applications in the simulator: questions, alarms, observations. */
#include "sim/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/rows.h"
#include "evidence/file.h"
#include "query/document.h"

static uint64_t now_us(void *context)
{
    const struct pd_world *world = context;

    return world->senders.now.to_us;
}

/* ---- hosts that are asked */

/* *ret_asked stays NULL when all are. */
static int read_hosts(const struct pd_topology *topology, const json_t *document, bool **ret_asked,
                      uint32_t *ret_len, struct pd_error *error)
{
    const json_t *hosts = json_object_get(document, "hosts"), *id;
    const char *text = json_string_value(hosts);
    size_t i;

    *ret_len = topology->hosts_len;
    if (!hosts || (text && !strcmp(text, "all"))) {
        return 0;
    }
    if (!json_is_array(hosts)) {
        return pd_fail(error, -PD_E_VALUE, "hosts: expected \"all\" or a list of IDs");
    }
    bool *asked = calloc(topology->hosts_len, sizeof *asked);
    if (!asked) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    *ret_len = 0;
    json_array_foreach(hosts, i, id)
    {
        json_int_t number = json_integer_value(id);
        uint32_t host = number < 1 || number > UINT32_MAX
                            ? PD_NONE
                            : pd_topology_host(topology, (uint32_t)number);

        if (host == PD_NONE) {
            free(asked);
            return pd_fail(error, -PD_E_VALUE, "hosts[%zu]: not a host of the topology", i);
        }
        *ret_len += !asked[host];
        asked[host] = true;
    }
    *ret_asked = asked;
    return 0;
}

static json_t *with_hosts(json_t *answer, uint32_t asked)
{
    json_int_t len = asked;

    if (answer && json_object_set_new(
                      answer, "hosts",
                      json_pack("{s:I, s:I, s:[]}", "asked", len, "answered", len, "missing"))) {
        json_decref(answer);
        return NULL;
    }
    return answer;
}

/* ---- records of some of the hosts */

struct chosen {
    const struct pd_topology *topology;
    const bool *asked;
    struct pd_tib_record *records;
    size_t len, room;
};

static bool is_asked(const struct chosen *chosen, const struct pd_tib_record *record)
{
    uint32_t id = pd_app_host_of(chosen->topology, &record->flow.dst, record->flow.ip_version);
    uint32_t host = id ? pd_topology_host(chosen->topology, id) : PD_NONE;

    return host != PD_NONE && chosen->asked[host];
}

static int choose(void *context, const struct pd_tib_record *records, size_t n)
{
    struct chosen *chosen = context;

    for (size_t i = 0; i < n; i++) {
        if (!is_asked(chosen, &records[i])) {
            continue;
        }
        if (chosen->len == chosen->room) {
            size_t room = chosen->room ? chosen->room * 2 : 1024;
            struct pd_tib_record *grown = realloc(chosen->records, room * sizeof *grown);

            if (!grown) {
                return -ENOMEM;
            }
            chosen->records = grown;
            chosen->room = room;
        }
        chosen->records[chosen->len++] = records[i];
    }
    return 0;
}

/* ---- questions */

static int write_text(void *context, const char *bytes, size_t len)
{
    return fwrite(bytes, 1, len, context) == len ? 0 : -ENOMEM;
}

/* Over the store, or over records that were taken from it. */
static int run_query(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                     const struct chosen *chosen, json_t **ret_answer, struct pd_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    bool complete;
    FILE *out = open_memstream(&text, &bytes);
    const struct pd_query_sink sink = {out, write_text};

    if (!out) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    int code = pd_query_run(query, chosen->asked ? NULL : snapshot, chosen->records, chosen->len,
                            &sink, &complete, error);
    if (fclose(out) && !code) {
        code = pd_fail(error, -ENOMEM, "no memory");
    }
    *ret_answer = code ? NULL : json_loadb(text, bytes, 0, NULL);
    free(text);
    return code || *ret_answer ? code : pd_fail(error, -ENOMEM, "no memory");
}

static int ask_records(struct pd_world *world, const struct pd_query *query, const bool *asked,
                       json_t **ret_answer, struct pd_error *error)
{
    struct chosen chosen = {.topology = world->scenario->topology, .asked = asked};
    const struct pd_tib_filter filter = pd_query_filter(query);
    struct pd_tib_snapshot *snapshot;
    int code = pd_sim_records_snapshot(&world->records, &snapshot, error);

    if (code) {
        return code;
    }
    if (asked && (code = pd_tib_scan(snapshot, &filter, choose, &chosen))) {
        pd_fail(error, code, "the store of records: %s", pd_error_text(code));
    }
    if (!code) {
        code = run_query(query, snapshot, &chosen, ret_answer, error);
    }
    free(chosen.records);
    pd_tib_release(snapshot);
    return code;
}

/* The hosts that are asked, as if they were one. */
struct asking {
    struct pd_world *world;
    const bool *asked;
};

static int ask_tcp(void *context, const struct pd_poor_question *question, json_t **ret_answer,
                   struct pd_error *error)
{
    const struct asking *asking = context;

    *ret_answer = pd_sim_senders_poor(&asking->world->senders, question, asking->asked);
    return *ret_answer ? 0 : pd_fail(error, -ENOMEM, "no memory");
}

static int ask_own_records(void *context, const struct pd_query *query, json_t **ret_answer,
                           struct pd_error *error)
{
    const struct asking *asking = context;

    return ask_records(asking->world, query, asking->asked, ret_answer, error);
}

static int answer(struct pd_world *world, const struct pd_document *document, const bool *asked,
                  json_t **ret_answer, struct pd_error *error)
{
    if (document->is_program) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "programs: the simulator's hosts run none");
    }
    if (!document->question) {
        return ask_records(world, &document->query, asked, ret_answer, error);
    }
    struct asking asking = {world, asked};
    const struct pd_question_host host = {
        .context = &asking, .tcp = ask_tcp, .query = ask_own_records};
    return document->question->local(document->question_args, &host, ret_answer, error);
}

static int ask(void *context, json_t *json, json_t **ret_answer, struct pd_error *error)
{
    static const char *const others[] = {"hosts", "deadline_ms", NULL};
    struct pd_world *world = context;
    struct pd_document document;
    bool *asked = NULL;
    uint32_t len;
    json_t *given = NULL;
    int code = pd_document_parse(json, others, &document, error);

    if (code) {
        return code;
    }
    code = read_hosts(world->scenario->topology, json, &asked, &len, error);
    if (!code) {
        code = answer(world, &document, asked, &given, error);
    }
    if (!code && !(*ret_answer = with_hosts(given, len))) {
        code = pd_fail(error, -ENOMEM, "no memory");
    }
    free(asked);
    pd_document_done(&document);
    return code;
}

/* ---- alarms, observations */

static int alarms(void *context, const char *reason, uint64_t from_us, uint64_t to_us, size_t most,
                  json_t **ret_alarms, struct pd_error *error)
{
    const struct pd_world *world = context;
    bool none = reason && strcmp(reason, "POOR_PERF") != 0;
    json_t *found =
        none ? json_array() : pd_sim_senders_alarms(&world->senders, from_us, to_us, 0, most);

    if (!found) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    *ret_alarms = found;
    return 0;
}

/* Writes what is given, before it is. */
struct tee {
    const struct pd_evidence_sink *sink;
    FILE *out;
};

static int write_and_give(void *context, const struct pd_evidence_period *period)
{
    const struct tee *tee = context;
    int code = pd_evidence_write(tee->out, period);

    return code ? code : tee->sink->take(tee->sink->context, period);
}

static int observe(void *context, uint64_t from_us, uint64_t to_us,
                   const struct pd_evidence_sink *given, struct pd_report *report,
                   struct pd_error *error)
{
    struct pd_world *world = context;
    const struct pd_sim_period *now = &world->senders.now;
    struct tee tee = {given, world->evidence};
    const struct pd_evidence_sink teed = {&tee, write_and_give};
    const struct pd_evidence_sink *sink = world->evidence ? &teed : given;
    int code = 0;

    if (from_us < now->from_us) {
        code = pd_history_visit(&world->history, from_us, to_us, now->from_us, sink, report);
    }
    if (!code && to_us > now->from_us && from_us <= now->to_us) {
        const struct pd_evidence_period period = pd_sim_evidence(now);

        code = sink->take(sink->context, &period);
    }
    return code ? pd_fail(error, code, "evidence: %s", pd_error_text(code)) : 0;
}

static const struct pd_app_world_ops ops = {
    .now_us = now_us,
    .ask = ask,
    .alarms = alarms,
    .observe = observe,
};

void pd_world_init(struct pd_world *world, const struct pd_scenario *scenario)
{
    *world = (struct pd_world){
        .scenario = scenario,
        .app = {.ops = &ops,
                .context = world,
                .topology = scenario->topology,
                .link_mbps = scenario->link_mbps,
                .period_us = (uint64_t)scenario->period_ms * 1000},
        .senders = {.scenario = scenario},
    };
}

void pd_world_done(struct pd_world *world)
{
    pd_sim_records_done(&world->records);
    pd_sim_senders_done(&world->senders);
    pd_history_done(&world->history);
}

int pd_world_take(struct pd_world *world, const struct pd_sim_period *period,
                  struct pd_error *error)
{
    int code = pd_history_take(&world->history, period);

    if (!code) {
        code = pd_sim_senders_take(&world->senders, period);
    }
    if (code) {
        return pd_fail(error, code, "no memory");
    }
    return pd_sim_records_take(&world->records, period, error);
}
