/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump codec assign`: path IDs with which path filters tell the paths of a topology apart. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/codec.h"
#include "cli/json.h"
#include "codec/path_ids.h"

static const struct pd_option options[] = {
    PD_CLI_CODEC_TOPOLOGY,
    {.name = "max-hops",
     .type = PD_OPTION_U64,
     .offset = PD_CLI_CODEC_AT(max_hops),
     .min = 1,
     .max = PD_PATH_MAX - 1,
     .fallback = "4",
     .value = "N",
     .help = "most links of detours that must not read as a shortest path"},
    {.name = "seed",
     .type = PD_OPTION_U64,
     .offset = PD_CLI_CODEC_AT(seed),
     .fallback = "1",
     .max = UINT64_MAX,
     .value = "N",
     .help = "of the random numbers: the same seed gives the same IDs"},
    {.name = "out",
     .type = PD_OPTION_STRING,
     .offset = PD_CLI_CODEC_AT(out),
     .value = "NEW",
     .help = "the topology file to write"},
    PD_CLI_CODEC_FILTERS,
    PD_CLI_CODEC_JSON,
    {0},
};

/* The file as it is, but for path IDs; the switches that have their ID as path ID need none. */
static int write_file(const struct pd_cli_codec_settings *set, const struct pd_topology *topology,
                      const uint64_t *path_ids, struct pd_error *error)
{
    json_error_t where;
    json_t *document = json_load_file(set->topology, 0, &where), *node;
    size_t i;

    if (!document) {
        return pd_fail(error, -PD_E_SYNTAX, "%.300s: %s", set->topology, where.text);
    }
    json_array_foreach(json_object_get(document, "nodes"), i, node)
    {
        const json_int_t id = json_integer_value(json_object_get(node, "id"));
        const uint32_t sw = pd_topology_switch(topology, (uint32_t)id);

        if (sw != PD_NONE && path_ids[sw] != topology->switches[sw].path_id) {
            json_object_set_new(node, "path_id", json_integer((json_int_t)path_ids[sw]));
        }
    }
    const int failed = json_dump_file(document, set->out, JSON_INDENT(1) | JSON_ENSURE_ASCII);
    json_decref(document);
    return failed ? pd_fail(error, -EIO, "%.300s: cannot be written", set->out) : 0;
}

static int report(const struct pd_cli_codec_settings *set, const struct pd_path_ids *assignment,
                  double seconds, struct pd_error *error)
{
    if (set->json) {
        return pd_cli_json_print(json_pack("{s:I,s:I,s:f}", "changed",
                                           (json_int_t)assignment->changed, "paths",
                                           (json_int_t)assignment->paths, "seconds", seconds),
                                 error);
    }
    printf("%" PRIu64 " paths told apart, %" PRIu32 " path IDs changed, %.2f s\n",
           assignment->paths, assignment->changed, seconds);
    return PD_CLI_OK;
}

static int assign(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                  struct pd_error *error)
{
    const uint64_t begun_ns = pd_clock_monotonic_ns();
    struct pd_path_ids assignment = {0};

    int err = pd_codec_assign(codec, (unsigned)set->max_hops, set->seed, &assignment);
    if (err == -PD_E_TOPOLOGY) {
        return pd_fail(error, err, "%.300s: some paths between %u and %u stay alike", set->topology,
                       assignment.left[0], assignment.left[1]);
    }
    if (err) {
        return pd_fail(error, err, "%.300s: %s", set->topology, pd_error_text(err));
    }
    err = write_file(set, codec->topology, assignment.path_ids, error);
    free(assignment.path_ids);
    const double seconds = (double)(pd_clock_monotonic_ns() - begun_ns) / (double)PD_NS_PER_S;
    return err ? err : report(set, &assignment, seconds, error);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct pd_cli_codec_settings set = *(const struct pd_cli_codec_settings *)settings;

    (void)words;
    set.codec = PD_CODEC_PATH_FILTERS;
    return pd_cli_codec_with(&set, error, assign);
}

const struct pd_cli_command pd_cli_codec_assign = {
    .name = "codec assign",
    .synopsis = "--topology FILE --out NEW [--max-hops N] [--seed N] [--json]",
    .help = "choose path IDs with which path filters tell paths apart",
    .details =
        "Writes the topology again with other values of \"path_id\" and no other change, so that "
        "no "
        "two shortest paths between the same ends leave the same path filter, and no detour of at "
        "most N links that of a shortest path. As few switches as possible get another one. Where "
        "none is found, exits with 1 and names two racks between which paths stay alike.",
    .options = options,
    .required = "topology out",
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_codec_settings),
    .run = run,
};
