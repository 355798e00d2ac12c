/* SPDX-License-Identifier: Apache-2.0 */
/* The text of answers, query by query. */
#include "query/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/conform.h"

/* ---- members of rows ---- */

static void note_cap(struct pd_query_answer *answer, uint64_t bytes, uint64_t pkts)
{
    if (bytes >= PD_TIB_SUM_MAX || pkts >= PD_TIB_SUM_MAX) {
        answer->complete = false;
    }
}

static void write_counts(struct pd_query_answer *answer, uint64_t bytes, uint64_t pkts)
{
    pd_rows_out_member(&answer->out, ",\"bytes\":", bytes);
    pd_rows_out_member(&answer->out, ",\"pkts\":", pkts);
    pd_rows_out_text(&answer->out, "}");
    note_cap(answer, bytes, pkts);
}

/* ---- one group is one row ---- */

static int record_row(struct pd_query_answer *answer, const struct pd_tib_record *group)
{
    pd_rows_out_row(&answer->out);
    pd_rows_out_record(&answer->out, group);
    note_cap(answer, group->bytes, group->pkts);
    return 0;
}

static int flow_row(struct pd_query_answer *answer, const struct pd_tib_record *group)
{
    pd_rows_out_row(&answer->out);
    pd_rows_out_text(&answer->out, "{\"flow_id\":");
    pd_rows_out_flow_id(&answer->out, &group->flow);
    write_counts(answer, group->bytes, group->pkts);
    return 0;
}

static int host_row(struct pd_query_answer *answer, const struct pd_tib_record *group)
{
    pd_rows_out_row(&answer->out);
    pd_rows_out_text(&answer->out, "{\"src_ip\":");
    pd_rows_out_addr(&answer->out, &group->flow.src, group->flow.ip_version);
    write_counts(answer, group->bytes, group->pkts);
    return 0;
}

static int path_counts_row(struct pd_query_answer *answer, const struct pd_tib_record *group)
{
    pd_rows_out_row(&answer->out);
    pd_rows_out_text(&answer->out, "{");
    pd_rows_out_path(&answer->out, group);
    write_counts(answer, group->bytes, group->pkts);
    return 0;
}

static int set_aside(struct pd_query_answer *answer, const struct pd_claim *claim)
{
    static const struct pd_mark none;
    if (answer->set_aside_len == answer->set_aside_room) {
        size_t room = answer->set_aside_room ? 2 * answer->set_aside_room : 64;
        int error = pd_tib_resize(answer->budget, &answer->set_aside,
                                  answer->set_aside_room * sizeof(void *), room * sizeof(void *));
        if (error) {
            return error;
        }
        answer->set_aside_room = room;
    }
    answer->set_aside[answer->set_aside_len++] = claim ? &claim->mark : &none;
    return 0;
}

/* A trajectory that fits no path is not one: those are listed apart, and only when there are some.
 * They come first. A path that several origins tell of is listed once. */
static int path_row(struct pd_query_answer *answer, const struct pd_tib_record *group)
{
    if (!group->path->len) {
        bool infeasible = pd_tib_claim(group).state == PD_CLAIM_INFEASIBLE;
        return infeasible ? set_aside(answer, group->claim) : 0;
    }
    if (answer->last_path && pd_path_equal(answer->last_path, group->path)) {
        return 0;
    }
    answer->last_path = group->path;
    pd_rows_out_row(&answer->out);
    pd_rows_out_switches(&answer->out, group->path);
    return 0;
}

static bool is_infeasible(const struct pd_tib_record *group)
{
    return !group->path->len && pd_tib_claim(group).state == PD_CLAIM_INFEASIBLE;
}

/* A row for each rule broken. */
static int violation_rows(struct pd_query_answer *answer, const struct pd_tib_record *group)
{
    struct pd_rows_out *out = &answer->out;
    unsigned broken = pd_query_conformance_check(answer->query, group);
    answer->infeasible += is_infeasible(group) && pd_query_conformance_judges_paths(answer->query);
    for (unsigned rule = 0; rule < PD_CONFORMANCE_RULE_COUNT; rule++) {
        if (!(broken >> rule & 1)) {
            continue;
        }
        pd_rows_out_row(out);
        pd_rows_out_text(out, "{\"flow_id\":");
        pd_rows_out_flow_id(out, &group->flow);
        pd_rows_out_text(out, ",");
        pd_rows_out_path(out, group);
        pd_rows_out_text(out, ",\"rule\":\"");
        pd_rows_out_text(out, pd_query_conformance_rule_text((enum pd_conformance_rule)rule));
        pd_rows_out_text(out, "\"}");
    }
    return 0;
}

