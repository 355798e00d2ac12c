/* SPDX-License-Identifier: Apache-2.0 */
/* Exhaustive verification: every simple path between every two ToRs is encoded, compared and
 * decoded. */
#include "codec/verify.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

/* A unit of work is a destination. For each source, a depth-first search extends one path switch by
 * switch and takes a packet along (the mark of a path is that of its beginning plus one step). It
 * leaves a branch only when the destination is too far for the hops that are left, so that it comes
 * to every simple path and to little else.
 *
 * Threads share two atomics, the next unit and the pairs done; neither orders other memory, so they
 * are relaxed. Each worker owns its search; the caller adds up the sums after joining them. */

#define WORKERS_MAX 256
#define FAR         255

/* Marks seen between two ToRs: open addressing, at most half full. */
struct seen {
    uint64_t mark;
    uint32_t shortest, detours; /* paths that leave it; both 0: free slot */
};

struct mark_set {
    struct seen *slots;
    size_t room, len;
};

struct shared {
    const struct pd_codec *codec;
    const uint32_t *tors;
    uint32_t tors_len;
    enum pd_verify_scope scope;
    unsigned max_hops;
    atomic_uint next_unit;
    atomic_ullong pairs_done;
    void (*progress)(void *context, double share);
    void *context;
};

struct search {
    struct shared *shared;
    uint32_t src_tor, dst_tor;
    uint8_t *hops_left; /* by switch: hops to the destination, at least; FAR on the path */
    uint32_t *queue;
    struct pd_walk walk;
    unsigned shortest_hops; /* between the two racks */
    unsigned max_hops;      /* between them, in this scope */
    struct mark_set seen;
    struct pd_verification sum;
    int error;
};

/* ---- marks seen */

static struct seen *find(struct seen *slots, size_t mask, uint64_t mark)
{
    size_t at = pd_hash_mix(mark) & mask;
    while ((slots[at].shortest || slots[at].detours) && slots[at].mark != mark) {
        at = (at + 1) & mask;
    }
    return &slots[at];
}

