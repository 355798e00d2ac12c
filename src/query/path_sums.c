/* SPDX-License-Identifier: Apache-2.0 */
/* pathSums: parameters, and a host's own part: sums of its records. */
#include "query/path_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "query/distinct.h"
#include "query/document.h"
#include "query/members.h"

#define HEX_LEN       8
#define SMALL_BYTES   120 /* mean of packets that only acknowledge */
#define SEGMENT_BYTES 1448
#define ROWS_MAX      200000u /* of flows set apart, in one host's answer */

struct args {
    uint64_t from_us, to_us;
    uint64_t below;    /* 2^32: all */
    const char *apart; /* of the document */
    size_t apart_len;  /* hashes */
    bool each;         /* all flows are set apart */
};

uint32_t pd_query_path_sums_hash(const struct pd_flow_id *flow)
{
    return (uint32_t)(pd_flow_id_hash(flow) >> 32);
}

/* ---- parameters ---- */

static bool are_hashes(const char *text, size_t len)
{
    return !(len % HEX_LEN) && strspn(text, "0123456789abcdef") == len;
}

static int read_apart(const json_t *value, struct args *args)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);

    if (!text || len / HEX_LEN > PD_PATH_SUMS_APART_MAX || !are_hashes(text, len)) {
        return -PD_E_VALUE;
    }
    args->apart = text;
    args->apart_len = len / HEX_LEN;
    return 0;
}

static int read_each(const json_t *value, bool *ret_each)
{
    const char *text = json_string_value(value);
    bool each = json_is_true(value) || (text && !strcmp(text, "true"));

    if (!each && !json_is_false(value) && (!text || strcmp(text, "false") != 0)) {
        return -PD_E_VALUE;
    }
    *ret_each = each;
    return 0;
}

static int read_one(const char *name, const json_t *value, struct args *args,
                    struct pd_error *error)
{
    if (!strcmp(name, "from_us") || !strcmp(name, "to_us")) {
        uint64_t *time_us = *name == 'f' ? &args->from_us : &args->to_us;

        return pd_query_json_number(value, PD_TIB_SUM_MAX, time_us)
                   ? pd_fail(error, -PD_E_VALUE, "%s: expected microseconds since the epoch", name)
                   : 0;
    }
    if (!strcmp(name, "apart")) {
        return read_apart(value, args)
                   ? pd_fail(error, -PD_E_VALUE,
                             "apart: expected at most %u hashes of eight hexadecimal digits, "
                             "one behind the other",
                             PD_PATH_SUMS_APART_MAX)
                   : 0;
    }
    if (!strcmp(name, "each")) {
        return read_each(value, &args->each)
                   ? pd_fail(error, -PD_E_VALUE, "each: expected true or false")
                   : 0;
    }
    if (!strcmp(name, "below")) {
        return pd_query_json_number(value, UINT64_C(1) << 32, &args->below)
                   ? pd_fail(error, -PD_E_VALUE, "below: expected a number from 0 to 4294967296")
                   : 0;
    }
    pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown parameter of " PD_PATH_SUMS_NAME, name);
    if (error) {
        pd_printable(error->text);
    }
    return -PD_E_UNKNOWN_KEY;
}

static int read_args(const struct pd_question *question, const json_t *json, void *ret_asked,
                     struct pd_error *error)
{
    struct args args = {.to_us = PD_TIB_SUM_MAX, .below = UINT64_C(1) << 32};
    const char *name;
    json_t *value;

    (void)question;
    json_object_foreach((json_t *)(uintptr_t)json, name, value)
    {
        int err = read_one(name, value, &args, error);

        if (err) {
            return err;
        }
    }
    if (args.from_us > args.to_us) {
        return pd_fail(error, -PD_E_CONFLICT, "from_us: is behind to_us");
    }
    memcpy(ret_asked, &args, sizeof args);
    return 0;
}

/* ---- sums ---- */

enum kind { PATHS, SOURCES, RECEIVERS, KINDS };

static const char *const members[KINDS] = {"paths", "sources", "receivers"};

