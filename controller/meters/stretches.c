/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest paths of a flow, and the stretches of theirs that end at a monitor. */
#include "controller/meters/stretches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { FAR = 255, PATHS_MAX = 4096 };

/* One look: what was found so far. */
struct look {
    struct pd_meters_stretches *all;
    uint32_t src, dst, at;
    uint64_t mark;
    const uint8_t *hops; /* to `dst` */
    struct pd_walk walk;
    uint32_t first; /* place in the walk of the newest monitor before its end */
    struct pd_path found;
    uint32_t others; /* stretches beside the one found */
    uint32_t tried;
};

int pd_meters_stretches_init(struct pd_meters_stretches *ret_stretches,
                             const struct pd_topology *topology, const struct pd_codec *codec,
                             const uint32_t *numbers, struct pd_meter_loop *loop)
{
    *ret_stretches = (struct pd_meters_stretches){
        .topology = topology, .codec = codec, .numbers = numbers, .loop = loop};
    ret_stretches->hops = calloc((size_t)topology->switches_len + 1, sizeof(void *));
    return ret_stretches->hops ? 0 : -ENOMEM;
}

void pd_meters_stretches_done(struct pd_meters_stretches *stretches)
{
    for (uint32_t s = 0; stretches->hops && s < stretches->topology->switches_len; s++) {
        free(stretches->hops[s]);
    }
    free(stretches->hops);
    free(stretches->paths);
    free(stretches->by_path);
    *stretches = (struct pd_meters_stretches){.paths = NULL};
}

/* ---- distances ---- */

/* Breadth first, from the end. */
static void measure(const struct pd_topology *topology, uint32_t to, uint8_t *hops, uint32_t *queue)
{
    uint32_t len = 0;

    memset(hops, FAR, topology->switches_len);
    hops[to] = 0;
    queue[len++] = to;
    for (uint32_t i = 0; i < len; i++) {
        const struct pd_switch *sw = &topology->switches[queue[i]];

        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            const uint32_t next = sw->neighbours[n].node;

            if (hops[next] == FAR && hops[queue[i]] < FAR - 1) {
                hops[next] = hops[queue[i]] + 1;
                queue[len++] = next;
            }
        }
    }
}

static const uint8_t *hops_to(struct pd_meters_stretches *stretches, uint32_t to)
{
    const uint32_t len = stretches->topology->switches_len;

    if (!stretches->hops[to]) {
        uint8_t *hops = malloc(len);
        uint32_t *queue = calloc(len, sizeof *queue);

        if (hops && queue) {
            measure(stretches->topology, to, hops, queue);
            stretches->hops[to] = hops;
        } else {
            free(hops);
        }
        free(queue);
    }
    return stretches->hops[to];
}

/* ---- the look ---- */

static void note(struct look *look)
{
    const struct pd_topology *topology = look->all->topology;
    struct pd_path path = {.len = 0};

    for (uint32_t i = look->first; i < look->walk.len; i++) {
        path.switches[path.len++] = topology->switches[look->walk.switches[i]].id;
    }
    if (!look->found.len) {
        pd_path_copy(&look->found, &path);
    } else {
        look->others += !pd_path_equal(&look->found, &path);
    }
}

/* The packet has come to the last switch of the walk, which has not written yet. */
static void go_on(struct look *look, struct pd_codec_packet packet, uint32_t from, uint32_t rank)
{
    const struct pd_meters_stretches *all = look->all;
    const struct pd_codec_ops *ops = all->codec->ops;
    const uint32_t here = look->walk.switches[look->walk.len - 1], first = look->first;
    const struct pd_switch *sw = &all->topology->switches[here];

    if (++look->tried > PATHS_MAX) {
        look->others++;
        return;
    }
    if (here == look->at && look->walk.len > 1) {
        if (packet.mark == look->mark && all->numbers[look->walk.switches[first]] != PD_NONE) {
            note(look);
        }
        return;
    }
    if (from != PD_NONE) {
        ops->take(all->codec, from, rank, look->src, look->dst, &packet);
    }
    if (all->numbers[here] != PD_NONE) {
        look->first = look->walk.len - 1;
    }
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        const uint32_t next = sw->neighbours[n].node;

        if (look->hops[next] + 1 == look->hops[here] && look->walk.len < PD_PATH_MAX) {
            look->walk.switches[look->walk.len++] = next;
            go_on(look, packet, here, n);
            look->walk.len--;
        }
    }
    look->first = first;
}

static int intern(struct pd_meters_stretches *all, const struct pd_path *path,
                  uint32_t *ret_segment)
{
    const struct pd_topology *topology = all->topology;
    const struct pd_path *kept;
    uint32_t number, segment;
    int err = pd_path_intern(path, &kept, &number);
    const size_t had = all->by_path_room;

    if (err || PD_GROW(all->by_path, all->by_path_room, (size_t)number + 1)) {
        return err ? err : -ENOMEM;
    }
    memset(all->by_path + had, 0, (all->by_path_room - had) * sizeof *all->by_path);
    if (all->by_path[number]) {
        *ret_segment = all->by_path[number] - 1;
        return 0;
    }
    if (PD_GROW(all->paths, all->paths_room, (size_t)pd_meter_loop_len(all->loop) + 1)) {
        return -ENOMEM;
    }
    const uint32_t up = pd_topology_switch(topology, path->switches[0]);
    const uint32_t down = pd_topology_switch(topology, path->switches[path->len - 1]);
    err = pd_meter_loop_add(all->loop, all->numbers[up], all->numbers[down], &segment);
    if (err) {
        return err;
    }
    all->paths[segment] = kept;
    all->by_path[number] = segment + 1;
    *ret_segment = segment;
    return 0;
}

int pd_meters_stretches_find(struct pd_meters_stretches *stretches, const struct pd_flow_id *flow,
                             uint32_t at, uint64_t mark, uint32_t *ret_segment)
{
    const struct pd_topology *topology = stretches->topology;
    struct look look = {.all = stretches,
                        .src = pd_topology_tor_alone(topology, &flow->src, flow->ip_version),
                        .dst = pd_topology_tor_alone(topology, &flow->dst, flow->ip_version),
                        .at = at,
                        .mark = mark};
    struct pd_codec_packet packet = {.mark = 0};

    if (look.src == PD_NONE || look.dst == PD_NONE || look.src == look.dst ||
        !stretches->codec->ops->take) {
        return -PD_E_INFEASIBLE;
    }
    look.hops = hops_to(stretches, look.dst);
    if (!look.hops) {
        return -ENOMEM;
    }
    if (look.hops[look.src] == FAR) {
        return -PD_E_INFEASIBLE;
    }
    if (stretches->codec->ops->enter) {
        stretches->codec->ops->enter(stretches->codec, look.src, look.dst, &packet);
    }
    look.walk.switches[look.walk.len++] = look.src;
    go_on(&look, packet, PD_NONE, 0);
    if (!look.found.len || look.others) {
        return look.others ? -PD_E_AMBIGUOUS : -PD_E_INFEASIBLE;
    }
    return intern(stretches, &look.found, ret_segment);
}
