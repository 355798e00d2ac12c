/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as a question of the table: results are JSON, made one by the program's merge(), or
 * listed by host. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "query/document.h"

#define RESULTS_MAX_BYTES ((uint64_t)64 << 20) /* of a list of all hosts */
#define MERGE_NS          UINT64_C(300000)     /* merge() in a process of its own */

/* What is known of the program while it is at work. */
struct own {
    bool merges;
    uint64_t bytes; /* of the list, where it does not */
};

static void size_of(const void *asked, const struct pd_topology *topology,
                    struct pd_question_size *size)
{
    (void)asked;
    (void)topology;
    size->groups_max = 1;
    size->merge_ns = MERGE_NS;
}

/* A program that is none is found out before anybody is asked. */
static int begin(struct pd_question_run *run, struct pd_error *error)
{
    const struct pd_question_merger *merger = run->host->merger;
    struct own *own = calloc(1, sizeof *own);

    if (!own) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    run->own = own;
    if (!merger) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "programs are not supported here");
    }
    return merger->able(merger->context, run->document->text, &own->merges, error);
}

static void end(struct pd_question_run *run)
{
    free(run->own);
}

/* A program works in a process of its own: what it takes is told by the clock on the wall. */
static int local(struct pd_question_run *run, json_t **ret_answer, struct pd_error *error)
{
    const struct pd_question_host *host = run->host;
    uint64_t begun_ns = pd_clock_monotonic_ns(), worked_ns = pd_clock_thread_ns();
    json_t *result;
    int err = host->program ? host->program(host->context, run->document->text, run->document->args,
                                            &result, error)
                            : pd_fail(error, -PD_E_UNSUPPORTED, "programs are not supported here");

    run->elsewhere_ns += pd_clock_monotonic_ns() - begun_ns - (pd_clock_thread_ns() - worked_ns);
    if (err) {
        return err;
    }
    *ret_answer = json_pack("{s:o}", "result", result);
    return *ret_answer ? 0 : pd_fail(error, -ENOMEM, "no memory");
}

/* ---- a host's answer ---- */

/* Without merge() the hosts' own results, each with its name. */
static int check_list(const json_t *list, const struct pd_question_hosts *hosts,
                      struct pd_error *error)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        uint64_t id;

        if (pd_query_question_number(item, "host", &id) || id > UINT32_MAX ||
            hosts->speak(hosts->context, (uint32_t)id) || !json_object_get(item, "result") ||
            json_object_size(item) != 2) {
            return pd_query_question_wrong(
                error, "a list of other results than of the hosts that were asked");
        }
    }
    return json_is_array(list) && i == hosts->answered
               ? 0
               : pd_query_question_wrong(error, "another number of results than of hosts");
}

static int check(const struct pd_question_run *run, const json_t *answer,
                 const struct pd_question_hosts *hosts, struct pd_error *error)
{
    const struct own *own = run->own;
    const json_t *result = json_object_get(answer, "result");

    if (!result) {
        return pd_query_question_wrong(error, "no \"result\"");
    }
    return hosts->alone || own->merges ? 0 : check_list(result, hosts, error);
}

/* ---- results become one ---- */

static int reduce(struct pd_question_run *run, json_t *result, struct pd_error *error)
{
    const struct pd_question_merger *merger = run->host->merger;
    json_t *before = json_object_get(run->all, "result"), *merged;

    if (!before) {
        return json_object_set(run->all, "result", result) ? -ENOMEM : 0;
    }
    int err = merger->merge(merger->context, run->document->text, before, result, &merged, error);
    return err ? err : json_object_set_new(run->all, "result", merged) ? -ENOMEM : 0;
}

static int list_one(struct pd_question_run *run, json_t *item, struct pd_error *error)
{
    struct own *own = run->own;
    json_t *list = json_object_get(run->all, "result");

    own->bytes += item ? json_dumpb(item, NULL, 0, JSON_COMPACT) : 0;
    if (own->bytes > RESULTS_MAX_BYTES) {
        json_decref(item);
        return pd_fail(error, -PD_E_TOO_LARGE,
                       "the results of all hosts are larger than %llu MiB together: the program "
                       "needs a merge()",
                       (unsigned long long)(RESULTS_MAX_BYTES >> 20));
    }
    if (!list) {
        list = json_array();
        (void)json_object_set_new(run->all, "result", list);
    }
    return json_array_append_new(list, item) ? pd_fail(error, -ENOMEM, "no memory") : 0;
}

static int merge(struct pd_question_run *run, uint32_t host, bool alone, json_t *answer,
                 struct pd_error *error)
{
    const struct own *own = run->own;
    json_t *result = json_object_get(answer, "result"), *item;
    size_t i;
    int err = 0;

    if (own->merges) {
        return reduce(run, result, error);
    }
    if (alone) {
        return list_one(run, json_pack("{s:I, s:O}", "host", (json_int_t)host, "result", result),
                        error);
    }
    json_array_foreach(result, i, item)
    {
        if (!err) {
            err = list_one(run, json_incref(item), error);
        }
    }
    return err;
}

/* ---- the answer ---- */

static int by_host(const void *a, const void *b)
{
    json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "host")),
               y = json_integer_value(json_object_get(*(json_t *const *)b, "host"));

    return (x > y) - (x < y);
}

/* Another list, of nobody's results where there are none; NULL without memory. */
static json_t *sorted(json_t *list)
{
    size_t len = json_array_size(list), i;
    json_t **items = malloc((len + 1) * sizeof(void *)), *result = json_array(), *item;
    int failed = !items || !result;

    if (!failed && len) {
        json_array_foreach(list, i, item) items[i] = item;
        qsort(items, len, sizeof(void *), by_host);
    }
    for (i = 0; !failed && i < len; i++) {
        failed = json_array_append(result, items[i]);
    }
    free(items);
    if (!failed) {
        return result;
    }
    json_decref(result);
    return NULL;
}

static int finish(struct pd_question_run *run, struct pd_error *error)
{
    const struct own *own = run->own;
    json_t *result = json_object_get(run->all, "result");
    json_t *whole = !own->merges ? sorted(result) : result ? json_incref(result) : json_null();

    return json_object_set_new(run->all, "result", whole) ? pd_fail(error, -ENOMEM, "no memory")
                                                          : 0;
}

const struct pd_question pd_query_question_program = {
    .name = "program",
    .member = "program",
    .help = "a program in Lua",
    .role = PD_ROLE_READ,
    .installs = true,
    .acts = true,
    .groups = 1,
    .size = size_of,
    .begin = begin,
    .local = local,
    .check = check,
    .merge = merge,
    .finish = finish,
    .end = end,
};
