/* SPDX-License-Identifier: Apache-2.0 */
/* miscabling: walks that were taken and are not in the topology, by alarms of receivers (paper 002,
 * Table 2). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "apps/window.h"
#include "base/grow.h"

#define ALARMS_MAX 10000
#define CABLES_MAX 1024
#define BEGINS     "not in the topology: the walk " /* as agents write it (src/agent/digests.c) */

/* Two switches that a walk joined and the file does not. */
struct cable {
    uint32_t from, to;
    uint64_t walks, alarms;
};

struct cables {
    const struct pd_topology *topology;
    struct cable *cables;
    size_t len, room;
    uint64_t walks, strange, left_out;
};

/* A walk in an alarm's words, which may be anything. */
static bool read_walk(const char *words, struct pd_path *ret_walk)
{
    return words && !strncmp(words, BEGINS, strlen(BEGINS)) &&
           !pd_path_parse(words + strlen(BEGINS), ret_walk) && ret_walk->len > 1;
}

static void note_cable(struct cables *cables, uint32_t from, uint32_t to, uint64_t alarms)
{
    for (size_t i = 0; i < cables->len; i++) {
        struct cable *cable = &cables->cables[i];
        if (cable->from == from && cable->to == to) {
            cable->walks++;
            cable->alarms += alarms;
            return;
        }
    }
    if (cables->len == CABLES_MAX || PD_GROW(cables->cables, cables->room, cables->len + 1)) {
        cables->left_out++;
        return;
    }
    cables->cables[cables->len++] = (struct cable){from, to, 1, alarms};
}

static void take_walk(struct cables *cables, const struct pd_path *walk, uint64_t alarms)
{
    const struct pd_topology *topology = cables->topology;

    cables->walks++;
    for (uint32_t i = 0; i + 1 < walk->len; i++) {
        const uint32_t from = pd_topology_switch(topology, walk->switches[i]);
        const uint32_t to = pd_topology_switch(topology, walk->switches[i + 1]);
        if (from == PD_NONE || to == PD_NONE) {
            cables->strange++;
        } else if (!pd_topology_link(topology, from, to)) {
            note_cable(cables, walk->switches[i], walk->switches[i + 1], alarms);
        }
    }
}

static void take_alarms(struct cables *cables, const json_t *alarms)
{
    const json_t *alarm;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)alarms, i, alarm)
    {
        uint64_t count = 1;
        struct pd_path walk;
        if (read_walk(json_string_value(json_object_get(alarm, "detail")), &walk)) {
            pd_app_number(alarm, "count", &count);
            take_walk(cables, &walk, count ? count : 1);
        }
    }
}

/* ---- cables of the file that nothing went over */

struct crossing {
    struct pd_link_match link;
    bool crossed;
};

static int cross(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct crossing *crossing = context;

    (void)object;
    crossing->crossed |= row->path.len && pd_path_crosses(&row->path, crossing->link);
    return crossing->crossed;
}

static int is_crossed(const struct pd_app_call *call, const struct pd_app_window *window,
                      struct pd_link_match link, bool *crossed, struct pd_report *report,
                      struct pd_error *error)
{
    struct crossing crossing = {.link = link};
    char text[PD_LINK_TEXT_BYTES];
    json_t *args = pd_app_window_args(window);

    if (args && json_object_set_new(args, "link", json_string(pd_link_format(link, text)))) {
        json_decref(args);
        args = NULL;
    }
    const struct pd_app_rows_query query = {.name = "getFlows", .list = "flows", .args = args};
    int err = pd_app_ask_rows(call, report, &query, cross, &crossing, NULL, error);
    *crossed |= crossing.crossed;
    return err > 0 ? 0 : err;
}

