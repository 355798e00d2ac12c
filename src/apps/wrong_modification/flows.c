/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of flows out of the hosts' answers. */
#include "apps/wrong_modification/flows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct reader {
    const struct pd_topology *topology;
    struct wm_flows *flows;
};

void pd_wrong_modification_done(struct wm_flows *flows)
{
    free(flows->sent);
    free(flows->arrived);
    *flows = (struct wm_flows){0};
}

/* Room for one more, or false: counted, or -ENOMEM. */
static int grow(void **list, size_t len, size_t *room, size_t each)
{
    void *more = len < *room ? *list : pd_grow(*list, room, len + 1, each, SIZE_MAX);

    if (!more) {
        return -ENOMEM;
    }
    *list = more;
    return 0;
}

static int see_arrived(void *context, const struct pd_app_row *row, const json_t *object)
{
    const struct reader *reader = context;
    struct wm_flows *flows = reader->flows;

    (void)object;
    if (!row->flow.ip_version || !row->has_path ||
        (row->path.len && !pd_app_path_exists(reader->topology, &row->path))) {
        flows->strange = true;
        return 0;
    }
    if (flows->arrived_len >= WM_FLOWS_MAX) {
        flows->left_out++;
        return 0;
    }
    if (grow((void **)&flows->arrived, flows->arrived_len, &flows->arrived_room,
             sizeof *flows->arrived)) {
        return -ENOMEM;
    }
    flows->arrived[flows->arrived_len++] = (struct wm_arrived){.flow = row->flow,
                                                               .path = row->path,
                                                               .stime_us = row->stime_us,
                                                               .etime_us = row->etime_us,
                                                               .bytes = row->bytes,
                                                               .pkts = row->pkts};
    return 0;
}

/* A host speaks of its own connections: one with an address that is not that host's is left out. */
static int see_sent(void *context, const struct pd_app_row *row, const json_t *object)
{
    const struct reader *reader = context;
    struct wm_flows *flows = reader->flows;
    struct wm_sent sent = {.flow = row->flow};
    uint64_t host = 0;

    if (row->flow.ip_version) {
        sent.host = pd_app_host_of(reader->topology, &row->flow.src, row->flow.ip_version);
    }
    if (!pd_app_number(object, "host", &host) || !host || host != sent.host) {
        return 0; /* loopback, other networks of the host */
    }
    if (!pd_app_number(object, "first_us", &sent.first_us)) {
        sent.first_us = 0;
    }
    if (flows->sent_len >= WM_FLOWS_MAX) {
        flows->left_out++;
        return 0;
    }
    if (grow((void **)&flows->sent, flows->sent_len, &flows->sent_room, sizeof *flows->sent)) {
        return -ENOMEM;
    }
    flows->sent[flows->sent_len++] = sent;
    return 0;
}

/* Both structs begin with the flow. */
static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pd_flow_id));
}

_Static_assert(!offsetof(struct wm_sent, flow) && !offsetof(struct wm_arrived, flow),
               "compared as they begin");

static int ask_arrived(const struct pd_app_call *call, struct pd_report *report, uint64_t from_us,
                       uint64_t to_us, struct reader *reader, struct pd_error *error)
{
    const struct pd_app_rows_query query = {.name = "getFlows",
                                            .list = "flows",
                                            .args = json_pack("{s:f, s:f, s:b}", "from",
                                                              (double)from_us / 1e6, "to",
                                                              (double)to_us / 1e6, "live", 1)};
    int err = pd_app_ask_rows(call, report, &query, see_arrived, reader, NULL, error);

    return err == -ENOMEM ? pd_fail(error, err, "getFlows: %s", pd_error_text(err)) : err;
}

static int ask_sent(const struct pd_app_call *call, struct pd_report *report, struct reader *reader,
                    struct pd_error *error)
{
    struct wm_flows *flows = reader->flows;
    json_t *answer;
    const char *source;
    int err = pd_app_ask(call, report, "getPoorTCPFlows", json_pack("{s:i}", "threshold", 0), NULL,
                         &answer, error);

    if (err) {
        return err;
    }
    err = pd_app_rows(answer, "flows", report, see_sent, reader, error);
    source = json_string_value(json_object_get(answer, "source"));
    flows->by_events = source && !strcmp(source, "bpf");
    if (!pd_app_number(answer, "since_us", &flows->since_us) ||
        !pd_app_number(answer, "forgotten", &flows->forgotten)) {
        flows->since_us = UINT64_MAX; /* nobody said since when: nothing can be judged */
        flows->strange = true;
    }
    json_decref(answer);
    return err == -ENOMEM ? pd_fail(error, err, "getPoorTCPFlows: %s", pd_error_text(err)) : err;
}

int pd_wrong_modification_ask(const struct pd_app_call *call, struct pd_report *report,
                              uint64_t from_us, uint64_t to_us, struct wm_flows *flows,
                              struct pd_error *error)
{
    struct reader reader = {call->world->topology, flows};
    int err = ask_arrived(call, report, from_us, to_us, &reader, error);

    if (!err) {
        err = ask_sent(call, report, &reader, error);
    }
    if (err) {
        return err;
    }
    if (flows->sent_len) {
        qsort(flows->sent, flows->sent_len, sizeof *flows->sent, compare);
    }
    if (flows->arrived_len) {
        qsort(flows->arrived, flows->arrived_len, sizeof *flows->arrived, compare);
    }
    return 0;
}

struct wm_sent *pd_wrong_modification_find_sent(const struct wm_flows *flows,
                                                const struct pd_flow_id *flow)
{
    return flows->sent_len
               ? bsearch(flow, flows->sent, flows->sent_len, sizeof *flows->sent, compare)
               : NULL;
}

const struct wm_arrived *pd_wrong_modification_find_arrived(const struct wm_flows *flows,
                                                            const struct pd_flow_id *flow)
{
    return flows->arrived_len
               ? bsearch(flow, flows->arrived, flows->arrived_len, sizeof *flows->arrived, compare)
               : NULL;
}

struct pd_flow_id pd_wrong_modification_reverse(const struct pd_flow_id *flow)
{
    struct pd_flow_id reverse = *flow;

    reverse.src = flow->dst;
    reverse.dst = flow->src;
    reverse.src_port = flow->dst_port;
    reverse.dst_port = flow->src_port;
    return reverse;
}
