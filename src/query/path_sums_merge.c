/* SPDX-License-Identifier: Apache-2.0 */
/* pathSums: whether a host's answer is one, and how the answers of hosts become one. */
#include <errno.h>
#include <string.h>

#include "query/members.h"
#include "query/path_sums.h"

/* Of all hosts together: what is beyond is counted, and the answer is not complete. */
#define KEYS_MAX  ((size_t)1 << 20) /* of each list of sums */
#define FLOWS_MAX ((size_t)1 << 20)

enum { ROW_LEN = PD_FLOW_ROW_LEN + 3, PATH_AT = PD_FLOW_ROW_LEN, PKTS_AT, BYTES_AT };

static const char *const lists[] = {"paths", "sources", "receivers", NULL};

/* ---- a host's answer ---- */

static bool is_path(const char *text)
{
    struct pd_path path;

    return !pd_path_parse(text, &path);
}

static bool is_addr(const char *text)
{
    struct pd_addr addr;
    uint8_t version;

    return !pd_addr_parse(text, &addr, &version);
}

static bool is_sum(const json_t *sum)
{
    uint64_t number;

    return (json_array_size(sum) == 2 ||
            (json_array_size(sum) == 3 && pd_query_row_number(sum, 2, &number))) &&
           pd_query_row_number(sum, 0, &number) && pd_query_row_number(sum, 1, &number);
}

static int check_sums(const json_t *answer, const char *name, struct pd_error *error)
{
    const json_t *sums = json_object_get(answer, name);
    const char *key;
    json_t *sum;

    if (!json_is_object(sums) || json_object_size(sums) > KEYS_MAX) {
        return pd_query_question_wrong(error, "no sums by path, source and receiver");
    }
    json_object_foreach((json_t *)(uintptr_t)sums, key, sum)
    {
        if (!(*name == 'p' ? is_path(key) : is_addr(key)) || !is_sum(sum)) {
            return pd_query_question_wrong(error, "sums that are none");
        }
    }
    return 0;
}

static bool is_row(const json_t *row)
{
    const char *path = json_string_value(json_array_get(row, PATH_AT));
    struct pd_flow_id flow;
    uint64_t number;

    return json_array_size(row) == ROW_LEN && pd_query_flow_row_read(row, &flow) && path &&
           is_path(path) && pd_query_row_number(row, PKTS_AT, &number) &&
           pd_query_row_number(row, BYTES_AT, &number);
}

int pd_query_path_sums_check(const struct pd_question_run *run, const json_t *answer,
                             const struct pd_question_hosts *hosts, struct pd_error *error)
{
    const json_t *flows = json_object_get(answer, "flows"), *row;
    uint64_t number;
    size_t at;
    int err = 0;

    (void)run;
    (void)hosts;
    for (size_t i = 0; lists[i] && !err; i++) {
        err = check_sums(answer, lists[i], error);
    }
    if (err) {
        return err;
    }
    if (!json_is_array(flows) || json_array_size(flows) > FLOWS_MAX ||
        !json_is_boolean(json_object_get(answer, "complete")) ||
        pd_query_question_number(answer, "flows_seen", &number) ||
        pd_query_question_number(answer, "left_out", &number)) {
        return pd_query_question_wrong(error, "no flows, flows_seen, left_out and complete");
    }
    json_array_foreach((json_t *)(uintptr_t)flows, at, row)
    {
        if (!is_row(row)) {
            return pd_query_question_wrong(error, "flows that are none");
        }
    }
    return 0;
}

/* ---- answers become one ---- */

static void add_number(json_t *to, const json_t *from)
{
    uint64_t sum = (uint64_t)json_integer_value(to) + (uint64_t)json_integer_value(from);

    json_integer_set(to, (json_int_t)(sum < PD_TIB_SUM_MAX ? sum : PD_TIB_SUM_MAX));
}

/* An agent from before flows that begin were counted has no third number: so much less is known. */
static int merge_sum(json_t *there, json_t *sum)
{
    json_t *began = json_array_get(sum, 2);

    add_number(json_array_get(there, 0), json_array_get(sum, 0));
    add_number(json_array_get(there, 1), json_array_get(sum, 1));
    if (!began) {
        return 0;
    }
    if (json_array_size(there) < 3) {
        return json_array_append(there, began);
    }
    add_number(json_array_get(there, 2), began);
    return 0;
}

static int merge_sums(json_t *all, json_t *one, uint64_t *left_out)
{
    const char *key;
    json_t *sum;
    int failed = 0;

    json_object_foreach(one, key, sum)
    {
        json_t *there = json_object_get(all, key);

        if (there) {
            failed |= merge_sum(there, sum);
        } else if (json_object_size(all) < KEYS_MAX) {
            failed |= json_object_set(all, key, sum);
        } else {
            (*left_out)++;
        }
    }
    return failed;
}

static int merge_flows(json_t *all, const json_t *one, uint64_t *left_out)
{
    json_t *row;
    size_t i;
    int failed = 0;

    json_array_foreach((json_t *)(uintptr_t)one, i, row)
    {
        if (json_array_size(all) < FLOWS_MAX) {
            failed |= json_array_append(all, row);
        } else {
            (*left_out)++;
        }
    }
    return failed;
}

int pd_query_path_sums_finish(struct pd_question_run *run, struct pd_error *error)
{
    json_t *all = run->all;
    int failed = 0;

    for (size_t i = 0; lists[i]; i++) {
        if (!json_object_get(all, lists[i])) {
            failed |= json_object_set_new(all, lists[i], json_object());
        }
    }
    if (!json_object_get(all, "flows")) {
        failed |= json_object_set_new(all, "flows", json_array());
        failed |= json_object_set_new(all, "flows_seen", json_integer(0));
        failed |= json_object_set_new(all, "left_out", json_integer(0));
        failed |= json_object_set_new(all, "complete", json_true());
    }
    return failed ? pd_fail(error, -ENOMEM, "no memory for the answer") : 0;
}

int pd_query_path_sums_merge(struct pd_question_run *run, uint32_t host, bool alone, json_t *answer,
                             struct pd_error *error)
{
    json_t *all = run->all;
    uint64_t left_out = 0;
    int err = pd_query_path_sums_finish(run, error), failed = 0;

    (void)host;
    (void)alone;
    if (err) {
        return err;
    }
    for (size_t i = 0; lists[i]; i++) {
        failed |= merge_sums(json_object_get(all, lists[i]), json_object_get(answer, lists[i]),
                             &left_out);
    }
    failed |=
        merge_flows(json_object_get(all, "flows"), json_object_get(answer, "flows"), &left_out);
    add_number(json_object_get(all, "flows_seen"), json_object_get(answer, "flows_seen"));
    add_number(json_object_get(all, "left_out"), json_object_get(answer, "left_out"));
    if (left_out || json_is_false(json_object_get(answer, "complete"))) {
        json_t *more = json_integer((json_int_t)left_out);

        add_number(json_object_get(all, "left_out"), more);
        json_decref(more);
        failed |= json_object_set_new(all, "complete", json_false());
    }
    return failed ? pd_fail(error, -ENOMEM, "no memory for the answer") : 0;
}
