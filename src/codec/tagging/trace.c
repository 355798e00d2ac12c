/* SPDX-License-Identifier: Apache-2.0 */
/* Walks of the rules: forwards from the start, backwards from the end; tags that one link alone can
 * have put there are exact. */
#include "codec/tagging/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/tagging/steps.h"

#define COUNTS     (PD_TAGS_MAX + 1)
#define MARKS_MAX  (PD_TAGS_MAX + 1) /* the last one is the DSCP */
#define DSCP_MARK  PD_TAGS_MAX
#define NO_MARK    MARKS_MAX
#define UNREACHED  UINT32_MAX
#define START      (UINT32_MAX - 1) /* parent of states that a walk begins with */
#define STATES(sw) ((sw)*COUNTS * 2)

/* A state: the packet is at a switch, has the first `n` of its tags, and its DSCP or not yet. */
struct search {
    const struct pd_codec *codec;
    uint32_t src_tor, dst_tor;
    const struct pd_tagging_set *set;
    struct pd_tags tags; /* of the set */
    unsigned dscp_wanted;
    uint32_t states;
    uint32_t *parent; /* by state: the state before, on a shortest walk */
    bool *ends;       /* by state: some walk from it ends as it should */
    uint32_t *queue;
    uint32_t queue_len;
};

/* Only one of several links for a mark is kept; `many` says that there were more. */
struct mark {
    uint32_t from, to;
    bool found, many;
};

static uint32_t state_of(uint32_t sw, unsigned n, unsigned d)
{
    return STATES(sw) + n * 2 + d;
}

static uint32_t switch_of(uint32_t state)
{
    return state / (COUNTS * 2);
}

static unsigned count_of(uint32_t state)
{
    return state / 2 % COUNTS;
}

/* The state after a link, and which mark it put on the packet; UNREACHED when the tags speak
 * against it. */
static uint32_t go(const struct search *s, uint32_t state, uint32_t rank, unsigned *ret_mark)
{
    uint32_t sw = switch_of(state);
    unsigned n = count_of(state), d = state & 1;
    uint32_t to = s->codec->topology->switches[sw].neighbours[rank].node;
    struct pd_tag_step t =
        pd_tagging_step(pd_tagging(s->codec), sw, rank, s->src_tor, s->dst_tor, d);

    *ret_mark = NO_MARK;
    if (t.action == PD_TAG_NONE) {
        return state_of(to, n, d);
    }
    if (t.action == PD_TAG_PUSH_VLAN && n < s->tags.len && s->tags.vids[n] == t.value) {
        *ret_mark = n;
        return state_of(to, n + 1, d);
    }
    if (t.action == PD_TAG_SET_DSCP && !d && s->dscp_wanted && s->tags.dscp == t.value) {
        *ret_mark = DSCP_MARK;
        return state_of(to, n, 1);
    }
    return UNREACHED;
}

/* Whether the packet, over this link as its last one, is sent here with exactly these tags: the
 * rule had no room for one more; or it has one too many already, pushed here or by the switch
 * before. */
static bool is_last(const struct search *s, uint32_t state, uint32_t rank)
{
    uint32_t sw = switch_of(state);
    unsigned n = count_of(state), len = s->tags.len, most = pd_tagging(s->codec)->ops->max_vlans;
    const struct pd_neighbour *to = &s->codec->topology->switches[sw].neighbours[rank];
    struct pd_tag_step t;

    if (to->node != s->set->at || (s->set->from != PD_NONE && s->set->from != sw) ||
        (state & 1) != s->dscp_wanted) {
        return false;
    }
    t = pd_tagging_step(pd_tagging(s->codec), sw, rank, s->src_tor, s->dst_tor, s->dscp_wanted);
    if (len <= most) {
        return n == len && t.action == PD_TAG_PUSH_VLAN && n >= t.room;
    }
    return n == len || (n + 1 == len && t.action == PD_TAG_PUSH_VLAN && t.value == s->tags.vids[n]);
}

static void reach(struct search *s, uint32_t state, uint32_t parent)
{
    if (state == UNREACHED || s->parent[state] != UNREACHED) {
        return;
    }
    s->parent[state] = parent;
    s->queue[s->queue_len++] = state;
}

