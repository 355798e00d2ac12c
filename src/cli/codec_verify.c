/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump codec verify`: whether marks tell the paths of a topology apart. */
#include "codec/verify.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/codec.h"
#include "cli/codec_samples.h"
#include "cli/json.h"
#include "cli/pint.h"
#include "cli/progress.h"
#include "codec/edge.h"
#include "query/rows/text.h"

static const struct pd_option verify_options[] = {
    PD_CLI_CODEC_TOPOLOGY,
    {.name = "max-hops",
     .type = PD_OPTION_U64,
     .offset = PD_CLI_CODEC_AT(max_hops),
     .min = 1,
     .max = PD_PATH_MAX - 1,
     .value = "N",
     .help = "most links of a path (6; 4 for path filters)"},
    PD_CLI_CODEC_NAME,
    PD_CLI_CODEC_FILTERS,
    PD_CLI_CODEC_JSON,
    {0},
};

static void show_progress(void *context, double share)
{
    pd_cli_progress_step(context, (uint64_t)(share * 1000), 1000);
}

static json_t *verification_json(const struct pd_codec *codec, const struct pd_verification *found,
                                 const struct pd_codec_edge_proof *edge)
{
    json_t *by_hops = json_object();
    for (unsigned hops = 0; by_hops && hops < PD_PATH_MAX; hops++) {
        char key[12];
        snprintf(key, sizeof key, "%u", hops);
        if (found->by_hops[hops]) {
            json_object_set_new(by_hops, key, json_integer((json_int_t)found->by_hops[hops]));
        }
    }
    json_t *document = json_pack(
        "{s:I,s:o,s:I,s:I,s:I,s:{s:I,s:I},s:I,s:{s:I,s:I,s:I}}", "paths", (json_int_t)found->paths,
        "by_hops", by_hops, "ambiguous", (json_int_t)found->ambiguous, "undecodable",
        (json_int_t)found->undecodable, "punted", (json_int_t)found->punted, "shortest", "paths",
        (json_int_t)found->shortest.paths, "ambiguous", (json_int_t)found->shortest.ambiguous,
        "misread", (json_int_t)found->misread, "edge", "ports", (json_int_t)edge->ports, "rows",
        (json_int_t)edge->rows, "leaks", (json_int_t)edge->leaks);
    if (document && codec->ops->passes) {
        json_object_set_new(document, "membership_undecodable",
                            json_integer((json_int_t)found->membership_undecodable));
    }
    return document;
}

static void print_count(const char *what, uint64_t count)
{
    char number[PD_TEXT_NUMBER_BYTES];
    printf("  %-11s %18s\n", what, pd_row_text_number(count, number));
}

static void print_verification(const struct pd_cli_codec_settings *set,
                               const struct pd_codec *codec, unsigned max_hops,
                               const struct pd_verification *found)
{
    const struct pd_topology *topology = codec->topology;
    char number[PD_TEXT_NUMBER_BYTES];
    printf("%s, codec %s: every simple path of at most %u hops between two ToRs\n\n",
           *topology->name ? topology->name : set->topology, codec->ops->name, max_hops);
    for (unsigned hops = 0; hops < PD_PATH_MAX; hops++) {
        if (found->by_hops[hops]) {
            printf("  %2u hops     %18s\n", hops, pd_row_text_number(found->by_hops[hops], number));
        }
    }
    print_count("paths", found->paths);
    print_count("punted", found->punted);
    print_count("ambiguous", found->ambiguous);
    print_count("undecodable", found->undecodable);
    if (codec->ops->tells == PD_VERIFY_SHORTEST) {
        printf("\n");
        print_count("shortest", found->shortest.paths);
        print_count("- ambiguous", found->shortest.ambiguous);
        print_count("misread", found->misread);
    }
}

static void print_edge(const struct pd_codec_edge_proof *edge)
{
    char number[PD_TEXT_NUMBER_BYTES];
    printf("\n  ports that face hosts %8s\n", pd_row_text_number(edge->ports, number));
    printf("  rows of the edge %13s\n", pd_row_text_number(edge->rows, number));
    printf("  leaks %24s\n", pd_row_text_number(edge->leaks, number));
    if (edge->unknown) {
        printf("  %s switches have a rack, but no hosts in the topology: the edge there is not "
               "known\n",
               pd_row_text_number(edge->unknown, number));
    }
}

static bool is_bad(const struct pd_codec *codec, const struct pd_verification *found)
{
    return codec->ops->tells == PD_VERIFY_SHORTEST ? found->shortest.ambiguous || found->misread
                                                   : found->ambiguous || found->undecodable;
}

static int judge(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                 const struct pd_verification *found, const struct pd_codec_edge_proof *edge,
                 struct pd_error *error)
{
    if (is_bad(codec, found)) {
        return pd_fail(error, -PD_E_TOPOLOGY,
                       "%.300s: paths cannot be told apart: do not deploy this codec here",
                       set->topology);
    }
    if (edge->leaks) {
        return pd_fail(error, -PD_E_TOPOLOGY,
                       "%.300s: by %" PRIu64 " ports hosts can put marks of their own on packets "
                       "(\"edge\" of codec_options)",
                       set->topology, edge->leaks);
    }
    return 0;
}

static int verify(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                  struct pd_error *error)
{
    struct pd_progress progress;
    struct pd_verification found;
    struct pd_codec_edge_proof edge;
    if (codec->ops->tells == PD_VERIFY_DIGESTS) { /* many packets tell a path together */
        return pd_cli_pint_verify(codec->topology, set->json, error);
    }
    if (codec->ops->kind == PD_CODEC_SAMPLE) {
        return pd_cli_codec_samples(codec, set->json, error);
    }
    const unsigned max_hops = set->max_hops                             ? (unsigned)set->max_hops
                              : codec->ops->tells == PD_VERIFY_SHORTEST ? 4
                                                                        : 6;
    pd_cli_progress_begin(&progress, "verify");
    int err = pd_codec_verify(codec, PD_VERIFY_ALL, max_hops, show_progress, &progress, &found);
    pd_cli_progress_end(&progress);
    if (!err) {
        err = pd_codec_edge_prove(codec, set->depth, &edge);
    }
    if (err) {
        return pd_fail(error, err, "%.300s: %s", set->topology, pd_error_text(err));
    }
    if (set->json) {
        err = pd_cli_json_print(verification_json(codec, &found, &edge), error);
    } else {
        print_verification(set, codec, max_hops, &found);
        print_edge(&edge);
    }
    return err ? err : judge(set, codec, &found, &edge, error);
}

static int run_verify(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return pd_cli_codec_with(settings, error, verify);
}

const struct pd_cli_command pd_cli_codec_verify = {
    .name = "codec verify",
    .synopsis = "--topology FILE [--max-hops N] [--codec NAME] [--json]",
    .help = "prove that tags tell all paths apart",
    .details =
        "Walks every simple path of at most N hops between every two different ToRs, executes the "
        "tagging rules along it, decodes the tags, and requires the same path back. A hop is a "
        "link between two switches.\n"
        "Counts paths by hops, those that would need one tag too many (punted to the controller), "
        "those that share their tags with another path (ambiguous) and those that decode to "
        "something else (undecodable). Exits with 1 if any is ambiguous or undecodable.\n"
        "Then executes each switch's rules on every kind of packet that a host can send, with tags "
        "and a DSCP of its own: a port by which such a mark comes in is a leak, and the exit is 1, "
        "too.\n"
        "Path filters tell shortest paths apart: the exit code is 1 if two of them between the "
        "same "
        "ends are alike, or if a detour would be read as one (misread).\n"
        "Where the codec is pint, runs 1,000 trials with 8 bits on each packet (see pint trials) "
        "and exits with 1 if a path was told wrong, or not at all.",
    .options = verify_options,
    .required = "topology",
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_codec_settings),
    .run = run_verify,
};
