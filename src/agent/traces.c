/* SPDX-License-Identifier: Apache-2.0 */
/* The part `trace`. */
#include "agent/traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netinet/in.h>

#include "base/log.h"
#include "query/traces.h"

#define MODULE "trace"

/* ---- options ---- */

struct options {
    const char *trace, *rate, *t_max, *resolver;
    uint64_t epoch_s;
};

#define AT(member) offsetof(struct options, member)

static const struct pd_option rows[] = {
    {.section = "trace",
     .name = "trace",
     .type = PD_OPTION_STRING,
     .offset = AT(trace),
     .value = "off|suffering",
     .fallback = "off",
     .help = "whether the paths of TCP flows that lose packets are traced; needs CAP_NET_RAW"},
    {.section = "trace",
     .name = "trace-rate",
     .type = PD_OPTION_STRING,
     .offset = AT(rate),
     .value = "auto|N",
     .fallback = "auto",
     .help = "flows traced a second, at most; auto: as many as routers can answer"},
    {.section = "trace",
     .name = "trace-tmax",
     .type = PD_OPTION_STRING,
     .offset = AT(t_max),
     .value = "N",
     .fallback = "100",
     .help = "ICMP answers a second that a router may give, to all hosts together"},
    {.section = "trace",
     .name = "trace-epoch",
     .type = PD_OPTION_U64,
     .offset = AT(epoch_s),
     .min = 1,
     .max = 86400,
     .value = "SECONDS",
     .fallback = "30",
     .help = "a flow is traced once in each"},
    {.section = "trace",
     .name = "trace-resolver",
     .type = PD_OPTION_STRING,
     .offset = AT(resolver),
     .value = "none|file:F|http:URL|conntrack",
     .fallback = "none",
     .help = "who knows the servers behind virtual addresses"},
    {0},
};

static int read_number(const char *name, const char *text, double *ret_number,
                       struct pd_error *error)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end || !(number > 0) || number > 1e9) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects a number above 0, not \"%.60s\"", name,
                       text);
    }
    *ret_number = number;
    return 0;
}

static int read_options(const struct options *options, struct pd_tracer_config *config,
                        struct pd_error *error)
{
    int err = read_number("trace-tmax", options->t_max, &config->t_max, error);

    if (!err && strcmp(options->rate, "auto") != 0) {
        err = read_number("trace-rate", options->rate, &config->rate, error);
    }
    if (!err && strcmp(options->trace, "off") != 0 && strcmp(options->trace, "suffering") != 0) {
        err = pd_fail(error, -PD_E_VALUE, "trace: expects off or suffering, not \"%.60s\"",
                      options->trace);
    }
    config->resolver = options->resolver;
    config->epoch_s = options->epoch_s;
    return err;
}

/* ---- life ---- */

static struct {
    struct pd_tracer_config config;
    struct pd_model *model; /* held */
    const char *state;
    bool wanted;
    _Atomic uint64_t lost; /* traces that there was no memory to store */
} own = {.state = "off"};

static void keep(void *daemon, const struct pd_trace *trace)
{
    struct pd_agent *agent = daemon;

    if (pd_agent_pipeline_trace(agent->pipeline, trace)) {
        pd_count(&own.lost, 1);
    }
}

static int open_traces(void *daemon, const void *options, struct pd_error *error)
{
    const struct options *given = options;

    own.config = (struct pd_tracer_config){.keep = keep, .context = daemon};
    own.wanted = given && strcmp(given->trace, "off") != 0;
    own.state = "off";
    return given ? read_options(given, &own.config, error) : 0;
}

