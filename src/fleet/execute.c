/* SPDX-License-Identifier: Apache-2.0 */
/* The course of an execution, whatever is asked. */
#include "fleet/execute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/exec.h"

#define STACK_BYTES ((size_t)512 << 10)

uint64_t pd_fleet_exec_beside_us(const struct pd_exec *exec)
{
    uint64_t local_us = (exec->local_ns + exec->run.elsewhere_ns) / PD_NS_PER_US;

    return local_us > exec->coverage.below_us ? local_us : exec->coverage.below_us;
}

uint64_t pd_fleet_exec_critical_us(const struct pd_exec *exec)
{
    return (pd_clock_thread_ns() - exec->given->begun_ns) / PD_NS_PER_US +
           pd_fleet_exec_beside_us(exec);
}

/* ---- this host's own part ---- */

static void *run_local(void *context)
{
    struct pd_exec *exec = context;

    exec->local_code = exec->carrier->local(exec, &exec->local_error);
    exec->local_ns += pd_clock_thread_ns();
    atomic_store_explicit(&exec->local_over, true, memory_order_release);
    return NULL;
}

/* With nobody to wait for, or no thread to be had, the calling thread does it. */
static void begin_local(struct pd_exec *exec)
{
    pthread_attr_t attr;

    if (!exec->given->has_part) {
        atomic_store_explicit(&exec->local_over, true, memory_order_relaxed);
        return;
    }
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    exec->has_thread =
        exec->given->trees_len && !pthread_create(&exec->thread, &attr, run_local, exec);
    pthread_attr_destroy(&attr);
    if (!exec->has_thread) {
        exec->local_code = exec->carrier->local(exec, &exec->local_error);
        atomic_store_explicit(&exec->local_over, true, memory_order_relaxed);
    }
}

static void fail(struct pd_exec *exec, int err, const struct pd_error *words)
{
    if (exec->fatal) {
        return;
    }
    exec->fatal = err;
    pd_fail(exec->error, err, "%s", words->code ? words->text : pd_error_text(err));
}

static void free_ready(struct pd_exec_ready *ready)
{
    pd_http_answer_done(&ready->answer);
    json_decref(ready->object);
    free(ready);
}

/* Waits for the own part, then merges what is there. */
static void flush(struct pd_exec *exec)
{
    struct pd_error words = {0};

    if (exec->has_thread) {
        pthread_join(exec->thread, NULL);
        exec->has_thread = false;
    }
    if (exec->local_code) {
        fail(exec, exec->local_code, &exec->local_error);
    }
    while (exec->ready) {
        struct pd_exec_ready *ready = exec->ready;
        int err = exec->fatal ? 0 : exec->carrier->merge(exec, ready, &words);

        if (err) {
            fail(exec, err, &words);
        }
        exec->ready = ready->next;
        free_ready(ready);
    }
    exec->ready_len = 0;
}

/* ---- the others' ---- */

/* What a host says is good only as a whole. */
static int check(struct pd_exec *exec, const struct pd_gathered *gathered,
                 struct pd_exec_ready *ready, struct pd_error *error)
{
    struct pd_fleet_coverage host = {.bytes = gathered->bytes, .below_us = gathered->took_us};
    struct pd_roster roster;
    int err = pd_fleet_roster_init(&roster, ready->tree);

    if (!err) {
        err = exec->carrier->check(exec, ready, &roster, &host, error);
        exec->coverage.refused += err && roster.broken;
        pd_fleet_roster_done(&roster);
    }
    /* Nobody works longer than it takes. */
    if (host.below_us > gathered->took_us) {
        host.below_us = gathered->took_us;
    }
    if (!err) {
        err = pd_fleet_coverage_add(&exec->coverage, &host);
    }
    pd_fleet_coverage_done(&host);
    return err && !error->code ? pd_fail(error, err, "%s", pd_error_text(err)) : err;
}

static int take(void *context, struct pd_gathered *gathered, struct pd_error *error)
{
    struct pd_exec *exec = context;
    struct pd_exec_ready *ready = calloc(1, sizeof *ready);

    if (!ready) {
        return pd_fail(error, -ENOMEM, "no memory for its answer");
    }
    ready->tree = gathered->tree;
    ready->answer = gathered->answer;
    pd_http_answer_init(&gathered->answer);
    int err = check(exec, gathered, ready, error);
    if (err) {
        free_ready(ready);
        return err;
    }
    ready->next = exec->ready;
    exec->ready = ready;
    exec->ready_len++;
    if (exec->ready_len >= PD_EXEC_READY_MAX ||
        atomic_load_explicit(&exec->local_over, memory_order_acquire)) {
        flush(exec);
    }
    return 0;
}

static bool is_refusal(int err)
{
    return err == -PD_E_VALUE || err == -PD_E_PROGRAM || err == -PD_E_LIMIT ||
           err == -PD_E_NOT_FOUND || err == -PD_E_TOO_LARGE || err == -PD_E_UNSUPPORTED;
}