/* Where walks begin: at the source's rack, at any switch when nobody knows it, or behind the link
 * of the set before. */
static void begin(struct search *s, const struct pd_tagging_set *before)
{
    const struct pd_topology *topology = s->codec->topology;
    unsigned mark;

    if (before) {
        const struct pd_neighbour *link = pd_topology_link(topology, before->from, before->at);

        reach(s,
              go(s, state_of(before->from, 0, 0),
                 (uint32_t)(link - topology->switches[before->from].neighbours), &mark),
              START);
    } else if (s->src_tor != PD_NONE) {
        reach(s, state_of(s->src_tor, 0, 0), START);
    } else {
        for (uint32_t sw = 0; sw < topology->switches_len; sw++) {
            reach(s, state_of(sw, 0, 0), START);
        }
    }
}

static void walk_forwards(struct search *s, const struct pd_tagging_set *before)
{
    unsigned mark;

    begin(s, before);
    for (uint32_t i = 0; i < s->queue_len; i++) {
        uint32_t state = s->queue[i];
        uint32_t len = s->codec->topology->switches[switch_of(state)].switch_neighbours;

        for (uint32_t rank = 0; rank < len; rank++) {
            reach(s, go(s, state, rank, &mark), state);
        }
    }
}

/* Marks what leads to the states in the queue, from `at` on. */
static void walk_backwards(struct search *s)
{
    const struct pd_topology *topology = s->codec->topology;
    unsigned mark;

    for (uint32_t i = 0; i < s->queue_len; i++) {
        uint32_t state = s->queue[i], sw = switch_of(state);
        const struct pd_switch *entry = &topology->switches[sw];

        for (uint32_t e = 0; e < entry->switch_neighbours; e++) {
            uint32_t from = entry->neighbours[e].node;
            const struct pd_neighbour *link = pd_topology_link(topology, from, sw);
            uint32_t rank = (uint32_t)(link - topology->switches[from].neighbours);

            /* with as many tags or one less, and the DSCP or not yet */
            for (unsigned k = count_of(state) ? 0 : 2; k < 4; k++) {
                uint32_t earlier = state_of(from, count_of(state) - 1 + k / 2, k % 2);

                if (s->parent[earlier] == UNREACHED || s->ends[earlier] ||
                    go(s, earlier, rank, &mark) != state) {
                    continue;
                }
                s->ends[earlier] = true;
                s->queue[s->queue_len++] = earlier;
            }
        }
    }
}

static void see_mark(struct mark *mark, uint32_t from, uint32_t to)
{
    if (mark->found && (mark->from != from || mark->to != to)) {
        mark->many = true;
    }
    *mark = (struct mark){from, to, true, mark->many};
}

/* The shortest walk's last state and link; the queue then holds all states that have a last link.
 */
static uint32_t find_ends(struct search *s, uint32_t *ret_rank, struct mark *last)
{
    const struct pd_topology *topology = s->codec->topology;
    uint32_t best = UNREACHED, reached = s->queue_len;

    s->queue_len = 0;
    for (uint32_t i = 0; i < reached; i++) { /* nearest first; what is kept is never ahead of i */
        uint32_t state = s->queue[i], sw = switch_of(state);

        for (uint32_t rank = 0; rank < topology->switches[sw].switch_neighbours; rank++) {
            if (!is_last(s, state, rank)) {
                continue;
            }
            see_mark(last, sw, s->set->at);
            if (best == UNREACHED) {
                best = state;
                *ret_rank = rank;
            }
            if (!s->ends[state]) {
                s->queue[s->queue_len++] = state;
            }
            s->ends[state] = true;
        }
    }
    return best;
}