/* Links of one switch of a wrong cable, both ways. */
static int look_around(const struct pd_app_call *call, const struct pd_app_window *window,
                       uint32_t id, struct pd_report *report, struct pd_error *error)
{
    const struct pd_topology *topology = call->world->topology;
    const struct pd_switch *sw = &topology->switches[pd_topology_switch(topology, id)];
    int err = 0;

    for (uint32_t n = 0; n < sw->switch_neighbours && !err; n++) {
        const uint32_t other = topology->switches[sw->neighbours[n].node].id;
        bool crossed = false;
        err = is_crossed(call, window, (struct pd_link_match){id, other}, &crossed, report, error);
        if (!err && !crossed) {
            err = is_crossed(call, window, (struct pd_link_match){other, id}, &crossed, report,
                             error);
        }
        if (!err && !crossed) {
            pd_app_report_row(
                report, "missing",
                json_pack("{s:I, s:I}", "switch", (json_int_t)id, "to", (json_int_t)other));
        }
    }
    return err;
}

/* ---- the report */

static void tell(const struct cables *cables, struct pd_report *report)
{
    for (size_t i = 0; i < cables->len; i++) {
        const struct cable *cable = &cables->cables[i];

        pd_app_report_link(report, cable->from, cable->to);
        pd_app_report_switch(report, cable->from);
        pd_app_report_switch(report, cable->to);
        pd_app_report_evidence(report,
                               "%" PRIu64 " walks went from %" PRIu32 " to %" PRIu32
                               ", which the topology does not join",
                               cable->walks, cable->from, cable->to);
        pd_app_report_row(report, "cables",
                          json_pack("{s:I, s:I, s:I, s:I}", "from", (json_int_t)cable->from, "to",
                                    (json_int_t)cable->to, "walks", (json_int_t)cable->walks,
                                    "alarms", (json_int_t)cable->alarms));
    }
    if (cables->strange) {
        pd_app_report_lacks(report,
                            "%" PRIu64 " steps of walks are of switches that the topology "
                            "has not",
                            cables->strange);
    }
    if (cables->left_out) {
        pd_app_report_lacks(report, "%" PRIu64 " cables had no room", cables->left_out);
    }
}

static void say(const struct cables *cables, struct pd_report *report)
{
    if (!cables->walks) {
        pd_app_report_say(report, "no walk was taken that the topology has not");
    } else if (!cables->len) {
        pd_app_report_say(report,
                          "walks beside the topology, but no cable of theirs is between known "
                          "switches");
    } else {
        pd_app_report_say(
            report, "%zu cable%s not as in the topology; the first joins %" PRIu32 " and %" PRIu32,
            cables->len, cables->len == 1 ? " is" : "s are", cables->cables[0].from,
            cables->cables[0].to);
    }
    report->certain = cables->len > 0 && !cables->strange;
    report->confidence = cables->len ? 1 : 0;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct cables cables = {.topology = call->world->topology};
    struct pd_app_window window;
    json_t *alarms = NULL;
    int err = pd_app_window_read(call, &window, error);

    (void)state;
    if (!err) {
        err = pd_app_alarms(call, "INFEASIBLE_PATH", window.from_us, window.to_us, ALARMS_MAX,
                            &alarms, error);
    }
    if (!err) {
        take_alarms(&cables, alarms);
        tell(&cables, report);
        say(&cables, report);
    }
    for (size_t i = 0; i < cables.len && i < 8 && !err; i++) {
        err = look_around(call, &window, cables.cables[i].from, report, error);
        err = err ? err : look_around(call, &window, cables.cables[i].to, report, error);
    }
    json_decref(alarms);
    free(cables.cables);
    return err;
}

static const struct pd_app_trigger triggers[] = {{.reason = "INFEASIBLE_PATH", .origin = "monitor"},
                                                 {0}};

static const struct pd_app_param params[] = {
    PD_APP_WINDOW_PARAMS("3600"),
    {.name = NULL},
};

const struct pd_app_ops pd_app_miscabling = {
    .name = "miscabling",
    .section = "PINT, Table 2",
    .help = "which cables are not where the topology says?",
    .params = params,
    .triggers = triggers,
    .run = run,
};
