/* SPDX-License-Identifier: Apache-2.0 */
/* The world of applications in the simulator: questions, alarms, observations. */
#include "sim/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/rows.h"
#include "base/grow.h"
#include "evidence/file.h"
#include "query/document.h"

static uint64_t now_us(void *context)
{
    const struct pd_sim_app_world *world = context;

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
        if (PD_GROW(chosen->records, chosen->room, chosen->len + 1)) {
            return -ENOMEM;
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
    int err = pd_query_run(query, chosen->asked ? NULL : snapshot, chosen->records, chosen->len,
                           &sink, &complete, error);
    if (fclose(out) && !err) {
        err = pd_fail(error, -ENOMEM, "no memory");
    }
    *ret_answer = err ? NULL : json_loadb(text, bytes, 0, NULL);
    free(text);
    return err || *ret_answer ? err : pd_fail(error, -ENOMEM, "no memory");
}

static int give_rows(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                     const struct chosen *chosen, const struct pd_items *items, json_t **ret_answer,
                     struct pd_error *error)
{
    bool complete = true;
    int err = pd_query_run_items(query, chosen->asked ? NULL : snapshot, chosen->records,
                                 chosen->len, items, &complete, error);

    if (!err && !(*ret_answer = json_pack("{s:b}", "complete", complete))) {
        err = pd_fail(error, -ENOMEM, "no memory");
    }
    return err;
}

/* The rows go to `items`, if there are any, or into the answer. */
static int ask_records(struct pd_sim_app_world *world, const struct pd_query *query,
                       const bool *asked, const struct pd_items *items, json_t **ret_answer,
                       struct pd_error *error)
{
    struct chosen chosen = {.topology = world->scenario->topology, .asked = asked};
    const struct pd_tib_filter filter = pd_query_filter(query);
    struct pd_tib_snapshot *snapshot;
    int err = pd_sim_records_snapshot(&world->records, &snapshot, error);

    if (err) {
        return err;
    }
    if (asked && (err = pd_tib_scan(snapshot, &filter, choose, &chosen))) {
        pd_fail(error, err, "the store of records: %s", pd_error_text(err));
    }
    if (!err) {
        err = items ? give_rows(query, snapshot, &chosen, items, ret_answer, error)
                    : run_query(query, snapshot, &chosen, ret_answer, error);
    }
    free(chosen.records);
    pd_tib_release(snapshot);
    return err;
}

/* The hosts that are asked, as if they were one. */
struct asking {
    struct pd_sim_app_world *world;
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

    return ask_records(asking->world, query, asking->asked, NULL, ret_answer, error);
}

static int run_no_program(void *context, const char *source, json_t *args, json_t **ret_result,
                          struct pd_error *error)
{
    (void)context;
    (void)source;
    (void)args;
    (void)ret_result;
    return pd_fail(error, -PD_E_UNSUPPORTED, "programs: the simulator's hosts run none");
}

/* A record lies at the host of its destination. */
struct visiting {
    const struct asking *asking;
    int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n);
    void *visitor;
};

static int visit_asked(void *context, const struct pd_tib_record *records, size_t n)
{
    const struct visiting *visiting = context;
    const struct chosen chosen = {.topology = visiting->asking->world->scenario->topology,
                                  .asked = visiting->asking->asked};
    int err = 0;

    for (size_t i = 0; i < n && !err; i++) {
        if (!chosen.asked || is_asked(&chosen, &records[i])) {
            err = visiting->visit(visiting->visitor, &records[i], 1);
        }
    }
    return err;
}

static int visit_records(void *context, const struct pd_tib_filter *filter,
                         int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                         void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct asking *asking = context;
    struct visiting visiting = {asking, visit, visitor};
    struct pd_tib_snapshot *snapshot;
    int err = pd_sim_records_snapshot(&asking->world->records, &snapshot, error);

    if (err) {
        return err;
    }
    err = pd_tib_scan(snapshot, filter, visit_asked, &visiting);
    *ret_complete = !pd_tib_snapshot_damaged(snapshot);
    pd_tib_release(snapshot);
    return err ? pd_fail(error, err, "the store of records: %s", pd_error_text(err)) : 0;
}

static int answer(struct pd_sim_app_world *world, const struct pd_document *document,
                  const bool *asked, const struct pd_items *items, json_t **ret_answer,
                  struct pd_error *error)
{
    const struct pd_query *query = pd_query_document_query(document);
    struct asking asking = {world, asked};
    const struct pd_question_host host = {.context = &asking,
                                          .tcp = ask_tcp,
                                          .query = ask_own_records,
                                          .records = visit_records,
                                          .program = run_no_program};
    struct pd_question_run run = {.document = document, .host = &host};

    return query ? ask_records(world, query, asked, items, ret_answer, error)
                 : document->question->local(&run, ret_answer, error);
}

static int rows(void *context, json_t *json, const struct pd_items *items, json_t **ret_answer,
                struct pd_error *error)
{
    static const char *const others[] = {"hosts", "deadline_ms", NULL};
    struct pd_sim_app_world *world = context;
    struct pd_document document;
    bool *asked = NULL;
    uint32_t len;
    json_t *given = NULL;
    int err = pd_query_document_parse(json, others, &document, error);