static int start_traces(void *daemon, struct pd_error *error)
{
    struct pd_agent *agent = daemon;
    struct pd_error words = {0};
    int err;

    if (!own.wanted) {
        return 0;
    }
    own.model = pd_agent_model_hold(agent->model);
    own.config.topology = own.model->topology;
    own.config.monitor = agent->monitor;
    err = pd_tracer_new(&own.config, &agent->tracer, &words);
    if (err == -EPERM || err == -EACCES) {
        own.state = "no permission";
        pd_log(PD_LOG_WARN, MODULE, NULL, "flows are not traced: %s", words.text);
        return 0;
    }
    if (err) {
        return pd_fail(error, err, "trace: %s", words.text);
    }
    err = pd_tracer_start(agent->tracer);
    if (err) {
        return pd_fail(error, err, "trace: %s", pd_error_text(err));
    }
    own.state = "running";
    pd_log(PD_LOG_INFO, MODULE, NULL, "flows that suffer are traced, at most %.3g a second",
           pd_tracer_rate(agent->tracer));
    return 0;
}

void pd_agent_traces_stop(struct pd_agent *agent)
{
    if (agent->tracer) {
        pd_tracer_stop(agent->tracer);
    }
}

static void stop_traces(void *daemon)
{
    pd_agent_traces_stop(daemon);
}

static void close_traces(void *daemon)
{
    struct pd_agent *agent = daemon;

    pd_tracer_free(agent->tracer);
    agent->tracer = NULL;
    pd_agent_model_free(own.model);
    own.model = NULL;
}

void pd_agent_traces_model(struct pd_agent *agent, struct pd_model *model)
{
    struct pd_model *before = own.model;
    struct pd_error error = {0};

    if (!agent->tracer) {
        return;
    }
    own.model = pd_agent_model_hold(model);
    if (pd_tracer_topology(agent->tracer, own.model->topology, &error)) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "the rate of traces stays as it was: %s", error.text);
    }
    pd_agent_model_free(before);
}

/* ---- by hand ---- */

/* Only of a connection of this host: others' packets are nobody's to send. */
static bool is_own(const struct pd_flow_id *flow)
{
    struct sockaddr_in six_or_four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    bool four = flow->ip_version == 4;
    int fd = socket(four ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int got;

    if (fd < 0) {
        return false;
    }
    memcpy(&six_or_four.sin_addr, &flow->src, sizeof six_or_four.sin_addr);
    memcpy(&six.sin6_addr, &flow->src, sizeof six.sin6_addr);
    got = four ? bind(fd, (struct sockaddr *)&six_or_four, sizeof six_or_four)
               : bind(fd, (struct sockaddr *)&six, sizeof six);
    close(fd);
    return !got;
}

/* Some fields of a flow ID: that one connection which the monitor knows and they fit. */
static int complete(struct pd_agent *agent, const struct pd_flow_match *match,
                    struct pd_flow_id *ret_flow, struct pd_error *error)
{
    const struct pd_monitor_request all = {0};
    struct pd_monitor_list list;
    size_t found = 0;

    if (!agent->monitor || pd_monitor_list(agent->monitor, &all, &list)) {
        return pd_fail(error, -PD_E_VALUE, "flow_id: expects all fields of a flow ID");
    }
    for (size_t i = 0; i < list.len; i++) {
        if (pd_flow_matches(match, &list.flows[i].flow)) {
            *ret_flow = list.flows[i].flow;
            found++;
        }
    }
    pd_monitor_list_done(&list);
    if (found == 1) {
        return 0;
    }
    return pd_fail(error, found ? -PD_E_VALUE : -PD_E_NOT_FOUND,
                   "flow_id: %zu TCP connections of this host that are known fit", found);
}

static bool is_field(const char *name)
{
    static const char *const fields[] = {"src_ip", "dst_ip", "src_port", "dst_port", "protocol"};

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!strcmp(name, fields[i])) {
            return true;
        }
    }
    return false;
}

static int read_match(const json_t *flow_id, struct pd_flow_match *ret_match,
                      struct pd_error *error)
{
    struct pd_query query;
    const char *name;
    json_t *value;
    int err = json_object_size(flow_id)
                  ? 0
                  : pd_fail(error, -PD_E_VALUE, "flow_id: expects fields of a flow ID");