static int grow(struct mark_set *set)
{
    size_t room = set->room ? 2 * set->room : 1024;
    struct seen *slots = calloc(room, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < set->room; i++) {
        if (set->slots[i].shortest || set->slots[i].detours) {
            *find(slots, room - 1, set->slots[i].mark) = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->room = room;
    return 0;
}

/* Whether another shortest path of this pair would be taken for a candidate of this mark. */
static bool is_passed(const struct pd_codec *codec, const struct mark_set *set,
                      const struct seen *seen)
{
    bool passed = seen->shortest > 1;
    for (size_t i = 0; i < set->room && !passed; i++) {
        const struct seen *other = &set->slots[i];
        passed =
            other != seen && other->shortest && codec->ops->passes(codec, other->mark, seen->mark);
    }
    return passed;
}

static void count_passed(const struct pd_codec *codec, const struct mark_set *set,
                         struct pd_verification *sum)
{
    for (size_t i = 0; set->len && i < set->room; i++) {
        const struct seen *seen = &set->slots[i];
        if (seen->shortest && is_passed(codec, set, seen)) {
            sum->membership_undecodable += seen->shortest;
        }
    }
}

/* Adds up what the marks of this pair are shared by, and forgets them. */
static void count_seen(struct mark_set *set, struct pd_verification *sum)
{
    for (size_t i = 0; set->len && i < set->room; i++) {
        const struct seen *seen = &set->slots[i];
        if (seen->shortest) {
            sum->misread += seen->detours;
            sum->shortest.ambiguous += seen->shortest > 1 ? seen->shortest : 0;
        }
    }
    if (set->len) {
        memset(set->slots, 0, set->room * sizeof *set->slots);
    }
    set->len = 0;
}

/* ---- search */

/* The walk has come to the destination with this packet: what is left to find out is whether its
 * mark leads back to it. */
static void check_path(struct search *s, const struct pd_codec_packet *packet)
{
    const struct pd_codec *codec = s->shared->codec;
    bool shortest = s->walk.len - 1 == s->shortest_hops;
    s->sum.by_hops[s->walk.len - 1]++;
    s->sum.shortest.paths += shortest;
    if (packet->punted) {
        s->sum.punted++;
        return;
    }
    if (2 * (s->seen.len + 1) > s->seen.room && grow(&s->seen)) {
        s->error = -ENOMEM;
        return;
    }
    struct seen *seen = find(s->seen.slots, s->seen.room - 1, packet->mark);
    bool known = seen->shortest || seen->detours;
    s->seen.len += !known;
    seen->mark = packet->mark;
    seen->shortest += shortest;
    seen->detours += !shortest;
    s->sum.ambiguous += known;
    s->sum.undecodable += codec->ops->reads ? !codec->ops->reads(codec, s->src_tor, s->dst_tor,
                                                                 packet->mark, &s->walk)
                                            : known;
}

/* `at` is not the destination, and near enough to it for the hops that are left. */
static void extend(struct search *s, uint32_t at, const struct pd_codec_packet *packet)
{
    const struct pd_codec *codec = s->shared->codec;
    const struct pd_switch *entry = &codec->topology->switches[at];
    unsigned left = s->max_hops - (s->walk.len - 1);
    void (*const take)(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                       uint32_t dst_tor, struct pd_codec_packet *packet) = codec->ops->take;
    uint32_t rank = 0, end = entry->switch_neighbours;
    if (left == 1) { /* only the destination is near enough, and it is a neighbour */
        rank = (uint32_t)(pd_topology_link(codec->topology, at, s->dst_tor) - entry->neighbours);
        end = rank + 1;
    }
    for (; rank < end; rank++) {
        uint32_t to = entry->neighbours[rank].node;
        uint8_t hops_left = s->hops_left[to];
        if (hops_left >= left) {
            continue;
        }
        struct pd_codec_packet next = *packet;
        if (!next.punted) {
            next.hops++;
            take(codec, at, rank, s->src_tor, s->dst_tor, &next);
        }
        s->walk.switches[s->walk.len++] = to;
        s->hops_left[to] = FAR;
        if (to == s->dst_tor) {
            check_path(s, &next);
        } else {
            extend(s, to, &next);
        }
        s->hops_left[to] = hops_left;
        s->walk.len--;
    }
}

static void measure_hops(struct search *s)
{
    const struct pd_topology *topology = s->shared->codec->topology;
    uint32_t head = 0, tail = 0;
    memset(s->hops_left, FAR, topology->switches_len);
    s->hops_left[s->dst_tor] = 0;
    s->queue[tail++] = s->dst_tor;
    while (head < tail) {
        uint32_t at = s->queue[head++];
        const struct pd_switch *entry = &topology->switches[at];
        for (uint32_t i = 0; i < entry->switch_neighbours; i++) {
            uint32_t to = entry->neighbours[i].node;
            if (s->hops_left[to] == FAR && s->hops_left[at] < FAR - 1) {
                s->hops_left[to] = s->hops_left[at] + 1;
                s->queue[tail++] = to;
            }
        }
    }
}

static void search_pair(struct search *s, uint32_t src_tor)
{
    const struct shared *shared = s->shared;
    struct pd_codec_packet packet = {0};
    s->src_tor = src_tor;
    s->walk.len = 1;
    s->walk.switches[0] = src_tor;
    uint8_t hops_left = s->hops_left[src_tor];
    if (hops_left > shared->max_hops) {
        return;
    }
    s->shortest_hops = hops_left;
    s->max_hops = shared->scope == PD_VERIFY_SHORTEST ? hops_left : shared->max_hops;
    if (shared->codec->ops->enter) {
        shared->codec->ops->enter(shared->codec, src_tor, s->dst_tor, &packet);
    }
    s->hops_left[src_tor] = FAR;
    extend(s, src_tor, &packet);
    s->hops_left[src_tor] = hops_left;
    if (shared->codec->ops->passes) {
        count_passed(shared->codec, &s->seen, &s->sum);
    }
    count_seen(&s->seen, &s->sum);
}

/* ---- workers */

static int search_init(struct search *s, struct shared *shared)
{
    uint32_t len = shared->codec->topology->switches_len;
    *s = (struct search){
        .shared = shared, .hops_left = malloc(len), .queue = malloc(len * sizeof *s->queue)};
    return s->hops_left && s->queue ? 0 : -ENOMEM;
}

static void search_done(struct search *s)
{
    free(s->hops_left);
    free(s->queue);
    free(s->seen.slots);
}

/* Works until nothing is left; the caller's own search tells how far all of them are. */
static void work(struct search *s, bool tells)
{
    struct shared *shared = s->shared;
    uint64_t pairs = (uint64_t)shared->tors_len * (shared->tors_len - 1), told_ns = 0;
    uint32_t unit;
    while (!s->error && (unit = atomic_fetch_add_explicit(
                             &shared->next_unit, 1, memory_order_relaxed)) < shared->tors_len) {
        s->dst_tor = shared->tors[unit];
        measure_hops(s);
        for (uint32_t i = 0; i < shared->tors_len && !s->error; i++) {
            if (i == unit) {
                continue;
            }
            search_pair(s, shared->tors[i]);
            uint64_t done =
                1 + atomic_fetch_add_explicit(&shared->pairs_done, 1, memory_order_relaxed);
            uint64_t now_ns = tells ? pd_clock_monotonic_ns() : 0;
            if (tells && now_ns - told_ns > 100 * PD_NS_PER_MS) {
                shared->progress(shared->context, (double)done / (double)pairs);
                told_ns = now_ns;
            }
        }
    }
}

static void *run_worker(void *search)
{
    work(search, false);
    return NULL;
}

static unsigned count_cores(void)
{
    cpu_set_t cores;
    int len = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
    return len < 1 ? 1 : len > WORKERS_MAX ? WORKERS_MAX : (unsigned)len;
}

static void add_up(struct pd_verification *sum, const struct pd_verification *part)
{
    for (unsigned hops = 0; hops < PD_PATH_MAX; hops++) {
        sum->by_hops[hops] += part->by_hops[hops];
        sum->paths += part->by_hops[hops];
    }
    sum->ambiguous += part->ambiguous;
    sum->undecodable += part->undecodable;
    sum->punted += part->punted;
    sum->shortest.paths += part->shortest.paths;
    sum->shortest.ambiguous += part->shortest.ambiguous;
    sum->misread += part->misread;
    sum->membership_undecodable += part->membership_undecodable;
}

/* Search 0 is the calling thread's. Where a thread cannot be had, the others do its work. */
static int run(struct shared *shared, struct search *searches, unsigned len,
               struct pd_verification *ret_verification)
{
    struct pd_verification sum = {0};
    pthread_t threads[WORKERS_MAX];
    bool running[WORKERS_MAX] = {false};
    int error = 0;
    for (unsigned i = 0; i < len && !error; i++) {
        error = search_init(&searches[i], shared);
    }
    if (!error) {
        for (unsigned i = 1; i < len; i++) {
            running[i] = !pthread_create(&threads[i], NULL, run_worker, &searches[i]);
        }
        work(&searches[0], shared->progress != NULL);
    }
    for (unsigned i = 0; i < len; i++) {
        if (running[i]) {
            pthread_join(threads[i], NULL);
        }
        if (!error) {
            error = searches[i].error;
        }
        add_up(&sum, &searches[i].sum);
        search_done(&searches[i]);
    }
    if (!error) {
        *ret_verification = sum;
    }
    return error;
}

int pd_codec_verify(const struct pd_codec *codec, enum pd_verify_scope scope, unsigned max_hops,
                    void (*progress)(void *context, double share), void *context,
                    struct pd_verification *ret_verification)
{
    const struct pd_topology *topology = codec->topology;
    if (max_hops < 1 || max_hops >= PD_PATH_MAX) {
        return -PD_E_VALUE;
    }
    if (codec->ops->kind != PD_CODEC_KEY) {
        return -PD_E_UNSUPPORTED;
    }
    unsigned workers = count_cores();
    uint32_t *tors = malloc(topology->switches_len * sizeof *tors);
    struct search *searches = calloc(workers, sizeof *searches);
    int error = -ENOMEM;
    if (tors && searches) {
        struct shared shared = {.codec = codec,
                                .tors = tors,
                                .scope = scope,
                                .max_hops = max_hops,
                                .progress = progress,
                                .context = context};
        for (uint32_t i = 0; i < topology->switches_len; i++) {
            if (pd_topology_role_is_tor(topology->switches[i].role)) {
                tors[shared.tors_len++] = i;
            }
        }
        error = run(&shared, searches, workers, ret_verification);
    }
    free(tors);
    free(searches);
    return error;
}
