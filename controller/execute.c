/* SPDX-License-Identifier: Apache-2.0 */
/* One question to many hosts, over REST or from within: which hosts, which way, and the answer of
 * all. */
#include "controller/execute.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/cost.h"
#include "controller/nearest.h"
#include "controller/routes.h"
#include "controller/select.h"
#include "controller/simulated.h"
#include "controller/trees.h"
#include "fleet/execute.h"
#include "http/accept.h"
#include "http/principal.h"
#include "program/merger.h"

#define SILENT_WORDS PD_FANOUT_SILENT "not asked again before it gives a sign of life"

enum mode { AUTO, DIRECT, TREE };

static const char *const mode_ids[] = {"auto", "direct", "tree"};

/* One question, from its document to what became of it. */
struct job {
    struct pd_controller *controller;
    const char *client; /* whose turn it is */
    struct pd_fleet_asker asker;
    const struct pd_query_sink *sink;   /* or … */
    struct pd_execution_within *within; /* … for who asks from within */
    enum pd_execute_form form;
    enum pd_execute_form accepts; /* of rows */
    struct pd_answer *answer;     /* whose type follows the form; NULL: asked from within */
    struct pd_inventory *inventory;
    struct pd_document document;
    struct pd_selection selection;
    struct pd_trees trees;
    enum mode mode;  /* wanted, then chosen */
    uint32_t fanout; /* 0: not given */
    uint64_t deadline_ns;
    uint64_t partial_ns; /* 0: not given */
    uint64_t begun_ns;   /* processor time */
    /* hosts that are left out, since they are silent */
    struct pd_partial_missing *silent;
    size_t silent_len;
    char why[PD_COST_WORDS_BYTES + 128];
    struct pd_credentials_set *credentials; /* held; NULL: there are none */
    bool no_tree;                           /* nothing to sign an order with */
};

/* ---- the body ---- */