    if (err) {
        return err;
    }
    err = read_hosts(world->scenario->topology, json, &asked, &len, error);
    if (!err) {
        err = answer(world, &document, asked, items, &given, error);
    }
    if (!err && !(*ret_answer = with_hosts(given, len))) {
        err = pd_fail(error, -ENOMEM, "no memory");
    }
    free(asked);
    pd_query_document_done(&document);
    return err;
}

static int ask(void *context, json_t *json, json_t **ret_answer, struct pd_error *error)
{
    return rows(context, json, NULL, ret_answer, error);
}

/* ---- alarms, observations */

static int alarms(void *context, const char *reason, uint64_t from_us, uint64_t to_us, size_t most,
                  json_t **ret_alarms, struct pd_error *error)
{
    const struct pd_sim_app_world *world = context;
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
    int err = pd_evidence_write(tee->out, period);

    return err ? err : tee->sink->take(tee->sink->context, period);
}

/* Rows of the kinds that are wanted; every flow is a row here. */
struct choice {
    const struct pd_evidence_sink *sink;
    unsigned wanted;
};

static bool is_chosen(const struct choice *choice, const struct pd_evidence_row *row)
{
    static const unsigned kinds[PD_EVIDENCE_ORIGIN_COUNT] = {
        [PD_EVIDENCE_FROM_PROBE] = PD_APP_PROBES, [PD_EVIDENCE_FROM_METER] = PD_APP_METERS};
    unsigned kind = row->kind == PD_EVIDENCE_PATH ? kinds[row->ways->origin] : 0;

    return choice->wanted & (kind ? kind : PD_APP_FLOWS | PD_APP_EACH_FLOW);
}

/* In runs of neighbours, which are parts of one period. */
static int give_chosen(void *context, const struct pd_evidence_period *period)
{
    const struct choice *choice = context;
    struct pd_evidence_period part = *period;
    int err = 0;

    part.anew = period->anew && choice->wanted == PD_APP_PROBES;

    for (size_t i = 0, end; i < period->rows_len && !err; i = end) {
        bool chosen = is_chosen(choice, &period->rows[i]);

        for (end = i + 1; end < period->rows_len; end++) {
            if (is_chosen(choice, &period->rows[end]) != chosen) {
                break;
            }
        }
        if (chosen) {
            part.rows = period->rows + i;
            part.rows_len = end - i;
            err = choice->sink->take(choice->sink->context, &part);
            part.continues = true;
            part.anew = false;
        }
    }
    if (!err && !part.continues) { /* time passes all the same */
        part.rows_len = 0;
        err = choice->sink->take(choice->sink->context, &part);
    }
    return err;
}

static int observe(void *context, uint64_t from_us, uint64_t to_us, unsigned wanted,
                   const struct pd_evidence_sink *given, struct pd_report *report,
                   struct pd_error *error)
{
    struct pd_sim_app_world *world = context;
    const struct pd_sim_period *now = &world->senders.now;
    struct tee tee = {given, world->evidence};
    const struct pd_evidence_sink teed = {&tee, write_and_give};
    struct choice choice = {world->evidence ? &teed : given, wanted};
    const struct pd_evidence_sink chosen = {&choice, give_chosen}, *sink = &chosen;
    unsigned counted = (world->scenario->probe_rate_hz > 0 ? PD_APP_PROBES : 0) |
                       (world->scenario->meters.epoch_ms ? PD_APP_METERS : 0);
    int err = 0;

    pd_app_lacks_evidence(wanted, PD_APP_FLOWS | PD_APP_EACH_FLOW | counted, report);
    if (from_us < now->from_us) {
        err = pd_sim_history_visit(&world->history, from_us, to_us, now->from_us, sink, report);
    }
    if (!err && to_us > now->from_us && from_us <= now->to_us) {
        const struct pd_evidence_period period = pd_sim_evidence(now);

        err = sink->take(sink->context, &period);
    }
    return err ? pd_fail(error, err, "evidence: %s", pd_error_text(err)) : 0;
}

static const struct pd_app_world_ops ops = {
    .now_us = now_us,
    .ask = ask,
    .rows = rows,
    .alarms = alarms,
    .observe = observe,
};

void pd_sim_app_world_init(struct pd_sim_app_world *world, const struct pd_sim_scenario *scenario)
{
    *world = (struct pd_sim_app_world){
        .scenario = scenario,
        .app = {.ops = &ops,
                .context = world,
                .topology = scenario->topology,
                .link_mbps = scenario->link_mbps,
                .period_us = (uint64_t)scenario->period_ms * 1000},
        .senders = {.scenario = scenario},
    };
}

void pd_sim_app_world_done(struct pd_sim_app_world *world)
{
    pd_sim_records_done(&world->records);
    pd_sim_senders_done(&world->senders);
    pd_sim_history_done(&world->history);
}

int pd_sim_app_world_take(struct pd_sim_app_world *world, const struct pd_sim_period *period,
                          struct pd_error *error)
{
    int err = pd_sim_history_take(&world->history, period);

    if (!err) {
        err = pd_sim_senders_take(&world->senders, period);
    }
    if (err) {
        return pd_fail(error, err, "no memory");
    }
    return pd_sim_records_take(&world->records, period, error);
}