static void missing(void *context, const struct pd_tree *tree, const struct pd_error *error)
{
    struct pd_exec *exec = context;
    struct pd_error words = {0};

    if (is_refusal(error->code) && !exec->refusals++) {
        exec->refusing = tree->host;
        exec->refusal = *error;
    }
    if (pd_fleet_coverage_missing(&exec->coverage, tree->host,
                                  *error->text ? error->text : pd_error_text(error->code))) {
        fail(exec, -ENOMEM, &words);
    }
}

static bool is_cancelled(const struct pd_exec *exec)
{
    return exec->given->cancelled &&
           atomic_load_explicit(exec->given->cancelled, memory_order_relaxed);
}

static bool is_over(void *context)
{
    const struct pd_exec *exec = context;

    return exec->fatal || is_cancelled(exec) ||
           (atomic_load_explicit(&exec->local_over, memory_order_acquire) && exec->local_code);
}

/* Rows wait for each other, but not for a host that is slow. */
static uint64_t idle(void *context)
{
    struct pd_exec *exec = context;
    uint64_t now_ns = pd_clock_monotonic_ns();
    struct pd_error words = {0};

    if (!exec->rows_since_ns) {
        return 0;
    }
    if (now_ns < exec->rows_since_ns + PD_EXECUTE_ROWS_NS) {
        return exec->rows_since_ns + PD_EXECUTE_ROWS_NS - now_ns;
    }
    exec->rows_since_ns = 0;
    int err = exec->given->pass_on(exec->sink->context);
    if (err) {
        fail(exec, err, &words);
    }
    return 0;
}

static bool has_children(const struct pd_execution *given)
{
    bool has = false;

    for (size_t i = 0; i < given->trees_len; i++) {
        has |= given->trees[i].children_len != 0;
    }
    return has;
}

/* A question to tops alone needs none: who signs is known to them. */
static int make_orders(const struct pd_execution *given, const json_t *document,
                       struct pd_fleet_orders **ret_orders, struct pd_error *error)
{
    uint64_t now_ns = pd_clock_monotonic_ns();
    uint64_t left_ns = given->deadline_ns > now_ns ? given->deadline_ns - now_ns : 0;

    if (given->order) {
        return pd_fleet_order_pass(given->order, given->trees, given->trees_len, ret_orders);
    }
    if (!given->signer || !has_children(given)) {
        return 0;
    }
    return pd_fleet_orders_sign(given->signer, document,
                                pd_clock_wall_us() + left_ns / PD_NS_PER_US, given->trees,
                                given->trees_len, ret_orders, error);
}

/* Until when answers are waited for. */
static uint64_t until_ns(const struct pd_execution *given)
{
    return given->partial_ns && given->partial_ns < given->deadline_ns ? given->partial_ns
                                                                       : given->deadline_ns;
}

static int ask_all(struct pd_exec *exec, const char *text, const struct pd_fleet_orders *orders)
{
    const struct pd_execution *given = exec->given;
    struct pd_gather_sink sink = {exec, take, missing, is_over, idle};
    struct pd_gather gather = {
        .fanout = given->fanout,
        .document = text,
        .accept = exec->carrier->accept,
        .orders = orders,
        .trees = given->trees,
        .trees_len = given->trees_len,
        .deadline_ns = until_ns(given),
        .at_once = given->at_once,
        .max_bytes = exec->carrier->max_bytes(exec),
        .cancelled = given->cancelled,
        .sink = &sink,
    };

    return pd_fleet_gather_run(&gather, &exec->coverage.adopted);
}