static int read_mode(const json_t *value, enum mode *ret_mode, struct pd_error *error)
{
    if (!value) {
        *ret_mode = AUTO;
        return 0;
    }
    for (size_t i = 0; json_is_string(value) && i < sizeof mode_ids / sizeof *mode_ids; i++) {
        if (!strcmp(json_string_value(value), mode_ids[i])) {
            *ret_mode = (enum mode)i;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "mode: expects \"auto\", \"direct\" or \"tree\"");
}

static int read_fanout(const json_t *value, enum mode mode, uint32_t *ret_fanout,
                       struct pd_error *error)
{
    json_int_t number = json_integer_value(value);

    if (!value) {
        return 0;
    }
    if (!json_is_integer(value) || number < PD_TREES_FANOUT_MIN || number > PD_TREES_FANOUT_MAX) {
        return pd_fail(error, -PD_E_VALUE, "fanout: expects a number from %d to %d",
                       PD_TREES_FANOUT_MIN, PD_TREES_FANOUT_MAX);
    }
    if (mode == DIRECT) {
        return pd_fail(error, -PD_E_VALUE, "fanout: there is none without a tree");
    }
    *ret_fanout = (uint32_t)number;
    return 0;
}

/* From now on. */
static int read_partial(const json_t *value, uint64_t *ret_ns, struct pd_error *error)
{
    json_int_t ms = json_integer_value(value);

    if (!value) {
        return 0;
    }
    if (!json_is_integer(value) || ms < 1 || ms > PD_EXECUTE_DEADLINE_MAX_MS) {
        return pd_fail(error, -PD_E_VALUE, "partial_after_ms: expects a number from 1 to %u",
                       PD_EXECUTE_DEADLINE_MAX_MS);
    }
    *ret_ns = pd_clock_monotonic_ns() + (uint64_t)ms * PD_NS_PER_MS;
    return 0;
}

static int read_body(struct job *job, const json_t *body, struct pd_error *error)
{
    static const char *const others[] = {
        "hosts", "mode", "fanout", "deadline_ms", "partial_after_ms", NULL};
    int err = pd_query_document_parse(body, others, &job->document, error);

    if (!err) {
        err = read_mode(json_object_get(body, "mode"), &job->mode, error);
    }
    if (!err) {
        err = read_fanout(json_object_get(body, "fanout"), job->mode, &job->fanout, error);
    }
    if (!err) {
        err = pd_fleet_execute_deadline(json_object_get(body, "deadline_ms"), &job->deadline_ns,
                                        error);
    }
    if (!err) {
        err = read_partial(json_object_get(body, "partial_after_ms"), &job->partial_ns, error);
    }
    if (!err && !job->document.text) {
        err = pd_controller_check_args(job->inventory->topology, job->document.args, error);
    }
    if (!err) {
        err = pd_controller_select(job->inventory, json_object_get(body, "hosts"), &job->selection,
                                   error);
    }
    return err;
}

/* ---- which way ---- */

/* Hosts that know each other by credentials answer each other only what a controller has signed.
 */
static bool can_sign(const struct job *job)
{
    return job->credentials && pd_http_sign_can(&job->credentials->tls);
}

static bool can_tree(const struct job *job)
{
    const struct pd_credentials_set *set = job->credentials;

    return can_sign(job) || (pd_http_credentials_open(set) && !(set && set->token_out));
}

static int check_mode(struct job *job, struct pd_error *error)
{
    if (can_tree(job)) {
        return 0;
    }
    if (job->mode == TREE) {
        return pd_fail(error, -PD_E_VALUE,
                       "mode: hosts of a tree want an order that is signed, and there is no "
                       "certificate (--tls-cert) to sign with");
    }
    job->no_tree = true;
    return 0;
}

/* Both are built, one is kept. */
static void choose(struct job *job, struct pd_trees *tree, struct pd_trees *direct)
{
    const struct pd_cost_shape shape =
        pd_controller_cost_shape(&job->document, job->inventory->topology);
    uint64_t tree_ns = pd_controller_cost_ns(&shape, tree),
             direct_ns = pd_controller_cost_ns(&shape, direct);
    enum mode estimated = tree_ns < direct_ns && !job->no_tree ? TREE : DIRECT;
    char words[PD_COST_WORDS_BYTES];

    pd_controller_cost_words(&shape, tree, tree_ns, direct_ns, words);
    if (job->mode == AUTO) {
        snprintf(job->why, sizeof job->why, "%s: %s", mode_ids[estimated], words);
    } else {
        snprintf(job->why, sizeof job->why, "%s, as asked for: %s", mode_ids[job->mode], words);
    }
    if (job->mode == AUTO) {
        job->mode = estimated;
    }
    job->trees = job->mode == TREE ? *tree : *direct;
    pd_controller_trees_done(job->mode == TREE ? direct : tree);
}

/* Silent hosts are taken out of the selection: pulse.c looks after them. */
static int leave_out_silent(struct job *job)
{
    struct pd_selection *selection = &job->selection;
    size_t kept = 0;

    job->silent = calloc(selection->len + 1, sizeof *job->silent);
    if (!job->silent) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < selection->len; i++) {
        uint32_t id = job->inventory->hosts[selection->hosts[i]].id;

        if (pd_controller_hosts_silent_since(job->controller->hosts, id)) {
            job->silent[job->silent_len++] = (struct pd_partial_missing){id, SILENT_WORDS, 0};
        } else {
            selection->hosts[kept++] = selection->hosts[i];
        }
    }
    selection->len = kept;
    return 0;
}

static void add_why(struct job *job)
{
    size_t len = strlen(job->why);

    if (job->no_tree) {
        snprintf(job->why + len, sizeof job->why - len,
                 "; no tree, for there is no certificate to sign orders with");
        len = strlen(job->why);
    }
    if (job->silent_len) {
        snprintf(job->why + len, sizeof job->why - len, "; %zu silent host%s not asked",
                 job->silent_len, job->silent_len == 1 ? "" : "s");
    }
}

static int plan(struct job *job)
{
    struct pd_trees tree, direct;
    int err = leave_out_silent(job);

    if (err) {
        return err;
    }
    err = pd_controller_trees_new(job->inventory, &job->selection, job->fanout, &tree);

    if (err) {
        return err;
    }
    err = pd_controller_trees_direct(job->inventory, &job->selection, &direct);
    if (err) {
        pd_controller_trees_done(&tree);
    } else {
        choose(job, &tree, &direct);
        add_why(job);
    }
    return err;
}

/* ---- asking ---- */

static void note_host(void *context, uint32_t host, const char *reason)
{
    pd_controller_hosts_asked(context, host, reason);
}

static uint64_t silent_since(void *context, uint32_t host)
{
    return pd_controller_hosts_silent_since(context, host);
}

