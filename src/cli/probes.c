/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump probes …`: plans of probes over every link. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "probe/plan/plan.h"
#include "query/rows/text.h"

struct settings {
    const char *topology;
    enum pd_plan_mode mode;
    enum pd_plan_algorithm algorithm;
    uint64_t max_hops;
    const char *hosts;   /* IDs, "all", or NULL */
    const char *without; /* cables, or NULL */
    const char *keep;
    bool measure;
    bool json;
};

/* ---- options */

static int set_mode(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    for (int mode = PD_PLAN_DIRECTIONS; mode <= PD_PLAN_LINKS; mode++) {
        if (!strcmp(value, pd_plan_mode_name(mode))) {
            set->mode = mode;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "%s: expects directions or links, not \"%.100s\"", name,
                   value);
}

static int set_algorithm(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    for (int algorithm = PD_PLAN_EULER; algorithm <= PD_PLAN_DFS; algorithm++) {
        if (!strcmp(value, pd_plan_algorithm_name(algorithm))) {
            set->algorithm = algorithm;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "%s: expects euler, euler-unbalanced or dfs, not \"%.100s\"",
                   name, value);
}

static const struct pd_option plan_options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "topology file"},
    {.name = "mode",
     .type = PD_OPTION_CALLBACK,
     .value = "directions|links",
     .fallback = "directions",
     .set = set_mode,
     .help = "what is crossed once: each direction of a link, or each link"},
    {.name = "algorithm",
     .type = PD_OPTION_CALLBACK,
     .value = "euler|euler-unbalanced|dfs",
     .fallback = "euler",
     .set = set_algorithm,
     .help = "how links are covered, in mode links"},
    {.name = "max-hops",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, max_hops),
     .min = 1,
     .max = PD_PLAN_HOPS_MAX,
     .value = "N",
     .fallback = "60",
     .help = "hops of a path at most, in mode directions"},
    {.name = "hosts",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, hosts),
     .value = "LIST",
     .help = "switches that count as having a host, as in 1,2; or all"},
    {.name = "without",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, without),
     .value = "LIST",
     .help = "cables that failed, as in 9-17,1-9"},
    {.name = "keep",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, keep),
     .value = "FILE",
     .help = "answer of an earlier call, to change as little of as can be"},
    {.name = "measure",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, measure),
     .help = "time plans, and walks over the links; least of five"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "one JSON object"},
    {0},
};

static int check_plan(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    (void)words;
    if (set->mode == PD_PLAN_DIRECTIONS && set->algorithm != PD_PLAN_EULER) {
        return pd_fail(error, -PD_E_VALUE, "--algorithm %s needs --mode links",
                       pd_plan_algorithm_name(set->algorithm));
    }
    return 0;
}

/* ---- lists of switches and cables */

static int find_switch(const struct pd_topology *topology, const char *flag, uint32_t id,
                       uint32_t *ret_node, struct pd_error *error)
{
    uint32_t node = pd_topology_switch(topology, id);
    if (node == PD_NONE) {
        return pd_fail(error, -PD_E_NOT_FOUND, "--%s: %" PRIu32 " is no switch of the topology",
                       flag, id);
    }
    *ret_node = node;
    return 0;
}

/* Takes one number of a list, up to the character `end` or the end of the text. */
static bool take_id(const char **at, uint32_t *ret_id)
{
    char *end;
    if (**at < '0' || **at > '9') {
        return false;
    }
    unsigned long long id = strtoull(*at, &end, 10);
    *at = end;
    *ret_id = (uint32_t)id;
    return id && id <= UINT32_MAX;
}

static int read_hosts(const struct settings *set, const struct pd_topology *topology, bool *hosts,
                      struct pd_error *error)
{
    const char *at = set->hosts;
    if (!strcmp(at, "all")) {
        memset(hosts, true, topology->switches_len * sizeof *hosts);
        return 0;
    }
    for (;; at++) {
        uint32_t id, node = 0;
        if (!take_id(&at, &id) || (*at && *at != ',')) {
            return pd_fail(error, -PD_E_VALUE,
                           "--hosts: expects switch IDs as in 1,2 or all, not \"%.100s\"",
                           set->hosts);
        }
        int err = find_switch(topology, "hosts", id, &node, error);
        if (err) {
            return err;
        }
        hosts[node] = true;
        if (!*at) {
            return 0;
        }
    }
}

/* `cables` has room for one more than `text` has commas. */
static int read_cables(const char *text, const struct pd_topology *topology,
                       struct pd_plan_cable *cables, uint32_t *ret_len, struct pd_error *error)
{
    uint32_t len = 0;
    for (const char *at = text;; at++) {
        uint32_t a, b;
        bool good = take_id(&at, &a) && *at++ == '-' && take_id(&at, &b) && (!*at || *at == ',');
        if (!good) {
            return pd_fail(error, -PD_E_VALUE,
                           "--without: expects cables as in 9-17,1-9, not \"%.100s\"", text);
        }
        struct pd_plan_cable *cable = &cables[len++];
        int err = find_switch(topology, "without", a, &cable->a, error);
        err = err ? err : find_switch(topology, "without", b, &cable->b, error);
        if (err) {
            return err;
        }
        if (!pd_topology_link(topology, cable->a, cable->b)) {
            return pd_fail(error, -PD_E_NOT_FOUND,
                           "--without: the topology has no link %" PRIu32 "-%" PRIu32, a, b);
        }
        if (!*at) {
            *ret_len = len;
            return 0;
        }
    }
}

/* ---- plan */

struct inputs {
    struct pd_topology *topology;
    bool *hosts;
    struct pd_plan_cable *without;
    struct pd_plan_paths keep;
    struct pd_plan_request request;
};

static int read_keep(const char *file, struct inputs *in, struct pd_error *error)
{
    json_error_t found;
    json_t *document = json_load_file(file, 0, &found);
    if (!document) {
        return pd_fail(error, -PD_E_SYNTAX, "%.300s:%d: %.150s", file, found.line, found.text);
    }
    int err = pd_plan_read(document, in->topology, &in->keep, error);
    json_decref(document);
    in->request.keep = &in->keep;
    return err ? pd_fail_within(error, file) : 0;
}

static size_t commas(const char *text)
{
    size_t len = 0;
    for (; *text; text++) {
        len += *text == ',';
    }
    return len;
}

static int read_inputs(const struct settings *set, struct inputs *in, struct pd_error *error)
{
    int err = pd_topology_read(set->topology, &in->topology, error);
    if (err) {
        return err;
    }
    in->request = (struct pd_plan_request){.topology = in->topology,
                                           .mode = set->mode,
                                           .algorithm = set->algorithm,
                                           .max_hops = (uint32_t)set->max_hops};
    in->hosts = calloc(in->topology->switches_len + 1, sizeof *in->hosts);
    in->without = calloc(set->without ? commas(set->without) + 1 : 1, sizeof *in->without);
    if (!in->hosts || !in->without) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    if (set->hosts) {
        err = read_hosts(set, in->topology, in->hosts, error);
        in->request.hosts = in->hosts;
    }
    if (!err && set->without) {
        err = read_cables(set->without, in->topology, in->without, &in->request.without_len, error);
        in->request.without = in->without;
    }
    return err || !set->keep ? err : read_keep(set->keep, in, error);
}

static void print_paths(const struct pd_plan *plan, const struct pd_topology *topology)
{
    for (uint32_t n = 0; n < plan->paths.len; n++) {
        const uint32_t *nodes = pd_plan_path_nodes(&plan->paths, n);
        for (uint32_t i = 0; i <= plan->paths.paths[n].hops; i++) {
            printf("%s%" PRIu32, i ? "-" : "", topology->switches[nodes[i]].id);
        }
        putchar('\n');
    }
}

static void print_directions(const char *what, const struct pd_plan_cable *list, uint32_t len,
                             const struct pd_topology *topology)
{
    for (uint32_t n = 0; n < len; n++) {
        printf("%s %" PRIu32 "-%" PRIu32 "\n", what, topology->switches[list[n].a].id,
               topology->switches[list[n].b].id);
    }
}

static int print_plan(const struct settings *set, const struct pd_plan *plan,
                      const struct pd_topology *topology, uint64_t walk_ns, struct pd_error *error)
{
    if (set->json) {
        return pd_cli_json_print(pd_plan_json(plan, topology, walk_ns), error);
    }
    printf("%" PRIu32 " paths (at least %" PRIu32 ") over %" PRIu32 " links of %" PRIu32
           " switches\n",
           plan->paths.len, plan->lower_bound, plan->links, plan->switches);
    print_paths(plan, topology);
    print_directions("repeated", plan->repeated, plan->repeated_len, topology);
    print_directions("uncovered", plan->uncovered, plan->uncovered_len, topology);
    return PD_CLI_OK;
}

/* The first run of anything on a busy machine is slow: of a measurement the least counts. */
enum { MEASUREMENTS = 5 };

static int measure(const struct pd_plan_request *request, struct pd_plan *plan, uint64_t *ret_ns)
{
    uint64_t least = UINT64_MAX, ns = 0;
    for (int n = 0; n < MEASUREMENTS; n++) {
        struct pd_plan again;
        int err = pd_plan_walk(request, &ns);
        err = err ? err : pd_plan_make(request, &again);
        if (err) {
            return err;
        }
        least = ns < least ? ns : least;
        plan->plan_ns = again.plan_ns < plan->plan_ns ? again.plan_ns : plan->plan_ns;
        pd_plan_done(&again);
    }
    *ret_ns = least;
    return 0;
}

static int run_plan(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct inputs in = {0};
    struct pd_plan plan = {0};
    uint64_t walk_ns = 0;
    (void)words;
    int err = read_inputs(set, &in, error);
    if (!err) {
        err = pd_plan_make(&in.request, &plan);
        err = err || !set->measure ? err : measure(&in.request, &plan, &walk_ns);
        err = err ? pd_fail(error, err, "%s", pd_error_text(err))
                  : print_plan(set, &plan, in.topology, walk_ns, error);
    }
    pd_plan_done(&plan);
    pd_plan_paths_done(&in.keep);
    free(in.hosts);
    free(in.without);
    pd_topology_free(in.topology);
    return err;
}

const struct pd_cli_command pd_cli_probes_plan = {
    .name = "probes plan",
    .synopsis = "--topology FILE [--mode directions|links] [--max-hops N] [--hosts LIST|all] "
                "[--without LIST] [--keep FILE] [--measure] [--json]",
    .help = "paths of probes that cross every link",
    .details =
        "Plans paths that cross each direction of each link between switches once, from a switch "
        "that has a host to one that has a host, as few and as even as can be; or, in mode links, "
        "each link once.\n"
        "A component without a host is not covered; a part without hosts that is too large for "
        "--max-hops makes directions be crossed again. Both are listed.\n"
        "With --keep only those paths change that crossed a cable of --without, or that take in "
        "one that is back.",
    .options = plan_options,
    .required = "topology",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check_plan,
    .run = run_plan,
};
