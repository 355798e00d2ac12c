/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump topology …`: makes and checks topology files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "codec/codec.h"
#include "query/rows/text.h"
#include "topology/generators.h"

struct settings {
    uint64_t values[PD_GENERATOR_OPTIONS_MAX];
    bool addrs;
};

static int write_made(const struct pd_generator *generator, const struct settings *set,
                      struct pd_error *error)
{
    struct pd_topology *topology = NULL;
    uint32_t values[PD_GENERATOR_OPTIONS_MAX];
    for (size_t i = 0; i < PD_GENERATOR_OPTIONS_MAX; i++) {
        values[i] = set->values[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)set->values[i];
    }
    int err = pd_topology_generate(generator, values, set->addrs, &topology, error);
    if (err) {
        return err;
    }
    err = pd_topology_write(topology, stdout);
    pd_topology_free(topology);
    return err ? pd_fail(error, err, "standard output: %s", pd_error_text(err)) : PD_CLI_OK;
}

#define ADDRS_OPTION                                                                         \
    {                                                                                        \
        .name = "addrs", .type = PD_OPTION_FLAG, .offset = offsetof(struct settings, addrs), \
        .help = "with addresses of switches and of links between them"                       \
    }

/* ---- generate ---- */

static const struct pd_option generate_options[] = {
    ADDRS_OPTION,
    {0},
};

static int find_generator(const char *name, const struct pd_generator **ret_generator,
                          struct pd_error *error)
{
    char known[200] = "";
    size_t at = 0;
    *ret_generator = pd_topology_generator_find(name);
    for (size_t i = 0; pd_topology_generators[i] && at < sizeof known; i++) {
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "",
                               pd_topology_generators[i]->name);
    }
    return *ret_generator
               ? 0
               : pd_fail(error, -PD_E_VALUE, "%.60s: no such generator; there are %s", name, known);
}

/* The numbers behind the flags, each once, and all of them. */
static int read_values(const struct pd_generator *generator, const struct pd_cli_words *words,
                       uint64_t *values, struct pd_error *error)
{
    bool given[PD_GENERATOR_OPTIONS_MAX] = {false};
    for (int i = 0; i < words->arguments_len; i += 2) {
        const char *name = words->arguments[i], *text = words->arguments[i + 1];
        uint32_t place = pd_topology_generator_option(generator, name);
        if (place == PD_NONE || given[place]) {
            return pd_fail(error, -PD_E_VALUE, "%s: %s --%.60s", generator->name,
                           place == PD_NONE ? "no such flag:" : "given twice:", name);
        }
        char *end;
        values[place] = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end) {
            return pd_fail(error, -PD_E_VALUE, "--%.60s: expected a number, not \"%.60s\"", name,
                           text);
        }
        given[place] = true;
    }
    for (size_t i = 0; generator->options[i].name; i++) {
        if (!given[i]) {
            return pd_fail(error, -PD_E_VALUE, "%s: --%s is missing", generator->name,
                           generator->options[i].name);
        }
    }
    return 0;
}

static int check_generate(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;
    const struct pd_generator *generator;
    int err = find_generator(words->words[0], &generator, error);
    return err ? err : read_values(generator, words, set->values, error);
}

static int run_generate(const void *settings, const struct pd_cli_words *words,
                        struct pd_error *error)
{
    return write_made(pd_topology_generator_find(words->words[0]), settings, error);
}

static void list_generators(FILE *out)
{
    for (size_t i = 0; pd_topology_generators[i]; i++) {
        const struct pd_generator *generator = pd_topology_generators[i];
        fprintf(out, "\n%s: %s.", generator->name, generator->help);
        for (size_t o = 0; generator->options[o].name; o++) {
            const struct pd_generator_option *option = &generator->options[o];
            fprintf(out, "\n\t--%s %s\t%s; %u to %u", option->name, option->value, option->help,
                    option->min, option->max);
        }
    }
}

const struct pd_cli_command pd_cli_topology_generate = {
    .name = "topology generate",
    .synopsis = "NAME [--addrs] [numbers]",
    .help = "write a regular network as JSON",
    .details = "Writes the topology file of a network that the generator NAME makes; its numbers "
               "are flags, and all are needed. Generators:",
    .options = generate_options,
    .words = "GENERATOR",
    .words_min = 1,
    .words_max = 1,
    .arguments = true,
    .settings_bytes = sizeof(struct settings),
    .more_details = list_generators,
    .check = check_generate,
    .run = run_generate,
};

/* ---- fat-tree, vl2, leaf-spine: short forms ---- */

#define VALUE_OPTION(name_, nth, value_, min_, max_, help_)                                    \
    {                                                                                          \
        .name = (name_), .type = PD_OPTION_U64,                                                \
        .offset = offsetof(struct settings, values) + (nth) * sizeof(uint64_t), .min = (min_), \
        .max = (max_), .value = (value_), .help = (help_)                                      \
    }

static const struct pd_option fat_tree_options[] = {
    VALUE_OPTION("k", 0, "K", 4, 72, "ports of a switch, even, 4 to 72"),
    ADDRS_OPTION,
    {0},
};

static int run_fat_tree(const void *settings, const struct pd_cli_words *words,
                        struct pd_error *error)
{
    (void)words;
    return write_made(pd_topology_generator_find("fat-tree"), settings, error);
}

const struct pd_cli_command pd_cli_topology_fat_tree = {
    .name = "topology fat-tree",
    .synopsis = "--k K [--addrs]",
    .help = "write a k-ary fat-tree as JSON",
    .details = "Writes the topology file of a fat-tree of k-port switches: k pods of k/2 ToRs and "
               "k/2 aggregation switches, k/2 squared cores. Hosts of a ToR are 10.POD.TOR.2 and "
               "up, pods and ToRs counted from 1.",
    .options = fat_tree_options,
    .required = "k",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_fat_tree,
};

static const struct pd_option vl2_options[] = {
    VALUE_OPTION("k", 0, "K", 4, 62, "ports of a switch, even, 4 to 62"),
    ADDRS_OPTION,
    {0},
};

static int run_vl2(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    (void)words;
    return write_made(pd_topology_generator_find("vl2"), settings, error);
}

const struct pd_cli_command pd_cli_topology_vl2 = {
    .name = "topology vl2",
    .synopsis = "--k K [--addrs]",
    .help = "write a VL2 network as JSON",
    .details = "Writes the topology file of a VL2 network: k/2 intermediate switches, k "
               "aggregation switches in pairs, k squared / 4 ToRs with two uplinks each.",
    .options = vl2_options,
    .required = "k",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_vl2,
};

static const struct pd_option leaf_spine_options[] = {
    VALUE_OPTION("leaves", 0, "L", 2, 4094, "leaf switches"),
    VALUE_OPTION("spines", 1, "S", 1, 4094, "spine switches; leaves times spines is at most 4094"),
    VALUE_OPTION("hosts", 2, "H", 0, 65535, "hosts of a leaf"),
    ADDRS_OPTION,
    {0},
};

static int run_leaf_spine(const void *settings, const struct pd_cli_words *words,
                          struct pd_error *error)
{
    (void)words;
    return write_made(pd_topology_generator_find("leaf-spine"), settings, error);
}

const struct pd_cli_command pd_cli_topology_leaf_spine = {
    .name = "topology leaf-spine",
    .synopsis = "--leaves L --spines S --hosts H [--addrs]",
    .help = "write a leaf-spine network as JSON",
    .details =
        "Writes the topology file of a leaf-spine network, every leaf linked to every spine.",
    .options = leaf_spine_options,
    .required = "leaves spines hosts",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_leaf_spine,
};

/* ---- check ---- */

struct check_settings {
    bool json;
};

static const struct pd_option check_options[] = {
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct check_settings, json),
     .help = "print one JSON object, for programs"},
    {0},
};

struct findings {
    unsigned len;
    json_t *list; /* with --json; NULL: they are printed */
};

/* What a file holds may be no UTF-8, which JSON cannot hold. */
static void take_finding(void *context, const char *finding)
{
    struct findings *findings = context;
    json_t *text = findings->list ? json_string(finding) : NULL;
    findings->len++;
    if (!findings->list) {
        puts(finding);
    } else {
        json_array_append_new(findings->list, text ? text : json_string("not UTF-8"));
    }
}

static json_t *codecs_json(const struct pd_topology *topology)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < topology->codecs_len; i++) {
        json_array_append_new(list, json_string(topology->codecs[i].name));
    }
    return list;
}

/* NULL members where the file cannot be read as a topology. */
static int print_json(const char *file, const struct pd_topology *topology, struct findings *found,
                      struct pd_error *error)
{
    json_t *document =
        json_pack("{s:s*, s:b, s:O}", "file", file, "ok", !found->len, "findings", found->list);
    if (document && topology) {
        json_t *summary = json_pack(
            "{s:s, s:I, s:I, s:I, s:I, s:o}", "name", topology->name, "switches",
            (json_int_t)topology->switches_len, "links", (json_int_t)topology->fabric_links_len,
            "components", (json_int_t)topology->components, "hosts",
            (json_int_t)topology->hosts_len, "codecs", codecs_json(topology));
        json_object_update_new(document, summary);
    }
    return pd_cli_json_print(document, error);
}

static void print_summary(const char *file, const struct pd_topology *topology)
{
    printf("%s: ok: %s, %u switches, %u links between them, ", file,
           *topology->name ? topology->name : "no name", topology->switches_len,
           topology->fabric_links_len);
    if (topology->components > 1) {
        printf("%u connected parts, ", topology->components);
    }
    printf("%u hosts, codec %s", topology->hosts_len, *topology->codec ? topology->codec : "none");
    for (uint32_t i = 1; i < topology->codecs_len; i++) {
        printf(", %s", topology->codecs[i].name);
    }
    putchar('\n');
}

/* A file whose codec cannot serve it, or whose link tags contradict the codec's, is of no use to
 * anybody. */
static int check_codec(const char *file, const struct pd_topology *topology, struct pd_error *error)
{
    char place[400];
    struct pd_codec *codec = NULL;
    if (!*topology->codec) {
        return 0;
    }
    int err = pd_codec_new(topology, &codec, error);
    snprintf(place, sizeof place, "%.380s: codec", file);
    pd_codec_free(codec);
    return err ? pd_fail_within(error, place) : 0;
}

/* Reads the whole file; what is wrong with it is a finding, the codec's complaint too. */
static int check_file(const char *file, struct findings *found, struct pd_topology **ret_topology,
                      struct pd_error *error)
{
    struct pd_error inner = {0};
    int err = pd_topology_check(file, take_finding, found, error);
    if (found->len) {
        return pd_fail(error, err ? err : -PD_E_TOPOLOGY, "%.300s: %u finding%s", file, found->len,
                       pd_row_text_plural(found->len));
    }
    err = err ? err : pd_topology_read(file, ret_topology, error);
    if (err) {
        return err;
    }
    err = check_codec(file, *ret_topology, &inner);
    if (err) {
        *error = inner;
    }
    if (err && found->list) {
        take_finding(found, inner.text);
    }
    return err;
}

static int run_check(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct check_settings *set = settings;
    const char *file = words->words[0];
    struct pd_topology *topology = NULL;
    struct findings found = {.list = set->json ? json_array() : NULL};
    int err = check_file(file, &found, &topology, error);

    if (set->json && (!err || found.len)) {
        int printed = print_json(file, topology, &found, error);
        err = printed ? printed : err ? PD_CLI_FAILED : 0;
    } else if (!err) {
        print_summary(file, topology);
    }
    json_decref(found.list);
    pd_topology_free(topology);
    return err;
}

const struct pd_cli_command pd_cli_topology_check = {
    .name = "topology check",
    .synopsis = "FILE [--json]",
    .help = "check a topology file",
    .details = "Prints one line that says what the file holds; or each thing that is wrong with "
               "it, with its place in the file, and exits with 1. With --json one object: file, "
               "ok, findings (a list of texts), and what the file holds where it can be read.",
    .options = check_options,
    .words = "FILE",
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct check_settings),
    .run = run_check,
};
