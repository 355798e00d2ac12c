/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump localise`: evidence of losses from a file, and a localiser's verdict on it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "evidence/file.h"
#include "localise/localise.h"
#include "query/rows/text.h"

struct settings {
    const char *topology;
    const char *evidence;
    const char *localiser;
    bool json;
    bool causes;
    bool each_period;
};

#define CAUSES_MAX      (1u << 24) /* flows that suffered, with --causes */
#define FIRST_PERIOD_US 200000

/* ---- options ---- */

static int set_localiser(void *target, const char *name, const char *value, struct pd_error *error)
{
    (void)target;
    if (!pd_localiser_find(value)) {
        return pd_fail(error, -PD_E_VALUE, "%s: there is no localiser \"%.60s\"", name, value);
    }
    return 0;
}

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "the topology file"},
    {.name = "evidence",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, evidence),
     .value = "FILE",
     .help = "evidence, a row a line; - is standard input"},
    {.name = "localiser",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, localiser),
     .value = "NAME",
     .fallback = "evidence",
     .set = set_localiser,
     .help = "who judges; its own options follow"},
    {.name = "causes",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, causes),
     .help = "tell of each flow that suffered what hurt it"},
    {.name = "each-period",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, each_period),
     .help = "judge after each period, as a watch does; a line each"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object, for programs"},
    {0},
};

static void more_help(int argc, char **argv, FILE *out)
{
    (void)argc, (void)argv;
    for (size_t i = 0; pd_localisers[i]; i++) {
        fprintf(out, "\n%s: %s\n", pd_localisers[i]->name, pd_localisers[i]->help);
        if (pd_localisers[i]->options) {
            pd_options_help(pd_localisers[i]->options, out);
        }
    }
}

/* What the localiser's own table makes of the flags that are not in the command's. */
struct chosen {
    const struct pd_localiser_ops *ops;
    void *options;
    char **argv; /* owned; options may point into it */
    int argc;
};

static void chosen_done(struct chosen *chosen)
{
    for (int i = 1; i < chosen->argc; i++) {
        free(chosen->argv[i]);
    }
    free(chosen->argv);
    free(chosen->options);
}

static int make_flags(struct chosen *chosen, const struct pd_cli_words *words)
{
    static char name[] = "localise";
    chosen->argv = calloc((size_t)words->arguments_len / 2 + 2, sizeof *chosen->argv);
    chosen->options = calloc(1, chosen->ops->options_bytes + 1);
    if (!chosen->argv || !chosen->options) {
        return -ENOMEM;
    }
    chosen->argv[chosen->argc++] = name;
    for (int i = 0; i < words->arguments_len; i += 2) {
        if (asprintf(&chosen->argv[chosen->argc], "--%s=%s", words->arguments[i],
                     words->arguments[i + 1]) < 0) {
            return -ENOMEM;
        }
        chosen->argc++;
    }
    return 0;
}

static int choose(const struct settings *set, const struct pd_cli_words *words,
                  struct chosen *ret_chosen, struct pd_error *error)
{
    static const struct pd_option none[] = {
        {0},
    };
    struct chosen chosen = {.ops = pd_localiser_find(set->localiser)};
    const struct pd_option *table = chosen.ops->options ? chosen.ops->options : none;
    char **given = NULL;
    int words_len = 0;
    int err = make_flags(&chosen, words);
    if (err) {
        pd_fail(error, err, "%s", pd_error_text(err));
    }
    err = err ? err : pd_options_defaults(table, chosen.options, error);
    /* Parsing moves words about: what is owned stays in its place. */
    if (!err && !(given = malloc(((size_t)chosen.argc + 1) * sizeof *given))) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (!err) {
        memcpy(given, chosen.argv, ((size_t)chosen.argc + 1) * sizeof *given);
        err = pd_options_flags(table, chosen.options, chosen.argc, given, &words_len, NULL, error);
    }
    free(given);
    if (err) {
        chosen_done(&chosen);
    } else {
        *ret_chosen = chosen;
    }
    return err;
}

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct chosen chosen;
    int err = set->each_period && set->causes
                  ? pd_fail(error, -PD_E_VALUE, "either --each-period or --causes")
                  : choose(settings, words, &chosen, error);
    if (!err) {
        chosen_done(&chosen);
    }
    return err;
}

/* ---- flows that suffered, kept for their causes ---- */

struct judging {
    struct pd_localiser *localiser;
    bool causes, json;
    bool each_period; /* `period_us` is the end of the one at hand; 0: none came yet */
    uint64_t period_us;
    struct pd_evidence_row **rows; /* each with its ways and nodes behind it */
    size_t rows_len, rows_room;
    double took_ms;
    struct pd_error *error;
};

static struct pd_evidence_row *copy_row(const struct pd_evidence_row *row)
{
    size_t nodes = 0, bytes = sizeof *row + row->ways_len * sizeof *row->ways;
    for (size_t i = 0; i < row->ways_len; i++) {
        nodes += row->ways[i].nodes_len;
    }
    struct pd_evidence_row *copy = malloc(bytes + nodes * sizeof(uint32_t));
    if (!copy) {
        return NULL;
    }
    struct pd_evidence_way *ways = (struct pd_evidence_way *)(copy + 1);
    uint32_t *node = (uint32_t *)(ways + row->ways_len);
    *copy = *row;
    copy->ways = ways;
    for (size_t i = 0; i < row->ways_len; i++) {
        ways[i] = row->ways[i];
        ways[i].nodes = node;
        memcpy(node, row->ways[i].nodes, row->ways[i].nodes_len * sizeof *node);
        node += row->ways[i].nodes_len;
    }
    return copy;
}

static int keep(struct judging *judging, const struct pd_evidence_row *row)
{
    if (judging->rows_len == CAUSES_MAX) {
        return -PD_E_FULL;
    }
    if (PD_GROW(judging->rows, judging->rows_room, judging->rows_len + 1)) {
        return -ENOMEM;
    }
    judging->rows[judging->rows_len] = copy_row(row);
    return judging->rows[judging->rows_len++] ? 0 : -ENOMEM;
}

static int locate(struct judging *judging)
{
    struct pd_verdict verdict;
    uint64_t begun_ns = pd_clock_monotonic_ns();
    int err = pd_localiser_locate(judging->localiser, &verdict);
    judging->took_ms = (double)(pd_clock_monotonic_ns() - begun_ns) / 1e6;
    return err;
}

/* Of the period that ends here. */
static int tell(struct judging *judging)
{
    const struct pd_verdict *verdict = &judging->localiser->verdict;
    double end_s = (double)judging->period_us / 1e6;
    int err = locate(judging);
    if (!err && judging->json) {
        json_t *answer = pd_localiser_answer(judging->localiser, judging->took_ms);
        err = answer && !json_object_set_new(answer, "t_s", json_real(end_s)) ? 0 : -ENOMEM;
        return err ? err : pd_cli_json_print(answer, judging->error);
    }
    if (!err) {
        printf("%8.1f s  %-9s %4.0f %%", end_s, verdict->certain ? "certain" : "suspected",
               verdict->confidence * 100);
        for (size_t i = 0; i < verdict->links_len; i++) {
            printf(verdict->links[i].to ? " %u-%u" : " %u", verdict->links[i].from,
                   verdict->links[i].to);
        }
        putchar('\n');
    }
    return err;
}

/* A period is as long as it is after the one before; the first one as long as a look of a watch. */
static int begin_period(struct judging *judging, const struct pd_evidence_period *period)
{
    int err = judging->period_us ? tell(judging) : 0;
    if (period->to_us <= judging->period_us) {
        return err ? err
                   : pd_fail(judging->error, -PD_E_VALUE,
                             "--each-period: periods have to be told apart by rising times (t_s)");
    }
    judging->localiser->config.period_us =
        judging->period_us ? period->to_us - judging->period_us : FIRST_PERIOD_US;
    judging->period_us = period->to_us;
    return err;
}

static int take(void *context, const struct pd_evidence_period *period)
{
    struct judging *judging = context;
    int err = judging->each_period && !period->continues ? begin_period(judging, period) : 0;
    err = err ? err : pd_localiser_observe(judging->localiser, period);
    for (size_t i = 0; i < period->rows_len && judging->causes && !err; i++) {
        if (period->rows[i].kind == PD_EVIDENCE_FLOW && period->rows[i].lost) {
            err = keep(judging, &period->rows[i]);
        }
    }
    return err;
}

static void judging_done(struct judging *judging)
{
    for (size_t i = 0; i < judging->rows_len; i++) {
        free(judging->rows[i]);
    }
    free(judging->rows);
    pd_localiser_free(judging->localiser);
}

/* ---- the work ---- */

static int read_evidence(const struct settings *set, struct judging *judging,
                         struct pd_error *error)
{
    bool is_stdin = !strcmp(set->evidence, "-");
    const struct pd_evidence_sink sink = {judging, take};
    FILE *in = is_stdin ? stdin : fopen(set->evidence, "r");
    if (!in) {
        return pd_fail(error, -errno, "%.300s: %s", set->evidence, strerror(errno));
    }
    int err = pd_evidence_read(in, is_stdin ? "standard input" : set->evidence, &sink, error);
    if (err && error && !*error->text) {
        pd_fail(error, err, "%.300s: %s", set->evidence, pd_error_text(err));
    }
    if (!is_stdin) {
        fclose(in);
    }
    return err;
}

static int judge(const struct settings *set, const struct chosen *chosen,
                 const struct pd_topology *topology, struct judging *judging,
                 struct pd_error *error)
{
    const struct pd_localiser_config config = {.topology = topology, .options = chosen->options};
    int err = pd_localiser_new(chosen->ops, &config, &judging->localiser);
    if (err) {
        return pd_fail(error, err, "%s: %s", chosen->ops->name, pd_error_text(err));
    }
    err = read_evidence(set, judging, error);
    if (err) {
        return err;
    }
    err = set->each_period && judging->period_us ? tell(judging) : locate(judging);
    return err ? pd_fail(error, err, "%s: %s", chosen->ops->name, pd_error_text(err)) : 0;
}

static json_t *causes_json(struct judging *judging)
{
    json_t *list = json_array();
    struct pd_cause cause;
    for (size_t i = 0; i < judging->rows_len && list; i++) {
        if (pd_localiser_cause(judging->localiser, judging->rows[i], &cause) ||
            json_array_append_new(list, pd_localiser_cause_json(&judging->rows[i]->flow, &cause))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static int show_json(struct judging *judging, struct pd_error *error)
{
    json_t *answer = pd_localiser_answer(judging->localiser, judging->took_ms);
    json_t *causes = judging->causes ? causes_json(judging) : NULL;
    if (judging->causes && (!causes || json_object_set_new(answer, "causes", causes))) {
        json_decref(answer);
        answer = NULL;
    }
    return pd_cli_json_print(answer, error);
}

/* ---- for people ---- */

static void show_link(const struct pd_verdict_link *link)
{
    printf("%u", link->from);
    if (link->to) {
        printf("-%u", link->to);
    }
    if (link->loss >= 0) {
        printf(" loses about %.3g %% of its packets", link->loss * 100);
    }
    putchar('\n');
}

static void show_causes(struct judging *judging)
{
    char ends[PD_ENDS_TEXT_BYTES];
    struct pd_cause cause;
    for (size_t i = 0; i < judging->rows_len; i++) {
        if (pd_localiser_cause(judging->localiser, judging->rows[i], &cause)) {
            continue;
        }
        printf("%s: ", pd_ends_format(&judging->rows[i]->flow, ends));
        if (cause.class != PD_CAUSE_FAILURE) {
            puts(cause.class == PD_CAUSE_NOISE ? "noise" : "its path is not known");
        } else if (cause.to) {
            printf("%u-%u\n", cause.from, cause.to);
        } else {
            printf("%u\n", cause.from);
        }
    }
}

static int show_text(struct judging *judging)
{
    const struct pd_verdict *verdict = &judging->localiser->verdict;
    const struct pd_localiser_counters *counters = &judging->localiser->counters;
    char flows[PD_TEXT_NUMBER_BYTES], paths[PD_TEXT_NUMBER_BYTES];
    if (!verdict->links_len) {
        puts("nothing is seen to drop packets");
    }
    for (size_t i = 0; i < verdict->links_len; i++) {
        show_link(&verdict->links[i]);
    }
    printf("%s, confidence %.0f %%, from %s flows and %s counted paths\n",
           verdict->certain ? "certain" : "not certain", verdict->confidence * 100,
           pd_row_text_number(counters->flows, flows), pd_row_text_number(counters->paths, paths));
    show_causes(judging);
    return PD_CLI_OK;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct judging judging = {
        .causes = set->causes, .json = set->json, .each_period = set->each_period, .error = error};
    struct pd_topology *topology = NULL;
    struct chosen chosen;
    int err = choose(set, words, &chosen, error);
    if (err) {
        return err;
    }
    err = pd_topology_read(set->topology, &topology, error);
    if (!err) {
        err = judge(set, &chosen, topology, &judging, error);
    }
    if (!err && !set->each_period) {
        err = set->json ? show_json(&judging, error) : show_text(&judging);
    }
    judging_done(&judging);
    pd_topology_free(topology);
    chosen_done(&chosen);
    return err;
}

const struct pd_cli_command pd_cli_localise = {
    .name = "localise",
    .synopsis = "--topology FILE --evidence FILE|- [--localiser NAME [options of it]]",
    .help = "name the links that drop packets, from a file of evidence",
    .details =
        "Reads evidence (docs/formats/evidence.md): flows with what they sent again and the paths "
        "that they took, and packets counted before and behind a path. Prints which links drop "
        "packets, by the localiser chosen.\n"
        "A line that is no evidence ends the command with its number, and nothing more is "
        "printed.\n"
        "--each-period: what a watch would have said, period by period (t_s of the rows).\n"
        "pathdump localise --help lists the localisers with their options.",
    .options = options,
    .required = "topology evidence",
    .words = "",
    .arguments = true,
    .settings_bytes = sizeof(struct settings),
    .more_help = more_help,
    .check = check,
    .run = run,
};
