/* SPDX-License-Identifier: Apache-2.0 */
/* Trials of schemes with samples: random shortest paths, random packets, the scheme's own rules. */
#include "codec/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct trial {
    const struct pd_codec *codec;
    const struct pd_codec_trials *wanted;
    uint64_t random;
    uint32_t *racks, racks_len;
    uint32_t *distance, *queue; /* links to the end of the path */
    void *state;
    struct pd_walk walk;
};

static uint32_t below(struct trial *trial, uint32_t limit)
{
    return (uint32_t)(pd_splitmix64(&trial->random) % limit);
}

/* ---- the path ---- */

static void measure(struct trial *trial, uint32_t to)
{
    const struct pd_topology *topology = trial->codec->topology;
    uint32_t len = 0;
    memset(trial->distance, 0xff, topology->switches_len * sizeof *trial->distance);
    trial->distance[to] = 0;
    trial->queue[len++] = to;
    for (uint32_t at = 0; at < len; at++) {
        const struct pd_switch *sw = &topology->switches[trial->queue[at]];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            uint32_t next = sw->neighbours[n].node;
            if (trial->distance[next] == PD_NONE) {
                trial->distance[next] = trial->distance[trial->queue[at]] + 1;
                trial->queue[len++] = next;
            }
        }
    }
}

/* One step nearer, each that there is as likely as any other. */
static uint32_t draw_step(struct trial *trial, uint32_t at)
{
    const struct pd_switch *sw = &trial->codec->topology->switches[at];
    uint32_t seen = 0, chosen = at;
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        uint32_t next = sw->neighbours[n].node;
        if (trial->distance[next] == trial->distance[at] - 1 && !below(trial, ++seen)) {
            chosen = next;
        }
    }
    return chosen;
}

/* From any other rack that has a way there. */
static bool draw_path(struct trial *trial)
{
    uint32_t to = trial->racks[below(trial, trial->racks_len)], from = to, seen = 0;
    measure(trial, to);
    for (uint32_t i = 0; i < trial->racks_len; i++) {
        uint32_t far = trial->distance[trial->racks[i]];
        if (far && far < PD_PATH_MAX && !below(trial, ++seen)) {
            from = trial->racks[i];
        }
    }
    trial->walk = (struct pd_walk){.len = 0};
    for (uint32_t at = from; from != to; at = draw_step(trial, at)) {
        trial->walk.switches[trial->walk.len++] = at;
        if (at == to) {
            return true;
        }
    }
    return false;
}

/* ---- its packets ---- */

static struct pd_codec_sample cross(struct trial *trial, uint64_t time_ns)
{
    const struct pd_codec *codec = trial->codec;
    const struct pd_walk *walk = &trial->walk;
    uint32_t src = walk->switches[0], dst = walk->switches[walk->len - 1];
    struct pd_codec_packet packet = {.packet_id = (uint32_t)pd_splitmix64(&trial->random)};
    if (codec->ops->enter) {
        codec->ops->enter(codec, src, dst, &packet);
    }
    for (uint32_t i = 1; i < walk->len; i++) {
        uint32_t from = walk->switches[i - 1];
        const struct pd_neighbour *link =
            pd_topology_link(codec->topology, from, walk->switches[i]);
        packet.hops = (uint16_t)i;
        codec->ops->take(codec, from, (uint32_t)(link - codec->topology->switches[from].neighbours),
                         src, dst, &packet);
    }
    return (struct pd_codec_sample){.mark = packet.mark,
                                    .time_ns = time_ns,
                                    .packet_id = packet.packet_id,
                                    .hops = packet.hops};
}

static bool is_right(const struct pd_walk *a, const struct pd_walk *b)
{
    return a->len == b->len && !memcmp(a->switches, b->switches, a->len * sizeof *a->switches);
}

/* Packets until the path was decided; 0: it was not. */
static uint32_t follow(struct trial *trial, bool *ret_wrong)
{
    const struct pd_codec *codec = trial->codec;
    uint32_t src = trial->walk.switches[0], dst = trial->walk.switches[trial->walk.len - 1];
    struct pd_decoding found;
    *ret_wrong = false;
    memset(trial->state, 0, codec->ops->state_bytes);
    for (uint32_t n = 1; n <= trial->wanted->packets_max; n++) {
        struct pd_codec_sample sample = cross(trial, n);
        codec->ops->fold(codec, src, dst, &sample, trial->state);
        int err = codec->ops->decide(codec, src, dst, trial->state, &found, NULL);
        if (err || found.state == PD_DECODING_EXACT) {
            *ret_wrong = err || !is_right(&found.walk, &trial->walk);
            return n;
        }
    }
    return 0;
}

/* ---- all of them ---- */

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void summarise(uint32_t *packets, uint64_t len, struct pd_codec_trials_outcome *outcome)
{
    double sum = 0;
    for (uint64_t i = 0; i < len; i++) {
        sum += packets[i];
    }
    if (len) {
        qsort(packets, len, sizeof *packets, compare);
        outcome->mean = sum / (double)len;
        outcome->p50 = packets[(len - 1) / 2];
        outcome->p99 = packets[(len - 1) * 99 / 100];
    }
}

static int run(struct trial *trial, uint32_t *packets, struct pd_codec_trials_outcome *outcome)
{
    uint64_t decided = 0;
    for (; outcome->trials < trial->wanted->trials; outcome->trials++) {
        bool wrong;
        if (!draw_path(trial)) {
            return -PD_E_NOT_FOUND;
        }
        packets[decided] = follow(trial, &wrong);
        outcome->wrong += wrong;
        outcome->undecided += !packets[decided];
        decided += packets[decided] && !wrong;
    }
    summarise(packets, decided, outcome);
    return 0;
}

static int find_racks(struct trial *trial)
{
    const struct pd_topology *topology = trial->codec->topology;
    trial->racks = calloc(topology->switches_len + (size_t)1, sizeof *trial->racks);
    for (uint32_t s = 0; trial->racks && s < topology->switches_len; s++) {
        if (pd_topology_switch_has_rack(&topology->switches[s])) {
            trial->racks[trial->racks_len++] = s;
        }
    }
    return !trial->racks ? -ENOMEM : trial->racks_len ? 0 : -PD_E_NOT_FOUND;
}

int pd_codec_samples_try(const struct pd_codec *codec, const struct pd_codec_trials *wanted,
                         struct pd_codec_trials_outcome *ret_outcome)
{
    size_t switches = codec->topology->switches_len + (size_t)1;
    struct pd_codec_trials_outcome outcome = {.trials = 0};
    struct trial trial = {.codec = codec,
                          .wanted = wanted,
                          .random = wanted->seed,
                          .distance = calloc(switches, sizeof *trial.distance),
                          .queue = calloc(switches, sizeof *trial.queue),
                          .state = calloc(1, codec->ops->state_bytes + 1)};
    uint32_t *packets = calloc(wanted->trials + 1, sizeof *packets);
    int err = trial.distance && trial.queue && trial.state && packets ? 0 : -ENOMEM;
    err = err ? err : find_racks(&trial);
    if (!err) {
        err = run(&trial, packets, &outcome);
    }
    if (!err) {
        *ret_outcome = outcome;
    }
    free(trial.racks);
    free(trial.distance);
    free(trial.queue);
    free(trial.state);
    free(packets);
    return err;
}