    pd_query_init(&query, PD_QUERY_GET_FLOWS);
    json_object_foreach((json_t *)(uintptr_t)flow_id, name, value)
    {
        char room[32] = "";
        const char *text = json_string_value(value);

        if (json_is_integer(value)) {
            snprintf(room, sizeof room, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        }
        if (!err) {
            err = is_field(name)
                      ? pd_query_set(&query, name, text ? text : room, error)
                      : pd_fail(error, -PD_E_VALUE, "flow_id: expects fields of a flow ID");
        }
    }
    *ret_match = query.filter.flow;
    return err;
}

static int find_flow(struct pd_agent *agent, const json_t *body, struct pd_flow_id *ret_flow,
                     struct pd_error *error)
{
    const unsigned most = PD_FLOW_ALL & ~(unsigned)PD_FLOW_PROTOCOL;
    struct pd_flow_match match;
    int err = read_match(json_object_get(body, "flow_id"), &match, error);

    if (err) {
        return err;
    }
    if ((match.fields & most) != most) {
        return complete(agent, &match, ret_flow, error);
    }
    *ret_flow = match.id;
    if (!(match.fields & PD_FLOW_PROTOCOL)) {
        ret_flow->protocol = IPPROTO_TCP;
    }
    return 0;
}

static int trace_flow(void *daemon, struct pd_call *call, struct pd_answer *answer,
                      struct pd_problem *problem)
{
    struct pd_agent *agent = daemon;
    struct pd_trace trace;
    struct pd_flow_id flow;
    json_t *document;

    if (!agent->tracer) {
        return pd_fail(&problem->error, -PD_E_CONFLICT,
                       "not supported here: this agent does not trace (%s)", own.state);
    }
    int err = find_flow(agent, call->body, &flow, &problem->error);
    if (!err && flow.protocol != IPPROTO_TCP) {
        err = pd_fail(&problem->error, -PD_E_VALUE, "flow_id: expects a TCP flow");
    }
    if (!err && !is_own(&flow)) {
        err =
            pd_fail(&problem->error, -PD_E_VALUE, "flow_id: the source is no address of this host");
    }
    err = err ? err : pd_tracer_trace(agent->tracer, &flow, &trace, &problem->error);
    if (err) {
        return err;
    }
    document = pd_query_trace_json(&trace);
    if (!document) {
        return pd_fail(&problem->error, -ENOMEM, "no memory for the answer");
    }
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}

/* ---- what it shows ---- */

static const struct pd_part_counter counters[] = {
#define X(counter, text) {.name = #counter, .help = text, .value = &pd_tracer_counters.counter},
    PD_TRACER_COUNTERS(X)
#undef X
        {.name = "lost", .help = "traces not stored: no memory", .value = &own.lost},
    {0},
};

/* inet_diag tells no more. */
static bool knows_labels(struct pd_agent *agent)
{
    struct pd_monitor_stat stat;

    pd_monitor_stat(agent->monitor, &stat);
    return stat.source == PD_MONITOR_BPF;
}

static json_t *status(void *daemon)
{
    struct pd_agent *agent = daemon;
    json_t *lacks = json_array();

    if (agent->tracer) {
        json_array_append_new(lacks, json_string("ways below layer 3, members of bundled links, "
                                                 "and what a source NAT hides"));
        if (!agent->monitor) {
            json_array_append_new(lacks, json_string("nobody watches TCP here"));
        } else if (!knows_labels(agent)) {
            json_array_append_new(lacks, json_string("flow labels and DSCP of flows: routers that "
                                                     "hash these may send probes another way"));
        }
    }
    return json_pack("{s:s, s:f, s:o}", "state", own.state, "rate",
                     agent->tracer ? pd_tracer_rate(agent->tracer) : 0.0, "lacks", lacks);
}

static const struct pd_part_route routes[] = {
    {.route = {"POST", "/v1/trace", PD_ROLE_INSTALL, "traces a flow of this host now"},
     .handler = trace_flow},
    {.handler = NULL},
};

const struct pd_part pd_agent_traces = {
    .name = "trace",
    .options = rows,
    .options_bytes = sizeof(struct options),
    .counters = counters,
    .routes = routes,
    .open = open_traces,
    .start = start_traces,
    .stop = stop_traces,
    .close = close_traces,
    .status = status,
};
