/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump meters compare`: what flows lost between upstream and downstream meters. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/meters.h"
#include "evidence/meters.h"
#include "query/members.h"
#include "query/rows/text.h"

enum { READINGS_MAX = 65536 };

struct settings {
    const char *topology;
    bool json;
};

struct comparing {
    const struct settings *set;
    struct pd_cli_meters meters;
    struct pd_evidence_meters read;
    json_t *segments, *undetermined;
    uint64_t flows, lossy, more_received;
};

/* ---- files ---- */

static int read_file(struct comparing *c, const char *file, struct pd_error *error)
{
    json_t *document = NULL;
    const char *where = "";
    int err = pd_cli_meters_load(file, &document, error);

    if (err) {
        return err;
    }
    err = pd_evidence_meters_take(&c->read, document, &where);
    json_decref(document);
    return err ? pd_fail(error, err, "%.300s: %s: %s", file, where, pd_error_text(err)) : 0;
}

/* ---- results ---- */

static bool ends_at(void *context, const struct pd_flow_id *flow, uint32_t from, uint32_t monitor)
{
    const struct comparing *c = context;
    (void)from;
    uint32_t tors[PD_HOMES_MAX];
    const uint32_t len =
        pd_topology_tors_of(c->meters.topology, &flow->dst, flow->ip_version, tors);

    for (uint32_t i = 0; i < len; i++) {
        if (c->meters.topology->switches[tors[i]].id == monitor) {
            return true;
        }
    }
    return false;
}

static int find_path(const struct comparing *c, const struct pd_meter_result *result,
                     struct pd_path *ret_path)
{
    const struct pd_topology *topology = c->meters.topology;
    const struct pd_flow_id *flow = &result->flow;
    const uint32_t src = pd_topology_tor_alone(topology, &flow->src, flow->ip_version);
    const uint32_t dst = pd_topology_tor_alone(topology, &flow->dst, flow->ip_version);

    return pd_codec_decode(c->meters.codec, src, dst, result->filter, ret_path, NULL);
}

static json_t *path_json(const struct pd_path *path)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < path->len; i++) {
        json_array_append_new(list, json_integer(path->switches[i]));
    }
    return list;
}

static int take_result(void *context, const struct pd_meter_result *result)
{
    struct comparing *c = context;
    struct pd_path path;
    const char *why = result->why ? pd_meter_why_text(result->why) : NULL;

    if (!why && find_path(c, result, &path)) {
        why = "its filter is that of no path, or of several";
    }
    c->flows++;
    c->more_received += result->more_received;
    if (why) {
        return json_array_append_new(c->undetermined,
                                     json_pack("{s:o,s:I,s:s}", "flow_id",
                                               pd_query_flow_id_json(&result->flow), "epoch",
                                               (json_int_t)result->epoch, "why", why))
                   ? -ENOMEM
                   : 0;
    }
    c->lossy += result->lost > 0;
    return json_array_append_new(
               c->segments,
               json_pack("{s:o,s:o,s:I,s:I,s:I}", "flow_id", pd_query_flow_id_json(&result->flow),
                         "path", path_json(&path), "epoch", (json_int_t)result->epoch, "sent",
                         (json_int_t)result->sent, "lost", (json_int_t)result->lost))
               ? -ENOMEM
               : 0;
}

static int report(struct comparing *c, struct pd_error *error)
{
    if (c->set->json) {
        return pd_cli_json_print(json_pack("{s:O,s:O,s:I}", "segments", c->segments, "undetermined",
                                           c->undetermined, "more_received",
                                           (json_int_t)c->more_received),
                                 error);
    }
    printf("%" PRIu64 " flows and epochs: %zu measured, %" PRIu64 " of them lossy, "
           "%zu undetermined\n",
           c->flows, json_array_size(c->segments), c->lossy, json_array_size(c->undetermined));
    return PD_CLI_OK;
}

static int compare(struct comparing *c, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct pd_meter_compare how = {.ends_at = ends_at, .result = take_result, .context = c};
    int err = pd_cli_meters_open(c->set->topology, &c->meters, error);

    c->read.topology = c->meters.topology;
    c->read.codec = c->meters.codec;
    c->segments = json_array();
    c->undetermined = json_array();
    if (!err && (!c->segments || !c->undetermined)) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    for (int i = 0; i < words->len && !err; i++) {
        err = read_file(c, words->words[i], error);
    }
    if (!err) {
        err = pd_meter_compare(&c->read.all, &how);
        err = err ? pd_fail(error, err, "%s", pd_error_text(err)) : 0;
    }
    return err ? err : report(c, error);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct comparing c = {.set = settings};
    const int err = compare(&c, words, error);

    pd_cli_meters_close(&c.meters);
    pd_evidence_meters_done(&c.read);
    json_decref(c.segments);
    json_decref(c.undetermined);
    return err;
}

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "T",
     .help = "topology file"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object, for programs"},
    {0},
};

const struct pd_cli_command pd_cli_meters_compare = {
    .name = "meters compare",
    .synopsis = "--topology T [--json] M.json…",
    .help = "what flows lost between meters",
    .details =
        "Reads what meters count --json has printed, upstream and downstream, and tells for each "
        "flow and epoch how many packets were sent and lost, and the path that its filter tells. A "
        "flow without a clean bucket at both ends, with clean ones that disagree, or that came to "
        "a monitor without a rule for it is undetermined: it counts for nothing.",
    .options = options,
    .required = "topology",
    .words = "FILE",
    .words_min = 1,
    .words_max = READINGS_MAX,
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
