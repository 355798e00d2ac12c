/* SPDX-License-Identifier: Apache-2.0 */
/* The report: loops with their proof, long paths, and what was not looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apps/loop/loop.h"
#include "apps/rows.h"
#include "base/clock.h"
#include "codec/marks.h"

#define TAGS_BYTES   (PD_TAGS_MAX * 6 + 1)
#define WAY_BYTES    (PD_TAGGING_STEPS_MAX * 11 + 1)
#define PROOFS_SHOWN 8 /* loops whose packets stand in the evidence */

/* The tags of a mark, in its scheme's words. */
static const char *tags_text(uint64_t mark, char text[TAGS_BYTES])
{
    struct pd_mark_field fields[PD_MARK_FIELDS_MAX];
    const struct pd_mark kept = pd_tagging_wrap(NULL, mark);
    size_t len = pd_codec_mark_fields(&kept, fields), at = 0;

    *text = '\0';
    for (uint32_t i = 0; len && i < fields[0].len; i++) {
        at +=
            (size_t)snprintf(text + at, TAGS_BYTES - at, "%s%u", i ? "," : "", fields[0].values[i]);
    }
    return text;
}

/* "9, 17, 13, 18" */
static const char *way_text(const struct loop_found *found, char text[WAY_BYTES])
{
    size_t at = 0;

    *text = '\0';
    for (uint32_t i = 0; i < found->len; i++) {
        at += (size_t)snprintf(text + at, WAY_BYTES - at, "%s%" PRIu32, i ? ", " : "",
                               found->links[i].from);
    }
    return text;
}

static const char *flow_text(const struct pd_flow_id *flow, char text[128])
{
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];

    snprintf(text, 128, "%s port %u to %s port %u, protocol %u",
             pd_addr_format(&flow->src, flow->ip_version, src), flow->src_port,
             pd_addr_format(&flow->dst, flow->ip_version, dst), flow->dst_port, flow->protocol);
    return text;
}

/* ---- loops */

static uint64_t took_us(const struct loop_found *found)
{
    const struct loop_packet *proof = &found->proof;

    return (proof->visits[proof->visits_len - 1].at_ns - proof->visits[0].at_ns) / PD_NS_PER_US;
}

static void add_visit(const struct loop_found *found, uint32_t i, struct pd_report *report)
{
    const struct loop_visit *visit = &found->proof.visits[i];
    char time[PD_TIME_TEXT_BYTES], tags[TAGS_BYTES], link[PD_LINK_TEXT_BYTES] = "an unknown port";

    if (found->proof_ids[i][0]) {
        pd_link_format((struct pd_link_match){found->proof_ids[i][0], found->proof_ids[i][1]},
                       link);
    }
    pd_app_report_evidence(
        report, "%s: switch %" PRIu32 " sent the packet here with the tags %s; it came by %s%s%s",
        pd_time_format(visit->at_us, time), found->proof_ids[i][1],
        tags_text(visit->set.mark, tags), link,
        visit->fits ? "" : " (these tags fit no walk: a switch tags wrongly)",
        i + 1 < found->proof.visits_len ? "; sent on without tags" : "");
}

static void add_proof(const struct loop_found *found, struct pd_report *report)
{
    char flow[128];

    pd_app_report_evidence(report, "a packet from %s", flow_text(&found->proof.flow, flow));
    for (uint32_t i = 0; i < found->proof.visits_len; i++) {
        add_visit(found, i, report);
    }
    pd_app_report_evidence(
        report,
        "its tags were taken off here and switches wrote new ones: it went over %" PRIu32
        "-%" PRIu32 " twice, proven %" PRIu64 " us after it was first here",
        found->repeated.from, found->repeated.to, took_us(found));
}

static void add_row(const struct loop_found *found, struct pd_report *report)
{
    char way[WAY_BYTES];

    pd_app_report_row(report, "loops",
                      json_pack("{s:s, s:i, s:I, s:I, s:i, s:I, s:I, s:I}", "switches",
                                way_text(found, way), "hops", (int)found->len, "flows",
                                (json_int_t)(found->flows_len + found->flows_left), "packets",
                                (json_int_t)found->packets, "visits", (int)found->proof.visits_len,
                                "first_us", (json_int_t)found->proof.visits[0].at_us, "took_us",
                                (json_int_t)took_us(found), "last_us", (json_int_t)found->last_us));
}

static void add_loop(const struct loop_found *found, bool with_proof, struct pd_report *report)
{
    for (uint32_t i = 0; i < found->len; i++) {
        pd_app_report_link(report, found->links[i].from, found->links[i].to);
        pd_app_report_switch(report, found->links[i].from);
    }
    for (uint32_t i = 0; i < found->flows_len; i++) {
        pd_app_report_flow(report,
                           json_pack("{s:o}", "flow_id", pd_app_flow_json(&found->flows[i])));
    }
    report->left_out += found->flows_left;
    add_row(found, report);
    if (with_proof) {
        add_proof(found, report);
    }
}

