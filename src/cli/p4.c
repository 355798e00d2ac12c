/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump p4 programs` and `p4 tables`: switch programs, and what a switch with them looks up. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "codec/pint/plan.h"
#include "p4/programs.h"
#include "p4/shape.h"
#include "p4/tables.h"
#include "p4/writers.h"

#define PROBE_HOSTS_MAX 4096u
#define SPEC_ENDING     ".spec"
#define INFO_ENDING     ".p4info.txt"

/* ---- programs */

struct list_settings {
    bool json;
};

static const struct pd_option list_options[] = {
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct list_settings, json),
     .help = "print one JSON object, for programs"},
    {0},
};

static json_t *program_json(const struct pd_p4_program *program)
{
    return json_pack("{s:s,s:O?,s:s,s:s,s:s,s:s?,s:b}", "name", program->name, "sets",
                     program->sets, "target", program->target, "file", program->file, "sha256",
                     program->sha256, "compiler", program->compiler, "stale", program->stale);
}

static int print_programs(const struct pd_p4_programs *programs, bool json, struct pd_error *error)
{
    json_t *list = json_array();
    for (size_t i = 0; i < programs->len; i++) {
        const struct pd_p4_program *program = &programs->programs[i];
        json_array_append_new(list, program_json(program));
        if (!json) {
            printf("%-28s %-8s %-44s %-20s%s\n", program->name, program->target, program->file,
                   program->compiler ? program->compiler : "not compiled here",
                   program->stale ? " stale" : "");
        }
    }
    if (json) {
        return pd_cli_json_print(json_pack("{s:o}", "programs", list), error);
    }
    json_decref(list);
    return PD_CLI_OK;
}

static int run_programs(const void *settings, const struct pd_cli_words *words,
                        struct pd_error *error)
{
    const struct list_settings *set = settings;
    struct pd_p4_programs programs;
    (void)words;
    int err = pd_p4_programs_read(&programs, error);
    if (err) {
        return err;
    }
    err = print_programs(&programs, set->json, error);
    pd_p4_programs_done(&programs);
    return err;
}

const struct pd_cli_command pd_cli_p4_programs = {
    .name = "p4 programs",
    .synopsis = "[--json]",
    .help = "compiled switch programs",
    .details = "Lists the sets of switch programs with their targets: pna for pathdump-switch, "
               "v1model for bmv2, tna for Tofino. One is stale when its source has changed since "
               "it was compiled. PATHDUMP_P4 names another folder of programs.",
    .options = list_options,
    .words = "",
    .settings_bytes = sizeof(struct list_settings),
    .run = run_programs,
};

/* ---- tables */

struct settings {
    const char *topology, *program, *plan, *monitors, *out;
    uint64_t sw;
    enum pd_depth depth;
    bool no_routes, probe_hosts_all;
    uint32_t *probe_hosts; /* freed at the end of the process */
    uint32_t probe_hosts_len;
    const struct pd_p4_writer *writer;
};

static int set_depth(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    set->depth = strcmp(value, "plain") ? PD_DEPTH_PCP : PD_DEPTH_PLAIN;
    return !strcmp(value, "pcp") || !strcmp(value, "plain")
               ? 0
               : pd_fail(error, -PD_E_VALUE, "%s: expects pcp or plain, not \"%.100s\"", name,
                         value);
}

static int set_routes(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    set->no_routes = !strcmp(value, "none");
    return set->no_routes || !strcmp(value, "shortest")
               ? 0
               : pd_fail(error, -PD_E_VALUE, "%s: expects shortest or none, not \"%.100s\"", name,
                         value);
}

static int set_monitors(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    set->monitors = value;
    return !strcmp(value, "tor") || !strcmp(value, "tor+top")
               ? 0
               : pd_fail(error, -PD_E_VALUE, "%s: expects tor or tor+top, not \"%.100s\"", name,
                         value);
}

static int set_format(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    set->writer = pd_p4_writer_find(value);
    return set->writer ? 0
                       : pd_fail(error, -PD_E_VALUE,
                                 "%s: expects swx, bmv2, p4runtime, bfrt or json, not \"%.100s\"",
                                 name, value);
}

static int read_hosts(struct settings *set, const char *value)
{
    uint32_t *hosts = calloc(PROBE_HOSTS_MAX, sizeof *hosts);
    const char *at = value;
    int err = hosts ? 0 : -ENOMEM;
    free(set->probe_hosts);
    set->probe_hosts = hosts;
    set->probe_hosts_len = 0;
    for (bool more = true; more && !err; more = *at == ',', at += more) {
        char *end;
        unsigned long id = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (!id || id > UINT32_MAX || (*end && *end != ',') ||
            set->probe_hosts_len == PROBE_HOSTS_MAX) {
            err = -PD_E_VALUE;
        } else {
            hosts[set->probe_hosts_len++] = (uint32_t)id;
            at = end;
        }
    }
    return err;
}

static int set_probe_hosts(void *target, const char *name, const char *value,
                           struct pd_error *error)
{
    struct settings *set = target;
    set->probe_hosts_all = !strcmp(value, "all");
    if (set->probe_hosts_all || !strcmp(value, "none")) {
        return 0;
    }
    int err = read_hosts(set, value);
    return err ? pd_fail(error, err, "%s: expects all, none or IDs with commas, not \"%.100s\"",
                         name, value)
               : 0;
}

static const struct pd_option tables_options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "the topology file"},
    {.name = "switch",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, sw),
     .min = 1,
     .max = UINT32_MAX,
     .value = "ID",
     .help = "ID of the switch"},
    {.name = "program",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, program),
     .value = "SET",
     .help = "set of programs, as in p4 programs"},
    {.name = "depth",
     .type = PD_OPTION_CALLBACK,
     .value = "pcp|plain",
     .fallback = "pcp",
     .set = set_depth,
     .help = "tag depth in the outer PCP, or not"},
    {.name = "plan",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, plan),
     .value = "FILE",
     .help = "the telemetry plan, for pint"},
    {.name = "monitors",
     .type = PD_OPTION_CALLBACK,
     .value = "tor|tor+top",
     .set = set_monitors,
     .help = "where path filters begin, in place of the topology's"},
    {.name = "probe-hosts",
     .type = PD_OPTION_CALLBACK,
     .value = "all|none|IDS",
     .fallback = "all",
     .set = set_probe_hosts,
     .help = "hosts from which probes may come"},
    {.name = "routes",
     .type = PD_OPTION_CALLBACK,
     .value = "shortest|none",
     .fallback = "shortest",
     .set = set_routes,
     .help = "routes by all shortest paths, or none"},
    {.name = "format",
     .type = PD_OPTION_CALLBACK,
     .value = "swx|bmv2|p4runtime|bfrt|json",
     .fallback = "json",
     .set = set_format,
     .help = "what the tables are for"},
    {.name = "out",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, out),
     .value = "DIR",
     .help = "write files there, in place of standard output"},
    {0},
};

static int write_list(const struct settings *set, const struct pd_p4_list *list, const char *info,
                      struct pd_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    if (set->out) {
        return pd_p4_write_folder(set->writer, list, info, set->out, error);
    }
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    int err = set->writer->write(list, info, out, error);
    fclose(out);
    if (!err && text) {
        fputs(text, stdout);
    }
    free(text);
    return err;
}

/* P4Info lies beside what is compiled. */
static void name_info(const char *spec, char *info, size_t room)
{
    const size_t len = strlen(spec), ending = strlen(SPEC_ENDING);
    bool known = len > ending && !strcmp(spec + len - ending, SPEC_ENDING);
    snprintf(info, room, "%.*s" INFO_ENDING, (int)(known ? len - ending : len), spec);
}

static int write_tables(const struct settings *set, const struct pd_tables *tables,
                        struct pd_error *error)
{
    char spec[4200], info[4300];
    struct pd_p4_shape shape = {.tables_len = 0};
    struct pd_p4_list list = {.rows_len = 0};
    int err = pd_p4_program_file(set->program, "pna", spec, sizeof spec, error);
    err = err ? err : pd_p4_shape_read(spec, &shape, error);
    if (!err) {
        name_info(spec, info, sizeof info);
        err = pd_p4_list_make(tables, &shape, (uint32_t)set->sw, set->program, &list, error);
    }
    err = err ? err : write_list(set, &list, info, error);
    pd_p4_list_done(&list);
    pd_p4_shape_done(&shape);
    return err;
}

static int make(const struct settings *set, const struct pd_topology *topology,
                const struct pd_pint_plan *plan, struct pd_error *error)
{
    const struct pd_p4_want want = {.topology = topology,
                                    .sw = pd_topology_switch(topology, (uint32_t)set->sw),
                                    .set = set->program,
                                    .depth = set->depth,
                                    .plan = plan,
                                    .routes = !set->no_routes,
                                    .probe_hosts_all = set->probe_hosts_all,
                                    .probe_hosts = set->probe_hosts,
                                    .probe_hosts_len = set->probe_hosts_len,
                                    .monitors = set->monitors};
    struct pd_tables tables = {.rows_len = 0};
    if (want.sw == PD_NONE) {
        return pd_fail(error, -PD_E_NOT_FOUND, "--switch: %" PRIu64 " is no switch of %.300s",
                       set->sw, set->topology);
    }
    int err = pd_p4_tables_make(&want, &tables, error);
    err = err ? err : write_tables(set, &tables, error);
    pd_tables_done(&tables);
    return err;
}

static int run_tables(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_topology *topology = NULL;
    struct pd_pint_plan *plan = NULL;
    (void)words;
    int err = pd_topology_read(set->topology, &topology, error);
    err = err || !set->plan ? err : pd_pint_plan_read(set->plan, &plan, error);
    err = err ? err : make(set, topology, plan, error);
    pd_pint_plan_free(plan);
    pd_topology_free(topology);
    return err;
}

const struct pd_cli_command pd_cli_p4_tables = {
    .name = "p4 tables",
    .synopsis = "--topology FILE --switch ID --program SET [--depth pcp|plain] [--plan FILE] "
                "[--monitors tor|tor+top] [--probe-hosts all|none|IDS] [--routes shortest|none] "
                "[--format swx|bmv2|p4runtime|bfrt|json] [--out DIR]",
    .help = "what a switch with P4 programs looks up",
    .details = "Prints the rows of the program's tables and the numbers of its arrays for one "
               "switch of the topology, by the names of the compiled program: routes of each "
               "rack's prefixes by all shortest paths, the edge at hosts' ports, and what each "
               "program of the set needs.\n"
               "\tswx\tfor pathdump-switch; with --out a file a table and a file an array\n"
               "\tbmv2\tcommands of simple_switch_CLI\n"
               "\tp4runtime\ta WriteRequest as text\n"
               "\tbfrt\tJSON by table, for Tofino\n"
               "\tjson\t{\"switch\", \"program\", \"tables\", \"arrays\"}",
    .options = tables_options,
    .required = "topology switch program",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_tables,
};
