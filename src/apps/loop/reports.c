/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of switches: checked against the plan, gathered to circles, told. */
#include "apps/loop/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/report.h"
#include "apps/rows.h"
#include "base/clock.h"
#include "codec/pint/encode.h"
#include "packet/sample.h"

#define CIRCLES_MAX 64
#define LINKS_MAX   64
#define FLOWS_MAX   64
#define WAY_BYTES   (LINKS_MAX * 11 + 1)
#define TOGETHER_US (2 * 1000000) /* a flow's reports within this time are of one loop */

struct link {
    uint32_t from, to; /* IDs; from 0: a port that leads to no switch */
};

struct circle {
    struct link links[LINKS_MAX];
    uint32_t links_len, flows_len;
    struct pd_flow_id flows[FLOWS_MAX];
    uint64_t flows_left, packets, first_us, last_us;
    uint32_t hop, packet_id; /* of its first report */
};

struct loop_reports {
    struct pd_pint_plan *plan; /* NULL: there is none */
    uint64_t plan_number;
    struct circle circles[CIRCLES_MAX];
    uint32_t circles_len;
    uint64_t unproven; /* packets whose bits are not those of their switch */
};

int pd_loop_reports_new(struct loop_reports **ret_reports)
{
    *ret_reports = calloc(1, sizeof **ret_reports);
    return *ret_reports ? 0 : -ENOMEM;
}

void pd_loop_reports_free(struct loop_reports *reports)
{
    if (reports) {
        pd_pint_plan_free(reports->plan);
        free(reports);
    }
}

/* ---- the plan */

static const struct pd_pint_field *loop_field(const struct pd_pint_plan *plan, int set)
{
    for (unsigned f = 0; set >= 0 && f < plan->sets[set].fields_len; f++) {
        if (plan->queries[plan->sets[set].fields[f].query].aggregation == PD_PINT_LOOP) {
            return &plan->sets[set].fields[f];
        }
    }
    return NULL;
}

bool pd_loop_reports_able(struct loop_reports *reports, const struct pd_app_world *world)
{
    if (world->ops->telemetry_plan) {
        world->ops->telemetry_plan(world->context, &reports->plan_number, &reports->plan);
    }
    for (int set = 0; reports->plan && set < reports->plan->sets_len; set++) {
        if (loop_field(reports->plan, set)) {
            return true;
        }
    }
    return false;
}

/* ---- a report */

struct report {
    struct pd_packet parsed;
    struct link link;
    uint32_t packet_id, hop;
};

/* The switch behind a port. */
static uint32_t neighbour_at(const struct pd_topology *topology, const struct pd_switch *entry,
                             uint32_t port)
{
    for (uint32_t i = 0; port && i < entry->switch_neighbours; i++) {
        if (entry->neighbours[i].port == port) {
            return topology->switches[entry->neighbours[i].node].id;
        }
    }
    return 0;
}

/* Whether the bits are what this switch has written, with a full counter. */
static bool is_proven(const struct pd_pint_plan *plan, uint32_t packet_id, uint32_t sw,
                      uint16_t digest)
{
    const struct pd_pint_field *field = loop_field(plan, pd_pint_set_of(plan, packet_id));

    if (!field) {
        return false;
    }
    const struct pd_pint_query *query = &plan->queries[field->query];
    const uint32_t all = (uint32_t)digest >> field->shift;
    const uint32_t own = pd_lookup3_3(plan->seed + 4, packet_id, pd_pint_tag(field), sw);
    const uint32_t mask = (1u << query->bits) - 1, counters = (1u << query->counter_bits) - 1;

    return (all & mask) == (own & mask) && (all >> query->bits & counters) == query->threshold;
}