static void count(struct job *job, const struct pd_execute_summary *summary)
{
    struct pd_controller_counters *counters = &job->controller->counters;

    pd_count(job->mode == TREE ? &counters->executes_tree : &counters->executes_direct, 1);
    pd_count(&counters->executes_incomplete, !summary->complete);
    pd_count(&counters->hosts_asked, summary->asked);
    pd_count(&counters->hosts_missing, summary->asked - summary->answered);
    pd_count(&counters->children_refused, summary->refused);
    pd_count(&counters->fleet_bytes, summary->bytes);
}

/* What is no query over records answers in JSON, whatever form its rows would have. */
static enum pd_execute_form form_of(const struct job *job)
{
    return pd_query_document_query(&job->document) ? job->accepts : PD_EXECUTE_JSON;
}

/* Said before the first row, which may leave while hosts are asked. */
static const char *type_of(enum pd_execute_form form)
{
    return form == PD_EXECUTE_NDJSON   ? PD_EXECUTE_NDJSON_TYPE
           : form == PD_EXECUTE_EVENTS ? PD_EXECUTE_EVENTS_TYPE
                                       : "application/json";
}

/* What is welcome, JSON if nothing is. */
static enum pd_execute_form accepted(const char *accept)
{
    static const enum pd_execute_form forms[] = {PD_EXECUTE_JSON, PD_EXECUTE_NDJSON,
                                                 PD_EXECUTE_EVENTS};
    const char *types[] = {type_of(forms[0]), type_of(forms[1]), type_of(forms[2])};
    struct pd_error unheard = {0};
    size_t chosen = 0;

    return pd_http_accept_choose(accept, types, 3, &chosen, &unheard) ? PD_EXECUTE_JSON
                                                                      : forms[chosen];
}

struct stream {
    const struct pd_controller *controller;
    struct pd_answer *answer;
};

/* A controller that stops does not wait for long answers. */
static int write_answer(void *context, const char *bytes, size_t len)
{
    struct stream *stream = context;

    if (atomic_load_explicit(&stream->controller->stopping, memory_order_relaxed)) {
        return -PD_E_BUSY;
    }
    return pd_http_answer_write(stream->answer, bytes, len);
}

static int pass_on(void *context)
{
    return pd_http_answer_flow(((struct stream *)context)->answer);
}

static int ask(struct job *job, struct pd_error *error)
{
    const struct pd_program_limits limits = {.instructions = PD_PROGRAM_INSTRUCTIONS_DEFAULT,
                                             .memory_bytes = PD_PROGRAM_MEMORY_DEFAULT_BYTES,
                                             .deadline_ns = job->deadline_ns};
    struct pd_program_merger merger;
    const struct pd_question_host host = {.merger = &merger.merger};
    struct pd_execution execution = {.fanout = job->controller->fanout,
                                     .document = &job->document,
                                     .trees = job->trees.tops,
                                     .trees_len = job->trees.tops_len,
                                     .asker = &job->asker,
                                     .signer = can_sign(job) ? &job->credentials->tls : NULL,
                                     .host = &host,
                                     .form = job->form,
                                     .pass_on = job->answer ? pass_on : NULL,
                                     .within = job->within,
                                     .deadline_ns = job->deadline_ns,
                                     .partial_ns = job->partial_ns,
                                     .left_out = job->silent,
                                     .left_out_len = job->silent_len,
                                     .since_us = silent_since,
                                     .begun_ns = job->begun_ns,
                                     .cancelled = &job->controller->stopping,
                                     .told = note_host,
                                     .told_context = job->controller->hosts};
    struct pd_execute_summary summary = {0};

    pd_program_merger_init(&merger, job->controller->programs, &limits);
    json_t *extra = json_pack("{s:s, s:s}", "mode", mode_ids[job->mode], "why", job->why);
    int err = extra ? 0 : -ENOMEM;

    execution.extra = extra;
    if (!err) {
        err = pd_fleet_execute(&execution, job->sink, &summary, error);
    }
    if (!err) {
        count(job, &summary);
    }
    json_decref(extra);
    return err;
}