/* ---- all groups are one number, or few ---- */

static int keep_total(struct pd_query_answer *answer, const struct pd_tib_record *group)
{
    answer->total = *group;
    return 0;
}

static int count_group(struct pd_query_answer *answer, const struct pd_tib_record *group)
{
    (void)answer;
    (void)group;
    return 0;
}

/* ---- sums ---- */

static void link_row(struct pd_query_answer *answer, const struct pd_query_sums *sums)
{
    pd_rows_out_row(&answer->out);
    pd_rows_out_member(&answer->out, "{\"link\":\"", sums->key >> 32);
    pd_rows_out_member(&answer->out, "-", sums->key & UINT32_MAX);
    pd_rows_out_text(&answer->out, "\"");
    write_counts(answer, sums->bytes, sums->pkts);
}

static void pair_row(struct pd_query_answer *answer, const struct pd_query_sums *sums)
{
    pd_rows_out_row(&answer->out);
    pd_rows_out_member(&answer->out, "{\"src_switch\":", sums->key >> 32);
    pd_rows_out_member(&answer->out, ",\"dst_switch\":", sums->key & UINT32_MAX);
    write_counts(answer, sums->bytes, sums->pkts);
}

static void bin_row(struct pd_query_answer *answer, const struct pd_query_sums *sums)
{
    pd_rows_out_row(&answer->out);
    pd_rows_out_member(&answer->out, "{\"from_bytes\":", sums->key);
    pd_rows_out_member(&answer->out, ",\"flows\":", sums->groups);
    pd_rows_out_text(&answer->out, "}");
}

/* distinct: flows come as a number, sources one by one. */
static void add_count(struct pd_query_answer *answer, const struct pd_query_sums *sums)
{
    answer->items += sums->groups;
}

/* ---- what is left at the end ---- */

static void write_number(struct pd_query_answer *answer, const char *key, uint64_t number)
{
    pd_rows_out_key(&answer->out, key);
    pd_rows_out_member(&answer->out, "", number);
}

static void end_paths(struct pd_query_answer *answer)
{
    struct pd_rows_out *out = &answer->out;
    if (!answer->set_aside_len) {
        return;
    }
    pd_rows_out_key(out, "infeasible");
    for (size_t i = 0; i < answer->set_aside_len && !out->error; i++) {
        pd_rows_out_text(out, i ? ",{" : "[{");
        pd_rows_out_mark(out, answer->set_aside[i]);
        pd_rows_out_text(out, "}");
    }
    pd_rows_out_text(out, "]");
}

static void end_count(struct pd_query_answer *answer)
{
    write_number(answer, "bytes", answer->total.bytes);
    write_number(answer, "pkts", answer->total.pkts);
    note_cap(answer, answer->total.bytes, answer->total.pkts);
}

static void end_duration(struct pd_query_answer *answer)
{
    const struct pd_tib_record *total = &answer->total;
    if (!answer->items) {
        pd_rows_out_key(&answer->out, "stime_us");
        pd_rows_out_text(&answer->out, "null");
        pd_rows_out_key(&answer->out, "etime_us");
        pd_rows_out_text(&answer->out, "null");
    } else {
        write_number(answer, "stime_us", total->stime_us);
        write_number(answer, "etime_us", total->etime_us);
    }
    write_number(answer, "duration_us", total->etime_us - total->stime_us);
}

static void end_window(struct pd_query_answer *answer)
{
    write_number(answer, "from_us", answer->query->filter.from_us);
    write_number(answer, "to_us", answer->query->filter.to_us);
}

static void end_distinct(struct pd_query_answer *answer)
{
    write_number(answer, "count", answer->items);
}

static void end_violations(struct pd_query_answer *answer)
{
    if (answer->infeasible) {
        write_number(answer, "infeasible", answer->infeasible);
    }
}

/* ---- the table ---- */