static bool read_report(struct loop_reports *reports, const struct pd_app_world *world,
                        const struct pd_app_packet *packet, struct report *ret_report)
{
    const struct pd_topology *topology = world->topology;
    const uint32_t at = pd_topology_switch(topology, packet->switch_id);
    uint16_t digest;

    if (at == PD_NONE || pd_packet_parse(packet->data, packet->bytes, packet->bytes,
                                         &ret_report->parsed) != PD_PACKET_OK) {
        return false;
    }
    if (!pd_pint_digest(reports->plan, packet->data, &ret_report->parsed, &digest)) {
        return false;
    }
    ret_report->packet_id =
        pd_packet_id(packet->data, packet->bytes, &ret_report->parsed, reports->plan->seed);
    if (!is_proven(reports->plan, ret_report->packet_id, packet->switch_id, digest)) {
        reports->unproven++;
        return false;
    }
    ret_report->hop = pd_packet_hops(pd_packet_ttl(packet->data, &ret_report->parsed)) + 1;
    ret_report->link = (struct link){
        neighbour_at(topology, &topology->switches[at], packet->in_port), packet->switch_id};
    return true;
}

/* ---- circles */

static bool has_link(const struct circle *circle, const struct link *link)
{
    for (uint32_t i = 0; i < circle->links_len; i++) {
        if (circle->links[i].to == link->to && circle->links[i].from == link->from) {
            return true;
        }
    }
    return false;
}

static bool has_flow(const struct circle *circle, const struct pd_flow_id *flow)
{
    for (uint32_t i = 0; i < circle->flows_len; i++) {
        if (pd_flow_id_equal(&circle->flows[i], flow)) {
            return true;
        }
    }
    return false;
}

/* One that has the link, or lately had the flow; else a place for another one, which is new. */
static struct circle *circle_of(struct loop_reports *reports, const struct report *report,
                                uint64_t now_us)
{
    struct circle *oldest = reports->circles;

    for (uint32_t i = 0; i < reports->circles_len; i++) {
        struct circle *circle = &reports->circles[i];
        if (has_link(circle, &report->link) ||
            (now_us < circle->last_us + TOGETHER_US && has_flow(circle, &report->parsed.flow))) {
            return circle;
        }
        oldest = circle->last_us < oldest->last_us ? circle : oldest;
    }
    if (reports->circles_len < CIRCLES_MAX) {
        oldest = &reports->circles[reports->circles_len++];
    }
    *oldest =
        (struct circle){.first_us = now_us, .hop = report->hop, .packet_id = report->packet_id};
    return oldest;
}

static void add_flow(struct circle *circle, const struct pd_flow_id *flow)
{
    if (has_flow(circle, flow)) {
        return;
    }
    if (circle->flows_len < FLOWS_MAX) {
        circle->flows[circle->flows_len++] = *flow;
    } else {
        circle->flows_left++;
    }
}

bool pd_loop_reports_take(struct loop_reports *reports, const struct pd_app_world *world,
                          const struct pd_app_packet *packet, uint64_t now_us)
{
    struct report report;

    if (!pd_loop_reports_able(reports, world) || !read_report(reports, world, packet, &report)) {
        return false;
    }
    struct circle *circle = circle_of(reports, &report, now_us);
    const bool fresh = !has_link(circle, &report.link) && circle->links_len < LINKS_MAX;
    circle->packets++;
    circle->last_us = now_us;
    add_flow(circle, &report.parsed.flow);
    if (fresh) {
        circle->links[circle->links_len++] = report.link;
    }
    return fresh;
}

/* ---- telling */

/* The links in the order in which packets take them, as far as one follows another: how many. */
static uint32_t follow(const struct circle *circle, struct link ordered[LINKS_MAX],
                       bool *ret_closed)
{
    uint32_t len = 0, first = 0;

    for (uint32_t i = 1; i < circle->links_len; i++) {
        first = circle->links[i].from < circle->links[first].from ? i : first;
    }
    ordered[len++] = circle->links[first];
    for (uint32_t i = 0; len < circle->links_len && i < circle->links_len; i++) {
        if (ordered[len - 1].to == ordered[0].from) {
            break; /* round */
        }
        if (circle->links[i].from == ordered[len - 1].to) {
            ordered[len++] = circle->links[i];
            i = UINT32_MAX; /* from the start again */
        }
    }
    *ret_closed = ordered[len - 1].to == ordered[0].from;
    return len;
}