struct sum {
    enum kind kind;
    uint8_t ip_version;
    struct pd_addr addr;
    const struct pd_path *path; /* of the table of paths */
    uint64_t pkts, bytes, began;
};

struct row {
    struct pd_flow_id flow;
    const struct pd_path *path;
    uint64_t pkts, bytes;
    bool began;
};

struct work {
    const struct args *args;
    char *apart; /* the hashes of `args`, ascending */
    struct sum *sums;
    uint32_t *slots; /* number + 1 of a sum */
    size_t sums_len, sums_room, slots_len;
    struct row *rows;
    size_t rows_len, rows_room;
    struct pd_distinct seen; /* flows */
    uint64_t left_out;
};

static void work_done(struct work *work)
{
    free(work->apart);
    free(work->sums);
    free(work->slots);
    free(work->rows);
    pd_query_distinct_done(&work->seen);
}

static size_t find_slot(const struct work *work, const struct sum *key)
{
    uint64_t hash = pd_hash(&key->addr, sizeof key->addr) ^ (uintptr_t)key->path ^ key->kind;
    size_t mask = work->slots_len - 1, at = pd_hash_mix(hash) & mask;

    for (; work->slots[at]; at = (at + 1) & mask) {
        const struct sum *sum = &work->sums[work->slots[at] - 1];

        if (sum->kind == key->kind && sum->path == key->path &&
            sum->ip_version == key->ip_version &&
            !memcmp(&sum->addr, &key->addr, sizeof key->addr)) {
            break;
        }
    }
    return at;
}

