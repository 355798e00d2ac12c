/* SPDX-License-Identifier: Apache-2.0 */
/* path-change: flows that left a path for another one, and the links that they left (paper 002,
 * section 7). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/flows.h"
#include "apps/sums.h"
#include "apps/window.h"
#include "base/grow.h"

static const char *const filter[] = {"src_ip", "dst_ip", "src_port", "dst_port", "protocol"};

/* A link that some flow left. */
struct left {
    struct pd_link_match link;
    uint64_t changes;
    uint64_t first_us; /* of these changes: when the new path was first seen */
    bool used;         /* a flow went over it later than that */
};

struct changes {
    struct pd_app_flows flows; /* by flow ID */
    struct left *left;
    size_t left_len, left_room;
    uint64_t changes, turns; /* of paths; flows that go several ways in turns */
    uint64_t first_us;
    bool failed;
};

/* ---- one flow */

static int by_begin(const void *a, const void *b)
{
    const struct pd_app_row *const *x = a, *const *y = b;

    return ((*x)->stime_us > (*y)->stime_us) - ((*x)->stime_us < (*y)->stime_us);
}

static void note_left(struct changes *changes, struct pd_link_match link, uint64_t time_us)
{
    for (size_t i = 0; i < changes->left_len; i++) {
        struct left *left = &changes->left[i];
        if (left->link.from == link.from && left->link.to == link.to) {
            left->changes++;
            left->first_us = time_us < left->first_us ? time_us : left->first_us;
            return;
        }
    }
    if (PD_GROW(changes->left, changes->left_room, changes->left_len + 1)) {
        changes->failed = true;
        return;
    }
    changes->left[changes->left_len++] =
        (struct left){.link = link, .changes = 1, .first_us = time_us};
}

static void note_change(struct changes *changes, const struct pd_app_row *from,
                        const struct pd_app_row *to, struct pd_report *report)
{
    char before[PD_APP_PATH_TEXT_BYTES], after[PD_APP_PATH_TEXT_BYTES], ends[PD_ENDS_TEXT_BYTES];

    changes->changes++;
    changes->first_us =
        !changes->first_us || to->stime_us < changes->first_us ? to->stime_us : changes->first_us;
    for (uint32_t i = 0; i + 1 < from->path.len; i++) {
        const struct pd_link_match link = {from->path.switches[i], from->path.switches[i + 1]};
        if (!pd_path_crosses(&to->path, link)) {
            note_left(changes, link, to->stime_us);
        }
    }
    pd_app_report_row(
        report, "changes",
        json_pack("{s:s, s:s, s:s, s:I, s:I}", "flow", pd_ends_format(&to->flow, ends), "from",
                  pd_app_path_text(&from->path, before), "to", pd_app_path_text(&to->path, after),
                  "left_us", (json_int_t)from->etime_us, "seen_us", (json_int_t)to->stime_us));
    pd_app_report_flow(report, json_pack("{s:o, s:o, s:o}", "flow_id", pd_app_flow_json(&to->flow),
                                         "from", pd_app_path_json(&from->path), "path",
                                         pd_app_path_json(&to->path)));
}

/* Rows of one flow, one for each path. */
static void look_at(struct changes *changes, const struct pd_app_row *rows, size_t len,
                    struct pd_report *report)
{
    const struct pd_app_row **order = calloc(len, sizeof(void *));
    bool in_turns = false;

    for (size_t i = 0; order && i < len; i++) {
        order[i] = &rows[i];
    }
    if (!order) {
        changes->failed = true;
        return;
    }
    qsort(order, len, sizeof(void *), by_begin);
    for (size_t i = 1; i < len; i++) {
        if (order[i]->stime_us >= order[i - 1]->etime_us) {
            note_change(changes, order[i - 1], order[i], report);
        } else {
            in_turns = true;
        }
    }
    changes->turns += in_turns;
    free((void *)order);
}

static void look_at_all(struct changes *changes, struct pd_report *report)
{
    const struct pd_app_flows *flows = &changes->flows;

    for (size_t at = 0, end; at < flows->len; at = end) {
        for (end = at + 1;
             end < flows->len && pd_flow_id_equal(&flows->rows[at].flow, &flows->rows[end].flow);
             end++) {
            continue;
        }
        look_at(changes, &flows->rows[at], end - at, report);
    }
}

/* ---- links */