/* As hosts get it; NULL without memory. */
static json_t *document_of(const struct pd_execution *given)
{
    json_t *json = pd_query_document_json(given->document);

    if (json && given->asker && given->document->question->acts &&
        json_object_set_new(json, "asker", pd_fleet_asker_json(given->asker))) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static int ask_others(struct pd_exec *exec, struct pd_error *error)
{
    json_t *json = document_of(exec->given);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    struct pd_fleet_orders *orders = NULL;
    int err = text ? make_orders(exec->given, json, &orders, error) : -ENOMEM;

    if (!err) {
        err = ask_all(exec, text, orders);
    }
    pd_fleet_orders_free(orders);
    free(text);
    json_decref(json);
    return err;
}

/* ---- all of it ---- */

/* Nobody answered, and everybody says that the question is at fault: then so do we. */
static int judge(const struct pd_exec *exec)
{
    if (exec->fatal) {
        return exec->fatal;
    }
    if (exec->coverage.answered || !exec->refusals || exec->refusals < exec->coverage.asked) {
        return 0;
    }
    return pd_fail(exec->error, exec->refusal.code, "host %u: %s", exec->refusing,
                   exec->refusal.text);
}

static void summarise(const struct pd_exec *exec, bool complete, struct pd_execute_summary *summary)
{
    *summary = (struct pd_execute_summary){
        .asked = exec->coverage.asked,
        .answered = exec->coverage.answered,
        .bytes = exec->coverage.bytes,
        .critical_us = pd_fleet_exec_critical_us(exec),
        .adopted = exec->coverage.adopted,
        .refused = exec->coverage.refused,
        .complete = complete,
    };
}

/* Meant by the question, and not asked. */
static int leave_out(struct pd_exec *exec)
{
    const struct pd_execution *given = exec->given;
    int err = 0;

    exec->coverage.asked += given->left_out_len;
    for (size_t i = 0; i < given->left_out_len && !err; i++) {
        err = pd_fleet_coverage_missing(&exec->coverage, given->left_out[i].host,
                                        given->left_out[i].reason);
    }
    return err;
}

static void date_missing(struct pd_exec *exec)
{
    const struct pd_execution *given = exec->given;

    for (size_t i = 0; given->since_us && i < exec->coverage.missing_len; i++) {
        struct pd_partial_missing *missing = &exec->coverage.missing[i];

        missing->since_us = given->since_us(given->told_context, missing->host);
    }
}

static int run(struct pd_exec *exec)
{
    struct pd_error words = {0};
    bool local = exec->given->has_part;

    exec->coverage.asked = pd_fleet_trees_hosts(exec->given->trees, exec->given->trees_len) + local;
    exec->coverage.answered = local;
    int err = leave_out(exec);
    begin_local(exec);
    if (!err && exec->given->trees_len) {
        err = ask_others(exec, &words);
    }
    if (err) {
        fail(exec, err, &words);
    }
    flush(exec);
    if (is_cancelled(exec)) {
        fail(exec, -PD_E_BUSY, &words);
    }
    return judge(exec);
}

static int by_id(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* After a failure of the whole only those are spoken of that are known to be missing. */
static void tell(const struct pd_exec *exec, bool whole)
{
    const struct pd_execution *given = exec->given;
    size_t len = 0;
    uint32_t *ids = given->told ? pd_fleet_trees_ids(given->trees, given->trees_len, &len) : NULL;
    bool *spoken = ids ? calloc(len + 1, sizeof *spoken) : NULL;

    for (size_t i = 0; spoken && i < exec->coverage.missing_len; i++) {
        const struct pd_partial_missing *missing = &exec->coverage.missing[i];
        const uint32_t *id = bsearch(&missing->host, ids, len, sizeof *ids, by_id);

        if (id && !spoken[id - ids]) {
            given->told(given->told_context, missing->host, missing->reason);
        }
        if (id) {
            spoken[id - ids] = true;
        }
    }
    for (size_t i = 0; spoken && whole && i < len; i++) {
        if (!spoken[i]) {
            given->told(given->told_context, ids[i], NULL);
        }
    }
    free(spoken);
    free(ids);
}

int pd_fleet_execute(const struct pd_execution *execution, const struct pd_query_sink *sink,
                     struct pd_execute_summary *ret_summary, struct pd_error *error)
{
    static const struct pd_question_host nothing; /* that it could be asked */
    struct pd_error unheard = {0};
    const struct pd_question *question = execution->document->question;
    struct pd_exec exec = {
        .given = execution,
        .sink = sink,
        .carrier = question->query ? &pd_fleet_exec_partials : &pd_fleet_exec_objects,
        .question = question,
        .run = {.document = execution->document,
                .host = execution->host ? execution->host : &nothing},
        .error = error ? error : &unheard,
    };
    bool complete = false;
    int err = exec.carrier->begin(&exec, exec.error);

    if (!err) {
        err = run(&exec);
        tell(&exec, !exec.fatal);
        date_missing(&exec);
    }
    if (!err) {
        err = exec.carrier->write(&exec, sink, &complete, exec.error);
    }
    if (!err) {
        summarise(&exec, complete, ret_summary);
    }
    exec.carrier->done(&exec);
    pd_fleet_coverage_done(&exec.coverage);
    return err;
}

int pd_fleet_execute_deadline(const json_t *deadline_ms, uint64_t *ret_deadline_ns,
                              struct pd_error *error)
{
    json_int_t ms = PD_EXECUTE_DEADLINE_MS;

    if (deadline_ms) {
        ms = json_is_integer(deadline_ms) ? json_integer_value(deadline_ms) : 0;
    }
    if (ms < 1 || ms > PD_EXECUTE_DEADLINE_MAX_MS) {
        return pd_fail(error, -PD_E_VALUE, "deadline_ms: expects a number from 1 to %u",
                       PD_EXECUTE_DEADLINE_MAX_MS);
    }
    *ret_deadline_ns = pd_clock_monotonic_ns() + (uint64_t)ms * PD_NS_PER_MS;
    return 0;
}