static int grow(struct work *work)
{
    size_t len = work->slots_len ? 2 * work->slots_len : 1024;

    if (PD_GROW(work->sums, work->sums_room, len / 2)) {
        return -ENOMEM;
    }
    uint32_t *slots = calloc(len, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    free(work->slots);
    work->slots = slots;
    work->slots_len = len;
    for (size_t i = 0; i < work->sums_len; i++) {
        slots[find_slot(work, &work->sums[i])] = (uint32_t)i + 1;
    }
    return 0;
}

static int add_sum(struct work *work, const struct sum *key)
{
    int err = work->sums_len == work->slots_len / 2 ? grow(work) : 0;

    if (err) {
        return err;
    }
    size_t slot = find_slot(work, key);
    if (!work->slots[slot]) {
        work->sums[work->sums_len++] = *key;
        work->slots[slot] = (uint32_t)work->sums_len;
        return 0;
    }
    struct sum *sum = &work->sums[work->slots[slot] - 1];
    sum->pkts += key->pkts;
    sum->bytes += key->bytes;
    sum->began += key->began;
    return 0;
}

static int add_row(struct work *work, const struct row *row)
{
    if (work->rows_len == ROWS_MAX) {
        work->left_out++;
        return 0;
    }
    if (PD_GROW(work->rows, work->rows_room, work->rows_len + 1)) {
        return -ENOMEM;
    }
    work->rows[work->rows_len++] = *row;
    return 0;
}

/* ---- records ---- */

/* How many of `all` came by `at`, evenly from `begin` to `end`. */
static uint64_t came_by(uint64_t all, uint64_t begin_us, uint64_t end_us, uint64_t at_us)
{
    if (at_us >= end_us) {
        return all;
    }
    if (at_us < begin_us) {
        return 0;
    }
    return (uint64_t)((double)all * (double)(at_us - begin_us) / (double)(end_us - begin_us));
}

static uint64_t within(const struct args *args, const struct pd_tib_record *record, uint64_t all)
{
    uint64_t end = came_by(all, record->stime_us, record->etime_us, args->to_us);
    uint64_t begin = came_by(all, record->stime_us, record->etime_us, args->from_us);

    return end > begin ? end - begin : 0;
}

static uint64_t segments(uint64_t bytes, uint64_t pkts)
{
    uint64_t least = bytes / SEGMENT_BYTES;

    return pkts > least ? pkts : least;
}

static int by_hash(const void *a, const void *b)
{
    return memcmp(a, b, HEX_LEN);
}

static int sort_apart(struct work *work)
{
    size_t len = work->args->apart_len;

    work->apart = len ? malloc(len * HEX_LEN) : NULL;
    if (!work->apart) {
        return len ? -ENOMEM : 0;
    }
    memcpy(work->apart, work->args->apart, len * HEX_LEN);
    qsort(work->apart, len, HEX_LEN, by_hash);
    return 0;
}

static bool is_apart(const struct work *work, uint32_t hash)
{
    char text[HEX_LEN + 1];

    if (!work->apart) {
        return false;
    }
    snprintf(text, sizeof text, "%08" PRIx32, hash);
    return bsearch(text, work->apart, work->args->apart_len, HEX_LEN, by_hash);
}

static int add_sums(struct work *work, const struct row *row)
{
    const struct pd_flow_id *flow = &row->flow;
    const struct sum keys[KINDS] = {
        {.kind = PATHS, .path = row->path},
        {.kind = SOURCES, .addr = flow->src, .ip_version = flow->ip_version},
        {.kind = RECEIVERS, .addr = flow->dst, .ip_version = flow->ip_version}};
    int err = 0;

    for (int k = 0; k < KINDS && !err; k++) {
        struct sum key = keys[k];

        key.pkts = row->pkts;
        key.bytes = row->bytes;
        key.began = row->began;
        err = add_sum(work, &key);
    }
    return err;
}

/* A flow that carried data within the span, whether it is of the sample or not. */
static int count_flow(struct work *work, const struct row *row)
{
    return row->pkts ? pd_query_distinct_add(&work->seen, pd_flow_id_hash(&row->flow)) : 0;
}

static int take_record(struct work *work, const struct pd_tib_record *record)
{
    const struct args *args = work->args;
    uint32_t hash = pd_query_path_sums_hash(&record->flow);
    bool is_named = is_apart(work, hash), is_small = record->bytes < record->pkts * SMALL_BYTES;
    uint64_t all = segments(record->bytes, record->pkts);
    struct row row = {.flow = record->flow};

    if (!record->path->len || (is_small && !is_named)) {
        return 0;
    }
    row.pkts = within(args, record, all);
    row.bytes = within(args, record, record->bytes);
    row.began = record->stime_us >= args->from_us && record->stime_us < args->to_us;
    int err = count_flow(work, &row);
    if (err || hash >= args->below || (!row.pkts && !is_named)) {
        return err;
    }
    err = pd_path_intern(record->path, &row.path, NULL);
    if (err == -PD_E_FULL || err == -PD_E_VALUE) {
        work->left_out++;
        return 0;
    }
    if (!err) {
        err = is_named || args->each ? add_row(work, &row) : add_sums(work, &row);
    }
    return err;
}

static int take(void *context, const struct pd_tib_record *records, size_t n)
{
    int err = 0;

    for (size_t i = 0; i < n && !err; i++) {
        err = take_record(context, &records[i]);
    }
    return err;
}

/* ---- the answer ---- */

static int by_flow_and_path(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = memcmp(&x->flow, &y->flow, sizeof x->flow);

    return order ? order : (x->path > y->path) - (x->path < y->path);
}

/* Slices of a flow on one path become one. */
static size_t merge_slices(struct row *rows, size_t len)
{
    size_t kept = 0;

    if (len) {
        qsort(rows, len, sizeof *rows, by_flow_and_path);
    }
    for (size_t i = 0; i < len; i++) {
        if (kept && !by_flow_and_path(&rows[kept - 1], &rows[i])) {
            rows[kept - 1].bytes += rows[i].bytes;
            rows[kept - 1].pkts += rows[i].pkts;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static const char *path_text(const struct pd_path *path, char text[PD_PATH_MAX * 11 + 1])
{
    size_t at = 0;

    for (uint32_t i = 0; i < path->len; i++) {
        at += (size_t)sprintf(text + at, "%s%" PRIu32, i ? "," : "", path->switches[i]);
    }
    return text;
}

static int write_sum(json_t *answer, const struct sum *sum)
{
    char text[PD_PATH_MAX * 11 + 1];
    const char *key = sum->kind == PATHS ? path_text(sum->path, text)
                                         : pd_addr_format(&sum->addr, sum->ip_version, text);

    return json_object_set_new(json_object_get(answer, members[sum->kind]), key,
                               json_pack("[I, I, I]", (json_int_t)sum->pkts, (json_int_t)sum->bytes,
                                         (json_int_t)sum->began));
}

static int write_row(json_t *answer, const struct row *row)
{
    char text[PD_PATH_MAX * 11 + 1];
    json_t *json = pd_query_flow_row_json(&row->flow);
    int failed = !json;

    failed |= json_array_append_new(json, json_string(path_text(row->path, text)));
    failed |= json_array_append_new(json, json_integer((json_int_t)row->pkts));
    failed |= json_array_append_new(json, json_integer((json_int_t)row->bytes));
    return json_array_append_new(json_object_get(answer, "flows"), json) || failed;
}

static json_t *write_answer(struct work *work, bool complete)
{
    json_t *answer =
        json_pack("{s:{}, s:{}, s:{}, s:[], s:I, s:I, s:b}", "paths", "sources", "receivers",
                  "flows", "flows_seen", (json_int_t)pd_query_distinct_count(&work->seen),
                  "left_out", (json_int_t)work->left_out, "complete", complete && !work->left_out);
    int failed = !answer;

    work->rows_len = merge_slices(work->rows, work->rows_len);
    for (size_t i = 0; i < work->sums_len && !failed; i++) {
        failed = write_sum(answer, &work->sums[i]);
    }
    for (size_t i = 0; i < work->rows_len && !failed; i++) {
        failed = write_row(answer, &work->rows[i]);
    }
    if (failed) {
        json_decref(answer);
        return NULL;
    }
    return answer;
}

static int local(struct pd_question_run *run, json_t **ret_answer, struct pd_error *error)
{
    const struct pd_question_host *host = run->host;
    const struct args *args = run->document->asked;
    struct work work = {.args = args};
    struct pd_tib_filter filter = {.flow = {.id = {.protocol = 6}, .fields = PD_FLOW_PROTOCOL},
                                   .from_us = args->from_us > PD_PATH_SUMS_SLACK_US
                                                  ? args->from_us - PD_PATH_SUMS_SLACK_US
                                                  : 0,
                                   .to_us = args->to_us + PD_PATH_SUMS_SLACK_US,
                                   .origins = 1u << PD_ORIGIN_TAGS};
    bool complete = true;
    int err = sort_apart(&work);

    if (err) {
        return pd_fail(error, err, "no memory for the answer");
    }
    err = host->records ? host->records(host->context, &filter, take, &work, &complete, error)
                        : pd_fail(error, -PD_E_UNSUPPORTED, "there are no records here");

    if (!err) {
        *ret_answer = write_answer(&work, complete);
        err = *ret_answer ? 0 : pd_fail(error, -ENOMEM, "no memory for the answer");
    }
    work_done(&work);
    return err;
}

/* ---- the entry ---- */

static const struct pd_question_param params[] = {
    {.name = "from_us", .value = "N", .help = "begin of the span, microseconds since the epoch"},
    {.name = "to_us", .value = "N", .help = "its end"},
    {.name = "apart", .value = "HASHES", .help = "flows that get rows of their own"},
    {.name = "each", .value = "BOOL", .help = "all flows get rows of their own"},
    {.name = "below", .value = "N", .help = "only flows with a smaller hash: a sample"},
    {0},
};

const struct pd_question pd_query_question_path_sums = {
    .name = PD_PATH_SUMS_NAME,
    .help = "packets and bytes on each path in a span of time",
    .role = PD_ROLE_READ,
    .params = params,
    .posts = true,
    .records = true,
    .args_bytes = sizeof(struct args),
    .groups = 64,
    .read = read_args,
    .local = local,
    .check = pd_query_path_sums_check,
    .merge = pd_query_path_sums_merge,
    .finish = pd_query_path_sums_finish,
};