static void find_used(struct changes *changes)
{
    for (size_t i = 0; i < changes->left_len; i++) {
        struct left *left = &changes->left[i];
        for (size_t f = 0; f < changes->flows.len && !left->used; f++) {
            const struct pd_app_row *row = &changes->flows.rows[f];
            left->used = row->etime_us > left->first_us && pd_path_crosses(&row->path, left->link);
        }
    }
}

static int most_first(const void *a, const void *b)
{
    const struct left *x = a, *y = b;

    if (x->changes != y->changes) {
        return x->changes < y->changes ? 1 : -1;
    }
    return x->link.from != y->link.from ? (x->link.from > y->link.from ? 1 : -1)
                                        : (x->link.to > y->link.to) - (x->link.to < y->link.to);
}

static void show_links(const struct changes *changes, struct pd_report *report)
{
    for (size_t i = 0; i < changes->left_len; i++) {
        const struct left *left = &changes->left[i];

        pd_app_report_row(report, "links",
                          json_pack("{s:o, s:I, s:b}", "link", pd_app_link_json(left->link), "left",
                                    (json_int_t)left->changes, "used_later", (int)left->used));
        if (left->changes == changes->changes && !left->used) {
            pd_app_report_link(report, left->link.from, left->link.to);
            pd_app_report_evidence(report,
                                   "all %" PRIu64 " changes left %" PRIu32 "-%" PRIu32
                                   ", and nothing went over it afterwards",
                                   left->changes, left->link.from, left->link.to);
        }
    }
}

static void say(const struct changes *changes, struct pd_report *report)
{
    if (!changes->flows.len) {
        pd_app_report_say(report, "no traffic");
    } else if (!changes->changes) {
        pd_app_report_say(report, "no flow changed its path");
    } else {
        pd_app_report_say(report, "%" PRIu64 " change%s of paths", changes->changes,
                          changes->changes == 1 ? "" : "s");
        pd_app_report_evidence(report, "the first one was seen at %" PRIu64 ".%06" PRIu64,
                               changes->first_us / 1000000, changes->first_us % 1000000);
    }
    if (changes->turns) {
        pd_app_report_evidence(report, "%" PRIu64 " flows go several ways in turns",
                               changes->turns);
    }
}

/* ---- the run */

static json_t *question_of(const struct pd_app_call *call, const struct pd_app_window *window)
{
    json_t *args = pd_app_window_args(window);

    for (size_t i = 0; args && i < sizeof filter / sizeof *filter; i++) {
        json_t *value = json_object_get(call->args, filter[i]);
        if (value && json_object_set(args, filter[i], value)) {
            json_decref(args);
            return NULL;
        }
    }
    return args;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct changes changes = {0};
    struct pd_app_window window;
    int err = pd_app_window_read(call, &window, error);

    (void)state;
    if (!err) {
        err =
            pd_app_flows_ask(call, report, question_of(call, &window), NULL, &changes.flows, error);
    }
    if (err) {
        return err;
    }
    pd_app_flows_by_id(&changes.flows);
    look_at_all(&changes, report);
    find_used(&changes);
    if (changes.left_len) {
        qsort(changes.left, changes.left_len, sizeof *changes.left, most_first);
    }
    say(&changes, report);
    show_links(&changes, report);
    report->certain = changes.flows.len > 0;
    report->confidence = changes.flows.len ? 1 : 0;
    report->failed |= changes.failed;
    free(changes.left);
    pd_app_flows_done(&changes.flows);
    return 0;
}

static const struct pd_app_param params[] = {
    PD_APP_WINDOW_PARAMS("60"),
    {.name = "src_ip", .kind = PD_APP_ADDRESS, .value = "IP", .help = "of flows from here"},
    {.name = "dst_ip", .kind = PD_APP_ADDRESS, .value = "IP", .help = "to here"},
    {.name = "src_port", .kind = PD_APP_INTEGER, .value = "PORT", .help = "from this port"},
    {.name = "dst_port", .kind = PD_APP_INTEGER, .value = "PORT", .help = "to this port"},
    {.name = "protocol", .kind = PD_APP_TEXT, .value = "PROTO", .help = "tcp, udp, a number"},
    {.name = NULL},
};

const struct pd_app_ops pd_app_path_change = {
    .name = "path-change",
    .section = "PINT, 7",
    .help = "which flows changed their path, and which link did they leave?",
    .params = params,
    .period_s = 10,
    .run = run,
};