/* A turn is for the work, not for reading the body: what is wrong is told at once. */
static int ask_in_turn(struct job *job, struct pd_error *error)
{
    struct pd_controller *controller = job->controller;
    int err = pd_daemon_admission_take(controller->admission, job->client, job->deadline_ns);

    if (err == -PD_E_BUSY) {
        pd_count(&controller->counters.executes_refused, 1);
        return pd_fail(error, err, "too many queries are waiting already; try again");
    }
    if (err) {
        return pd_fail(error, err, "the deadline has passed before this query had its turn");
    }
    pd_count(&controller->counters.executes, 1);
    job->begun_ns = pd_clock_thread_ns();
    err = ask(job, error);
    pd_daemon_admission_give(controller->admission, job->client);
    if (err) {
        pd_count(&controller->counters.executes_failed, 1);
    }
    return err;
}

static int run(struct job *job, const json_t *document, struct pd_error *error)
{
    int err;

    job->inventory = pd_controller_hosts_inventory(job->controller->hosts);
    job->credentials = pd_http_credentials_hold(job->controller->credentials);
    err = read_body(job, document, error);
    if (!err) {
        job->form = form_of(job);
        if (job->answer) {
            job->answer->type = type_of(job->form);
        }
        err = check_mode(job, error);
    }
    if (!err) {
        err = plan(job);
    }
    if (!err) {
        err = ask_in_turn(job, error);
    }
    if (err && error->code != err) {
        pd_fail(error, err, "%s", pd_error_text(err));
    }
    pd_controller_trees_done(&job->trees);
    free(job->silent);
    pd_controller_selection_done(&job->selection);
    pd_query_document_done(&job->document);
    pd_controller_inventory_free(job->inventory);
    pd_http_credentials_drop(job->credentials);
    return err;
}

/* ---- over REST ---- */

static int answer_simulated(struct pd_controller *controller, const json_t *body,
                            struct pd_answer *answer, struct pd_error *error)
{
    json_t *document = NULL;
    int err = pd_controller_simulated_execute(controller, body, NULL, &document, error);

    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, document);
    }
    return err;
}

int pd_controller_execute_answer(struct pd_controller *controller, struct pd_call *call,
                                 struct pd_answer *answer, struct pd_problem *problem)
{
    if (controller->simulated) {
        return answer_simulated(controller, call->body, answer, &problem->error);
    }

    struct stream stream = {controller, answer};
    const struct pd_query_sink sink = {&stream, write_answer};
    struct job job = {.controller = controller,
                      .client = call->http->peer ? call->http->peer : "",
                      .asker = pd_fleet_asker_of(call->http),
                      .sink = &sink,
                      .accepts = accepted(call->http->accept),
                      .answer = answer};
    int err = call->http->page && json_object_get(call->body, "program")
                  ? pd_fail(&problem->error, -PD_E_FORBIDDEN, "program: pages run none")
                  : run(&job, call->body, &problem->error);

    if (!err) {
        err = pd_http_answer_finish(answer);
    }
    return err && problem->error.code != err
               ? pd_fail(&problem->error, err, "%s", pd_error_text(err))
               : err;
}

/* ---- from within ---- */

int pd_controller_execute_within(struct pd_controller *controller, const char *client,
                                 const json_t *document, const struct pd_items *items,
                                 json_t **ret_answer, struct pd_error *error)
{
    if (controller->simulated) {
        return pd_controller_simulated_execute(controller, document, items, ret_answer, error);
    }
    struct pd_execution_within within = {.items = items ? *items : (struct pd_items){0}};
    struct job job = {.controller = controller, .client = client, .within = &within};
    struct pd_error unheard = {0};
    int err = run(&job, document, error ? error : &unheard);

    if (!err) {
        *ret_answer = within.answer;
    }
    return err;
}

/* ---- the part */

static int open_part(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    const struct pd_daemon_admission_limits limits = {
        .working = (unsigned)controller->settings->queries_at_once,
        .waiting = (unsigned)controller->settings->queries_waiting,
        .waiting_per_client = (unsigned)controller->settings->queries_waiting};
    int err = pd_daemon_admission_new(&limits, &controller->admission);

    (void)options;
    if (!err) {
        err = pd_programs_new(NULL, &controller->programs);
    }
    return err ? pd_fail(error, err, "queries: %s", pd_error_text(err)) : 0;
}

static void close_part(void *daemon)
{
    struct pd_controller *controller = daemon;

    pd_programs_free(controller->programs);
    pd_daemon_admission_free(controller->admission);
}

const struct pd_part pd_controller_execute_part = {
    .name = "queries", .open = open_part, .close = close_part};
