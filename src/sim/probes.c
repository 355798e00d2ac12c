/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated probes: the network's faults decide what arrives; the rest is probe/watch.h. */
#include "sim/probes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "probe/watch.h"

struct pd_sim_probes {
    double rate_hz;
    uint64_t ticks; /* probes that each path has sent */
    struct pd_sim_random random;
    struct pd_probe_watch *watch;
    struct pd_evidence_row *rows;
    struct pd_evidence_way *row_ways;
    size_t rows_room, ways_room;
};

/* ---- begin and end ---- */

void pd_sim_probes_free(struct pd_sim_probes *probes)
{
    if (!probes) {
        return;
    }
    pd_probe_watch_free(probes->watch);
    free(probes->rows);
    free(probes->row_ways);
    free(probes);
}

int pd_sim_probes_new(const struct pd_sim_scenario *scenario, uint64_t seed,
                      struct pd_sim_probes **ret_probes, struct pd_error *error)
{
    const struct pd_probe_watch_config config = {.topology = scenario->topology,
                                                 .rate_hz = scenario->probe_rate_hz,
                                                 .max_hops = scenario->probe_max_hops};
    struct pd_sim_probes *probes;

    *ret_probes = NULL;
    if (!(scenario->probe_rate_hz > 0)) {
        return 0;
    }
    probes = calloc(1, sizeof *probes);
    if (!probes) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    probes->rate_hz = scenario->probe_rate_hz;
    probes->random.state = ~seed;
    int err = pd_probe_watch_new(&config, &probes->watch, error);
    if (err) {
        pd_sim_probes_free(probes);
        return err;
    }
    *ret_probes = probes;
    return 0;
}

/* ---- probes ---- */

static bool arrives(struct pd_sim_probes *probes, struct pd_sim_net *net,
                    const struct pd_probe_way *way)
{
    bool well = true;

    for (uint32_t i = 0; i + 1 < way->nodes_len && well; i++) {
        well = !pd_sim_net_drops(net, way->links[i], &way->flow, &probes->random);
    }
    return well;
}

/* One probe on each way. */
static int tick(struct pd_sim_probes *probes, struct pd_sim_net *net)
{
    struct pd_probe_way *way;
    bool laid;

    probes->ticks++;
    for (size_t i = 0; (way = pd_probe_watch_way(probes->watch, i)); i++) {
        pd_probe_watch_result(probes->watch, way, arrives(probes, net, way));
    }
    return pd_probe_watch_step(probes->watch, &laid);
}

int pd_sim_probes_advance(struct pd_sim_probes *probes, struct pd_sim_net *net, double until_s)
{
    int err = 0;

    pd_probe_watch_forget(probes->watch);
    while (!err && (double)(probes->ticks + 1) <= until_s * probes->rate_hz + 1e-9) {
        err = tick(probes, net);
    }
    return err;
}

/* ---- rows ---- */

static void add_row(struct pd_sim_probes *probes, struct pd_probe_way *way, size_t *at)
{
    if (!way->sent) {
        return;
    }
    probes->row_ways[*at] = (struct pd_evidence_way){.nodes = way->nodes,
                                                     .nodes_len = way->nodes_len,
                                                     .reached = true,
                                                     .origin = PD_EVIDENCE_FROM_PROBE,
                                                     .pkts = way->sent};
    probes->rows[*at] = (struct pd_evidence_row){.kind = PD_EVIDENCE_PATH,
                                                 .pkts = way->sent,
                                                 .lost = way->lost,
                                                 .ways = &probes->row_ways[*at],
                                                 .ways_len = 1};
    way->sent = way->lost = 0;
    ++*at;
}

int pd_sim_probes_rows(struct pd_sim_probes *probes, const struct pd_evidence_row **ret_rows,
                       size_t *ret_len, bool *ret_anew)
{
    size_t most = pd_probe_watch_ways_len(probes->watch), len = 0;
    struct pd_probe_way *way;

    if (PD_GROW(probes->rows, probes->rows_room, most + 1) ||
        PD_GROW(probes->row_ways, probes->ways_room, most + 1)) {
        return -ENOMEM;
    }
    for (size_t i = 0; (way = pd_probe_watch_way(probes->watch, i)); i++) {
        add_row(probes, way, &len);
    }
    *ret_rows = probes->rows;
    *ret_len = len;
    *ret_anew = pd_probe_watch_anew(probes->watch);
    return 0;
}