/* The newest first. Returns how many. */
static uint32_t add_loops(const struct loop_state *state, uint64_t from_us,
                          struct pd_report *report, const struct loop_found **ret_newest)
{
    bool done[LOOP_FOUND_MAX] = {false};
    uint32_t len = 0;

    for (;; len++) {
        uint32_t next = LOOP_FOUND_MAX;

        for (uint32_t i = 0; i < state->found_len; i++) {
            if (!done[i] && state->found[i].last_us >= from_us &&
                (next == LOOP_FOUND_MAX || state->found[i].last_us > state->found[next].last_us)) {
                next = i;
            }
        }
        if (next == LOOP_FOUND_MAX) {
            return len;
        }
        done[next] = true;
        *ret_newest = len ? *ret_newest : &state->found[next];
        add_loop(&state->found[next], len < PROOFS_SHOWN, report);
    }
}

/* ---- long paths */

static uint32_t add_longs(const struct loop_state *state, uint64_t from_us,
                          struct pd_report *report, uint32_t *ret_told)
{
    uint32_t len = 0;

    *ret_told = 0;
    for (uint32_t i = 0; i < state->longs_len; i++) {
        const struct loop_long *entry = &state->longs[i];
        char flow[128], tags[TAGS_BYTES], last[PD_LINK_TEXT_BYTES] = "";

        if (entry->last_us < from_us) {
            continue;
        }
        len++;
        *ret_told += entry->told;
        if (entry->last.from) {
            pd_link_format((struct pd_link_match){entry->last.from, entry->last.to}, last);
        }
        pd_app_report_row(
            report, "long_paths",
            json_pack("{s:s, s:I, s:s, s:s, s:b, s:b, s:I}", "flow", flow_text(&entry->flow, flow),
                      "packets", (json_int_t)entry->packets, "tags", tags_text(entry->mark, tags),
                      "came_by", last, "undecided", entry->undecided, "told_twice", entry->told,
                      "last_us", (json_int_t)entry->last_us));
    }
    return len;
}

/* ---- all of it */

static const char *const counter_texts[] = {
#define X(name, text) text,
    LOOP_COUNTERS(X)
#undef X
};

static void add_counters(const struct loop_state *state, struct pd_report *report)
{
    const uint64_t values[] = {
#define X(name, text) state->counters.name,
        LOOP_COUNTERS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i]) {
            pd_app_report_row(report, "packets",
                              json_pack("{s:s, s:I}", "what", counter_texts[i], "packets",
                                        (json_int_t)values[i]));
        }
    }
}

/* Where a host may write tags it may also send its packet again with others. */
static void say_loop(const struct loop_found *newest, uint32_t loops, bool edges_held,
                     struct pd_report *report)
{
    char way[WAY_BYTES], more[64] = "";

    if (loops > 1) {
        snprintf(more, sizeof more, "; %" PRIu32 " loops in all, this is the latest", loops);
    }
    pd_app_report_say(report, "a routing loop of %" PRIu32 " hops: switches %.300s%s", newest->len,
                      way_text(newest, way), more);
    report->certain = edges_held;
    report->confidence = edges_held ? 1 : 0.9;
}

/* What a report without a loop cannot know. */
static void say_lacks(const struct loop_state *state, struct pd_report *report)
{
    uint64_t unseen = state->counters.beyond_rate + state->counters.crowded_out +
                      state->counters.unsendable + state->counters.limited + state->longs_left;

    if (unseen) {
        pd_app_report_lacks(report, "%" PRIu64 " packets were not followed: see results.packets",
                            unseen);
    }
}

static void say_longs(uint32_t longs, uint32_t told, struct pd_report *report)
{
    pd_app_report_say(report,
                      "no loop was proven; %" PRIu32
                      " flows went a suspiciously long way (too many tags)",
                      longs);
    if (told) {
        pd_app_report_evidence(
            report,
            "the tags of %" PRIu32
            " of these flows speak of a link twice, and none of their packets came "
            "again: one host alone can write such tags where its edge is open",
            told);
    }
}

void pd_loop_report(const struct loop_state *state, uint64_t from_us, bool edges_held,
                    struct pd_report *report)
{
    const struct loop_found *newest = NULL;
    const uint32_t reported = pd_loop_reports_tell(state->reports, from_us, edges_held, report);
    uint32_t told, loops = add_loops(state, from_us, report, &newest);
    uint32_t longs = add_longs(state, from_us, report, &told);

    add_counters(state, report);
    if (newest) {
        say_loop(newest, loops, edges_held, report);
        return;
    }
    if (reported) {
        return;
    }
    say_lacks(state, report);
    if (longs) {
        say_longs(longs, told, report);
    } else {
        pd_app_report_say(report, "no loop: no switch sent a packet here that has a tag too many");
    }
}
