/* SPDX-License-Identifier: Apache-2.0 */
/* A toy question: how many hosts there are, and how many of them have at least so many packets. */
#include <errno.h>
#include <string.h>

#include "query/document.h"

struct args {
    uint64_t least;
};

static int read_args(const struct pd_question *question, const json_t *json, void *ret_asked,
                     struct pd_error *error)
{
    struct args *args = ret_asked;
    const char *name;
    json_t *value;

    (void)question;
    json_object_foreach((json_t *)(uintptr_t)json, name, value)
    {
        const char *text = json_string_value(value);

        if (strcmp(name, "least") != 0) {
            return pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown parameter of toyHosts", name);
        }
        if (text ? pd_query_number(text, PD_TIB_SUM_MAX, &args->least)
                 : pd_query_question_number(json, name, &args->least)) {
            return pd_fail(error, -PD_E_VALUE, "least: expected a number");
        }
    }
    return 0;
}

static int local(struct pd_question_run *run, json_t **ret_answer, struct pd_error *error)
{
    const struct args *args = run->document->asked;
    const struct pd_question_host *host = run->host;
    struct pd_query query;
    json_t *count;
    int err;

    pd_query_init(&query, PD_QUERY_GET_COUNT);
    err = pd_query_finish(&query, error);
    if (!err) {
        err = host->query(host->context, &query, &count, error);
    }
    if (err) {
        return err;
    }
    uint64_t pkts = (uint64_t)json_integer_value(json_object_get(count, "pkts"));
    *ret_answer = json_pack("{s:i, s:i, s:b}", "seen", 1, "enough", pkts >= args->least, "complete",
                            json_is_true(json_object_get(count, "complete")));
    json_decref(count);
    return *ret_answer ? 0 : -ENOMEM;
}

static int check(const struct pd_question_run *run, const json_t *answer,
                 const struct pd_question_hosts *hosts, struct pd_error *error)
{
    uint64_t number;

    (void)run;
    (void)hosts;
    return pd_query_question_number(answer, "seen", &number) ||
                   pd_query_question_number(answer, "enough", &number)
               ? pd_query_question_wrong(error, "no numbers of hosts")
               : 0;
}

static int add(json_t *all, const json_t *answer, const char *name)
{
    json_int_t sum = json_integer_value(json_object_get(all, name)) +
                     json_integer_value(json_object_get(answer, name));

    return json_object_set_new(all, name, json_integer(sum));
}

static int merge(struct pd_question_run *run, uint32_t host, bool alone, json_t *answer,
                 struct pd_error *error)
{
    (void)host;
    (void)alone;
    return add(run->all, answer, "seen") || add(run->all, answer, "enough")
               ? pd_fail(error, -ENOMEM, "no memory")
               : 0;
}

static int finish(struct pd_question_run *run, struct pd_error *error)
{
    return merge(run, 0, true, NULL, error); /* with nobody: zeros */
}

static const struct pd_question_param params[] = {
    {.name = "least", .value = "N", .help = "packets that are enough"},
    {0},
};

extern const struct pd_question toy_question;
const struct pd_question toy_question = {
    .name = "toyHosts",
    .help = "how many hosts have enough packets",
    .role = PD_ROLE_READ,
    .params = params,
    .posts = true,
    .args_bytes = sizeof(struct args),
    .groups = 1,
    .read = read_args,
    .local = local,
    .check = check,
    .merge = merge,
    .finish = finish,
};