/* "9, 17, 11, 18": of a loop that is not closed, its end too. */
static void write_way(const struct link *ordered, uint32_t len, bool closed, char way[WAY_BYTES])
{
    size_t at = 0;

    *way = '\0';
    for (uint32_t i = 0; i < len; i++) {
        if (ordered[i].from) {
            at += (size_t)snprintf(way + at, WAY_BYTES - at, "%s%" PRIu32, at ? ", " : "",
                                   ordered[i].from);
        }
    }
    if (!closed) {
        snprintf(way + at, WAY_BYTES - at, "%s%" PRIu32, at ? ", " : "", ordered[len - 1].to);
    }
}

static void tell_circle(const struct circle *circle, struct pd_report *report, char way[WAY_BYTES],
                        bool *ret_closed)
{
    struct link ordered[LINKS_MAX];
    const uint32_t len = follow(circle, ordered, ret_closed);
    char time[PD_TIME_TEXT_BYTES];

    write_way(ordered, len, *ret_closed, way);
    for (uint32_t i = 0; i < circle->links_len; i++) {
        if (circle->links[i].from) {
            pd_app_report_link(report, circle->links[i].from, circle->links[i].to);
        }
        pd_app_report_switch(report, circle->links[i].to);
    }
    for (uint32_t i = 0; i < circle->flows_len; i++) {
        pd_app_report_flow(report,
                           json_pack("{s:o}", "flow_id", pd_app_flow_json(&circle->flows[i])));
    }
    report->left_out += circle->flows_left;
    pd_app_report_row(report, "reported",
                      json_pack("{s:s, s:b, s:i, s:I, s:I, s:I, s:I}", "switches", way, "closed",
                                *ret_closed, "links", (int)circle->links_len, "flows",
                                (json_int_t)(circle->flows_len + circle->flows_left), "packets",
                                (json_int_t)circle->packets, "first_us",
                                (json_int_t)circle->first_us, "last_us",
                                (json_int_t)circle->last_us));
    pd_app_report_evidence(report,
                           "%s: switch %" PRIu32 " found its own digest again on packet %08" PRIx32
                           ", at hop %" PRIu32 ", as often as the telemetry plan allows; %" PRIu64
                           " packets since",
                           pd_time_format(circle->first_us, time), circle->links[0].to,
                           circle->packet_id, circle->hop, circle->packets - 1);
}

static void say(const char *way, bool closed, uint32_t len, bool edges_held,
                struct pd_report *report)
{
    char more[64] = "";

    if (len > 1) {
        snprintf(more, sizeof more, "; %" PRIu32 " loops in all, this is the latest", len);
    }
    pd_app_report_say(report, "a routing loop, reported by its switches: %.300s%s%s", way,
                      closed ? "" : " (not all of its links are known yet)", more);
    report->certain = edges_held;
    report->confidence = edges_held ? 1 : 0.9;
}

uint32_t pd_loop_reports_tell(const struct loop_reports *reports, uint64_t from_us, bool edges_held,
                              struct pd_report *report)
{
    char way[WAY_BYTES], latest[WAY_BYTES] = "";
    uint64_t latest_us = 0;
    bool closed, latest_closed = false;
    uint32_t len = 0;

    for (uint32_t i = 0; i < reports->circles_len; i++) {
        const struct circle *circle = &reports->circles[i];
        if (circle->last_us < from_us) {
            continue;
        }
        tell_circle(circle, report, way, &closed);
        len++;
        if (circle->last_us >= latest_us) {
            latest_us = circle->last_us;
            latest_closed = closed;
            memcpy(latest, way, sizeof latest);
        }
    }
    if (reports->unproven) {
        pd_app_report_row(report, "packets",
                          json_pack("{s:s, s:I}", "what",
                                    "reported with bits that their switch does not write",
                                    "packets", (json_int_t)reports->unproven));
    }
    if (len) {
        say(latest, latest_closed, len, edges_held, report);
    }
    return len;
}
