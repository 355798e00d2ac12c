/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump trace`: traces a flow by hand, from the host that sends it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/server.h"

struct settings {
    const char *agent, *src_ip, *dst_ip;
    uint64_t src_port, dst_port, timeout_s;
    struct pd_cli_access access;
    bool json;
};

static int check_trace(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;

    (void)words;
    if (!set->src_ip && !set->dst_ip && !set->src_port && !set->dst_port) {
        return pd_fail(error, -PD_E_VALUE,
                       "which flow: --src-ip, --src-port, --dst-ip or --dst-port");
    }
    return pd_cli_url_check("--agent", set->agent, error);
}

static char *make_body(const struct settings *set)
{
    json_t *flow = json_pack("{s:s*, s:s*}", "src_ip", set->src_ip, "dst_ip", set->dst_ip);
    json_t *body = json_pack("{s:O}", "flow_id", flow);
    char *text;

    if (set->src_port) {
        json_object_set_new(flow, "src_port", json_integer((json_int_t)set->src_port));
    }
    if (set->dst_port) {
        json_object_set_new(flow, "dst_port", json_integer((json_int_t)set->dst_port));
    }
    text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    json_decref(flow);
    return text;
}

static int ask(const struct settings *set, struct pd_cli_memory *memory, struct pd_error *error)
{
    const struct pd_query_sink sink = pd_cli_memory_sink(memory);
    char *body = make_body(set);
    const struct pd_cli_request request = {.base = set->agent,
                                           .route = "/v1/trace",
                                           .body = body,
                                           .timeout_s = set->timeout_s,
                                           .access = &set->access};
    int err = body ? pd_cli_ask(&request, &sink, error) : pd_fail(error, -ENOMEM, "no memory");

    free(body);
    if (err && !*error->text) {
        pd_cli_sink_fail(err, error);
    }
    return err;
}

/* ---- for people ---- */

static void print_hop(const json_t *hop)
{
    const json_t *addr = json_object_get(hop, "addr"), *sw = json_object_get(hop, "switch"),
                 *rtt = json_object_get(hop, "rtt_us");
    struct pd_addr read;
    uint8_t version;

    printf("%3" JSON_INTEGER_FORMAT "  ", json_integer_value(json_object_get(hop, "ttl")));
    if (!json_is_string(addr) || pd_addr_parse(json_string_value(addr), &read, &version)) {
        puts("silent");
    } else if (json_is_integer(sw)) {
        printf("switch %" JSON_INTEGER_FORMAT "  %s  %" JSON_INTEGER_FORMAT " us\n",
               json_integer_value(sw), json_string_value(addr), json_integer_value(rtt));
    } else {
        printf("%s, an address of no switch  %" JSON_INTEGER_FORMAT " us\n",
               json_string_value(addr), json_integer_value(rtt));
    }
}

static int print_text(const json_t *trace, struct pd_error *error)
{
    const json_t *hops = json_object_get(trace, "hops"), *hop;
    size_t i;

    if (!json_is_array(hops)) {
        return pd_fail(error, -PD_E_SYNTAX, "the answer's hops: expected a list");
    }
    json_array_foreach((json_t *)(uintptr_t)hops, i, hop)
    {
        print_hop(hop);
    }
    if (!json_is_true(json_object_get(trace, "consistent"))) {
        puts("no path: neighbours in the trace are none in the topology");
    } else if (json_is_true(json_object_get(trace, "reached"))) {
        puts("the destination's rack was reached");
    } else {
        puts("the trace ends here: nothing is known behind it");
    }
    return 0;
}

static int run_trace(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_cli_memory memory = {0};
    json_t *trace = NULL;
    int err = ask(set, &memory, error);

    (void)words;
    if (!err) {
        err = pd_cli_memory_json(&memory, &trace, error);
    }
    if (!err && set->json) {
        err = pd_cli_print_text(&memory, error);
    } else if (!err) {
        err = print_text(trace, error);
    }
    json_decref(trace);
    free(memory.bytes);
    return err;
}

#define AT(member) offsetof(struct settings, member)

static const struct pd_option options[] = {
    {.name = "agent",
     .type = PD_OPTION_STRING,
     .offset = AT(agent),
     .value = "URL",
     .help = "the agent of the sender: http://HOST:PORT or unix:/SOCKET"},
    {.name = "src-ip",
     .type = PD_OPTION_STRING,
     .offset = AT(src_ip),
     .value = "ADDR",
     .help = "the flow's source"},
    {.name = "src-port",
     .type = PD_OPTION_U64,
     .offset = AT(src_port),
     .min = 1,
     .max = 65535,
     .value = "PORT",
     .help = "its port"},
    {.name = "dst-ip",
     .type = PD_OPTION_STRING,
     .offset = AT(dst_ip),
     .value = "ADDR",
     .help = "the flow's destination"},
    {.name = "dst-port",
     .type = PD_OPTION_U64,
     .offset = AT(dst_port),
     .min = 1,
     .max = 65535,
     .value = "PORT",
     .help = "its port"},
    {.name = "timeout",
     .type = PD_OPTION_SECONDS,
     .offset = AT(timeout_s),
     .min = 1,
     .max = 86400,
     .value = "TIME",
     .fallback = "60s",
     .help = "longest silence of the agent"},
    PD_CLI_ACCESS_OPTIONS(struct settings, access),
    PD_CLI_JSON_OPTION(struct settings, json),
    {0},
};

const struct pd_cli_command pd_cli_trace = {
    .name = "trace",
    .synopsis = "--agent URL [--src-ip ADDR] [--src-port PORT] [--dst-ip ADDR] [--dst-port PORT] "
                "[--json]",
    .help = "trace a flow now, from its sender",
    .details =
        "Sends probes with the addresses and ports of a TCP flow, which routers treat like its "
        "packets and its receiver drops, and prints the switches that answered. What is not given "
        "of the flow is that of the one connection which the agent knows and the rest fits. A flow "
        "that was traced in this epoch is not traced again: that trace is printed.\n"
        "The agent has to run with --trace suffering.",
    .options = options,
    .required = "agent",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check_trace,
    .run = run_trace,
};
