/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump topology …`: makes and checks topology files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "codec/codec.h"
#include "topology/topology.h"

struct settings {
    uint64_t k;
    uint64_t leaves;
    uint64_t spines;
    uint64_t hosts;
};

static const struct pd_option no_options[] = {{0}};

/* Writes the topology that a generator returned and frees it. */
static int write_made(int code, struct pd_topology *topology, struct pd_error *error)
{
    if (code) {
        return code;
    }
    code = pd_topology_write(topology, stdout);
    pd_topology_free(topology);
    return code ? pd_fail(error, code, "standard output: %s", pd_error_text(code)) : PD_CLI_OK;
}

/* ---- fat-tree, vl2 ---- */

static const struct pd_option fat_tree_options[] = {
    {.name = "k",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, k),
     .min = 4,
     .max = 72,
     .value = "K",
     .help = "ports of a switch, even, 4 to 72"},
    {0},
};

static int run_fat_tree(const void *settings, const struct pd_cli_words *words,
                        struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_topology *topology = NULL;
    (void)words;
    int code = pd_topology_fat_tree((uint32_t)set->k, &topology, error);
    return write_made(code, topology, error);
}

const struct pd_cli_command pd_cli_topology_fat_tree = {
    .name = "topology fat-tree",
    .synopsis = "--k K",
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
    {.name = "k",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, k),
     .min = 4,
     .max = 62,
     .value = "K",
     .help = "ports of a switch, even, 4 to 62"},
    {0},
};

static int run_vl2(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_topology *topology = NULL;
    (void)words;
    int code = pd_topology_vl2((uint32_t)set->k, &topology, error);
    return write_made(code, topology, error);
}

const struct pd_cli_command pd_cli_topology_vl2 = {
    .name = "topology vl2",
    .synopsis = "--k K",
    .help = "write a VL2 network as JSON",
    .details = "Writes the topology file of a VL2 network: k/2 intermediate switches, k "
               "aggregation switches in pairs, k squared / 4 ToRs with two uplinks each.",
    .options = vl2_options,
    .required = "k",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_vl2,
};

/* ---- leaf-spine ---- */

static const struct pd_option leaf_spine_options[] = {
    {.name = "leaves",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, leaves),
     .min = 2,
     .max = 4094,
     .value = "L",
     .help = "leaf switches"},
    {.name = "spines",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, spines),
     .min = 1,
     .max = 4094,
     .value = "S",
     .help = "spine switches; leaves times spines is at most 4094"},
    {.name = "hosts",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, hosts),
     .max = 65535,
     .value = "H",
     .help = "hosts of a leaf"},
    {0},
};

static int run_leaf_spine(const void *settings, const struct pd_cli_words *words,
                          struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_topology *topology = NULL;
    (void)words;
    int code = pd_topology_leaf_spine((uint32_t)set->leaves, (uint32_t)set->spines,
                                      (uint32_t)set->hosts, &topology, error);
    return write_made(code, topology, error);
}

const struct pd_cli_command pd_cli_topology_leaf_spine = {
    .name = "topology leaf-spine",
    .synopsis = "--leaves L --spines S --hosts H",
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

static void print_finding(void *context, const char *finding)
{
    unsigned *findings = context;
    ++*findings;
    puts(finding);
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
    int code = pd_codec_new(topology, &codec, error);
    snprintf(place, sizeof place, "%.380s: codec", file);
    pd_codec_free(codec);
    return code ? pd_fail_within(error, place) : 0;
}

static int run_check(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const char *file = words->words[0];
    struct pd_topology *topology = NULL;
    unsigned findings = 0;
    (void)settings;
    int code = pd_topology_check(file, print_finding, &findings, error);
    if (findings) {
        return pd_fail(error, code ? code : -PD_E_TOPOLOGY, "%.300s: %u finding%s", file, findings,
                       findings == 1 ? "" : "s");
    }
    if (!code) {
        code = pd_topology_read(file, &topology, error);
    }
    if (!code) {
        code = check_codec(file, topology, error);
    }
    if (!code) {
        print_summary(file, topology);
    }
    pd_topology_free(topology);
    return code;
}

const struct pd_cli_command pd_cli_topology_check = {
    .name = "topology check",
    .synopsis = "FILE",
    .help = "check a topology file",
    .details = "Prints one line that says what the file holds; or each thing that is wrong with "
               "it, with its place in the file, and exits with 1.",
    .options = no_options,
    .words = "FILE",
    .words_min = 1,
    .words_max = 1,
    .run = run_check,
};