/* The links that can have put each mark there. */
static void find_marks(const struct search *s, struct mark marks[static MARKS_MAX + 1])
{
    const struct pd_topology *topology = s->codec->topology;

    for (uint32_t state = 0; state < s->states; state++) {
        uint32_t sw = switch_of(state);

        if (s->parent[state] == UNREACHED || !s->ends[state]) {
            continue;
        }
        for (uint32_t rank = 0; rank < topology->switches[sw].switch_neighbours; rank++) {
            unsigned mark;
            uint32_t to = go(s, state, rank, &mark);

            if (to != UNREACHED && mark != NO_MARK && s->ends[to]) {
                see_mark(&marks[mark], sw, switch_of(to));
            }
            /* the last link may put the last tag there, instead of a link before */
            if (is_last(s, state, rank) && count_of(state) + 1 == s->tags.len) {
                see_mark(&marks[count_of(state)], sw, s->set->at);
            }
        }
    }
}

/* What the step between two states put there, if one link alone can have. */
static bool is_exact(const struct mark marks[static MARKS_MAX + 1], uint32_t from, uint32_t to)
{
    if (count_of(to) != count_of(from)) {
        return !marks[count_of(from)].many;
    }
    return (to & 1) != (from & 1) && !marks[DSCP_MARK].many;
}

static int write_trail(const struct search *s, uint32_t end, const struct mark *last,
                       struct pd_tagging_trail *trail)
{
    struct mark marks[MARKS_MAX + 1] = {{0}};
    uint32_t len = 1, at = trail->len;

    for (uint32_t state = end; s->parent[state] != START; state = s->parent[state]) {
        len++;
    }
    if (len > PD_TAGGING_STEPS_MAX - trail->len) {
        return -PD_E_TOO_LARGE;
    }
    find_marks(s, marks);
    trail->len += len;
    trail->steps[at + len - 1] = (struct pd_tagging_hop){switch_of(end), s->set->at, !last->many};
    for (uint32_t state = end; s->parent[state] != START; state = s->parent[state], len--) {
        trail->steps[at + len - 2] =
            (struct pd_tagging_hop){switch_of(s->parent[state]), switch_of(state),
                                    is_exact(marks, s->parent[state], state)};
    }
    return 0;
}

static int trace(struct search *s, const struct pd_tagging_set *before,
                 struct pd_tagging_trail *trail)
{
    struct mark last = {0};
    uint32_t rank = 0, end;

    memset(s->parent, 0xff, s->states * sizeof *s->parent);
    walk_forwards(s, before);
    end = find_ends(s, &rank, &last);
    if (end == UNREACHED) {
        return -PD_E_INFEASIBLE;
    }
    walk_backwards(s);
    return write_trail(s, end, &last, trail);
}

int pd_tagging_trace(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                     const struct pd_tagging_set *before, const struct pd_tagging_set *set,
                     struct pd_tagging_trail *trail)
{
    struct search s = {.codec = codec,
                       .src_tor = src_tor,
                       .dst_tor = dst_tor,
                       .set = set,
                       .tags = pd_tags_unpack(set->mark),
                       .dscp_wanted = pd_tags_dscp(set->mark) != 0,
                       .states = STATES(codec->topology->switches_len)};
    int err = -ENOMEM;

    s.parent = malloc(s.states * sizeof *s.parent);
    s.ends = calloc(s.states, sizeof *s.ends);
    s.queue = malloc(s.states * sizeof *s.queue);
    if (s.parent && s.ends && s.queue) {
        err = trace(&s, before, trail);
    }
    free(s.parent);
    free(s.ends);
    free(s.queue);
    return err;
}

bool pd_tagging_is(const struct pd_codec *codec)
{
    return codec->ops->take == pd_tagging_take;
}

unsigned pd_tagging_punts_from(const struct pd_codec *codec)
{
    return pd_tagging(codec)->steps->least_room;
}

bool pd_tagging_trail_repeats(const struct pd_tagging_trail *trail, uint32_t from,
                              uint32_t *ret_first, uint32_t *ret_second)
{
    for (uint32_t second = from + 1; second < trail->len; second++) {
        const struct pd_tagging_hop *b = &trail->steps[second];

        for (uint32_t first = second; b->exact && first-- > from;) {
            const struct pd_tagging_hop *a = &trail->steps[first];

            if (a->exact && a->from == b->from && a->to == b->to) {
                *ret_first = first;
                *ret_second = second;
                return true;
            }
        }
    }
    return false;
}