static const struct writer {
    const char *list; /* member that holds the rows; NULL: there are none */
    int (*group)(struct pd_query_answer *answer, const struct pd_tib_record *group);
    void (*sums)(struct pd_query_answer *answer, const struct pd_query_sums *sums);
    void (*end)(struct pd_query_answer *answer); /* other members; may be NULL */
} writers[PD_QUERY_COUNT] = {
    [PD_QUERY_GET_FLOWS] = {"flows", record_row, NULL, NULL},
    [PD_QUERY_GET_PATHS] = {"paths", path_row, NULL, end_paths},
    [PD_QUERY_GET_COUNT] = {NULL, keep_total, NULL, end_count},
    [PD_QUERY_GET_DURATION] = {NULL, keep_total, NULL, end_duration},
    [PD_QUERY_TOP_RECORDS] = {"top", record_row, NULL, NULL},
    [PD_QUERY_TOP_FLOWS] = {"top", flow_row, NULL, NULL},
    [PD_QUERY_TOP_HOSTS] = {"top", host_row, NULL, NULL},
    [PD_QUERY_TOP_LINKS] = {"top", NULL, link_row, NULL},
    [PD_QUERY_LINK_LOAD] = {"links", NULL, link_row, end_window},
    [PD_QUERY_FLOW_SIZES] = {"bins", NULL, bin_row, NULL},
    [PD_QUERY_TRAFFIC_MATRIX] = {"pairs", NULL, pair_row, NULL},
    [PD_QUERY_PATH_BYTES] = {"paths", path_counts_row, NULL, NULL},
    [PD_QUERY_DISTINCT] = {NULL, count_group, add_count, end_distinct},
    [PD_QUERY_CONFORMANCE] = {"violations", violation_rows, NULL, end_violations},
};

/* ---- the answer ---- */

void pd_query_answer_begin(struct pd_query_answer *answer, const struct pd_query *query,
                           enum pd_query_form form, struct pd_tib_budget *budget,
                           const struct pd_query_sink *sink)
{
    answer->query = query;
    answer->budget = budget;
    answer->complete = true;
    answer->set_aside = NULL;
    answer->last_path = NULL;
    answer->set_aside_len = answer->set_aside_room = 0;
    answer->total = (struct pd_tib_record){0};
    answer->items = answer->infeasible = 0;
    pd_rows_out_begin(&answer->out, form, sink);
    if (writers[query->name].list) {
        pd_rows_out_list(&answer->out, writers[query->name].list);
    }
}

int pd_query_answer_group(void *context, const struct pd_tib_record *group)
{
    struct pd_query_answer *answer = context;
    int error = writers[answer->query->name].group(answer, group);
    answer->items++;
    return error ? error : answer->out.error;
}

int pd_query_answer_sums(void *context, const struct pd_query_sums *sums)
{
    struct pd_query_answer *answer = context;
    writers[answer->query->name].sums(answer, sums);
    return answer->out.error;
}

/* Members of an object that jansson has written: without its braces. */
static int write_members(struct pd_rows_out *out, const json_t *extra)
{
    if (!json_object_size(extra)) {
        return 0;
    }
    char *text = json_dumps(extra, JSON_COMPACT);
    if (!text) {
        return -ENOMEM;
    }
    text[strlen(text) - 1] = '\0';
    pd_rows_out_separator(out);
    pd_rows_out_text(out, text + 1);
    free(text);
    return 0;
}

int pd_query_answer_end(struct pd_query_answer *answer, const char *token, const json_t *extra,
                        bool complete, bool *ret_complete)
{
    const struct writer *writer = &writers[answer->query->name];
    struct pd_rows_out *out = &answer->out;
    if (writer->list) {
        pd_rows_out_list_end(out);
    }
    if (writer->end) {
        writer->end(answer);
    }
    if (token) {
        pd_rows_out_key(out, "token");
        pd_rows_out_text(out, "\"");
        pd_rows_out_text(out, token);
        pd_rows_out_text(out, "\"");
    }
    int error = write_members(out, extra);
    if (error) {
        return error;
    }
    complete = complete && answer->complete;
    pd_rows_out_key(out, "complete");
    pd_rows_out_bool(out, complete);
    error = pd_rows_out_end(out);
    if (!error) {
        *ret_complete = complete;
    }
    return error;
}

void pd_query_answer_done(struct pd_query_answer *answer)
{
    free(answer->set_aside);
}
