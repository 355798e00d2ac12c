/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest cover: links that others dominate are left out, then branch and bound. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "localise/cover/cover.h"

/* A branch takes the open signature with the fewest links left and tries each of them; a link that
 * was tried is left out of the branches after it. Open signatures of which no two share a link each
 * need a link of their own: that bounds a branch from below. A link whose signatures another one
 * has as well is never needed. */

enum { NODES_PER_LOOK = 256 }; /* at the clock */

struct search {
    const struct pd_cover *cover;
    bool *is_out;      /* by link: dominated, or tried before */
    uint32_t *covered; /* by signature: by how many links taken */
    uint32_t *order;   /* signatures, shortest first */
    uint32_t *stamp;   /* by link: of the bound at hand */
    uint32_t now;
    uint32_t *taken, *best;
    size_t taken_len, best_len;
    uint64_t until_ns, nodes;
    bool ended;
};

static void search_done(struct search *s)
{
    free(s->is_out);
    free(s->covered);
    free(s->order);
    free(s->stamp);
    free(s->taken);
}

static int search_init(struct search *s)
{
    size_t links = (size_t)s->cover->links_len + 1, len = s->cover->signatures->len + 1;
    s->is_out = calloc(links, sizeof *s->is_out);
    s->stamp = calloc(links, sizeof *s->stamp);
    s->taken = calloc(links, sizeof *s->taken);
    s->covered = calloc(len, sizeof *s->covered);
    s->order = calloc(len, sizeof *s->order);
    return s->is_out && s->stamp && s->taken && s->covered && s->order ? 0 : -ENOMEM;
}

static const struct pd_localise_member *members_of(const struct search *s, uint32_t signature,
                                                   uint32_t *ret_len)
{
    const struct pd_localise_groups *signatures = s->cover->signatures;
    *ret_len = signatures->groups[signature].len;
    return signatures->members + signatures->groups[signature].first;
}

/* ---- reductions ---- */

static uint32_t signatures_of(const struct search *s, uint32_t link)
{
    return s->cover->index->starts[link + 1] - s->cover->index->starts[link];
}

/* Both lists ascend. */
static bool is_within(const struct search *s, uint32_t inner, uint32_t outer)
{
    const struct pd_localise_index *index = s->cover->index;
    uint32_t o = index->starts[outer];
    for (uint32_t i = index->starts[inner]; i < index->starts[inner + 1]; i++) {
        while (o < index->starts[outer + 1] && index->groups[o] < index->groups[i]) {
            o++;
        }
        if (o == index->starts[outer + 1] || index->groups[o] != index->groups[i]) {
            return false;
        }
    }
    return true;
}

/* Of links with the same signatures the one with the smallest number stays. */
static bool is_dominated(const struct search *s, uint32_t link)
{
    const struct pd_localise_index *index = s->cover->index;
    uint32_t own = signatures_of(s, link), len;
    const struct pd_localise_member *others =
        members_of(s, index->groups[index->starts[link]], &len);
    for (uint32_t i = 0; i < len; i++) {
        uint32_t other = others[i].id, size = signatures_of(s, other);
        if (other != link && (size > own || (size == own && other < link)) &&
            is_within(s, link, other)) {
            return true;
        }
    }
    return false;
}

static void leave_out_dominated(struct search *s)
{
    for (uint32_t l = 0; l < s->cover->links_len; l++) {
        s->is_out[l] = !signatures_of(s, l) || is_dominated(s, l);
    }
}

static uint32_t choices(const struct search *s, uint32_t signature)
{
    uint32_t len, left = 0;
    const struct pd_localise_member *members = members_of(s, signature, &len);
    for (uint32_t i = 0; i < len; i++) {
        left += !s->is_out[members[i].id];
    }
    return left;
}

/* Counting sort by the links left. */
static int order_signatures(struct search *s)
{
    size_t len = s->cover->signatures->len;
    uint32_t *starts = calloc((size_t)s->cover->links_len + 3, sizeof *starts);
    if (!starts) {
        return -ENOMEM;
    }
    for (uint32_t g = 0; g < len; g++) {
        starts[choices(s, g) + 1]++;
    }
    for (uint32_t i = 1; i <= s->cover->links_len + 1; i++) {
        starts[i] += starts[i - 1];
    }
    for (uint32_t g = 0; g < len; g++) {
        s->order[starts[choices(s, g)]++] = g;
    }
    free(starts);
    return 0;
}

/* ---- branch and bound ---- */

/* How many open signatures share no link with each other, at least; and the open one with the
 * fewest links left. PD_NONE in *ret_open: all are covered; *ret_dead: one has no link left. */
static size_t bound(struct search *s, uint32_t *ret_open, bool *ret_dead)
{
    size_t apart = 0;
    uint32_t fewest = UINT32_MAX;
    *ret_open = PD_NONE;
    *ret_dead = false;
    s->now++;
    for (size_t i = 0; i < s->cover->signatures->len; i++) {
        uint32_t g = s->order[i], len, left = 0;
        bool alone = true;
        if (s->covered[g]) {
            continue;
        }
        const struct pd_localise_member *members = members_of(s, g, &len);
        for (uint32_t m = 0; m < len; m++) {
            left += !s->is_out[members[m].id];
            alone &= s->is_out[members[m].id] || s->stamp[members[m].id] != s->now;
        }
        for (uint32_t m = 0; m < len && alone; m++) {
            s->stamp[members[m].id] = s->now;
        }
        apart += alone;
        *ret_dead |= !left;
        if (left < fewest) {
            fewest = left;
            *ret_open = g;
        }
    }
    return apart;
}

static void mark(struct search *s, uint32_t link, bool take)
{
    const struct pd_localise_index *index = s->cover->index;
    for (uint32_t i = index->starts[link]; i < index->starts[link + 1]; i++) {
        s->covered[index->groups[i]] += take ? 1 : UINT32_MAX;
    }
    if (take) {
        s->taken[s->taken_len++] = link;
    } else {
        s->taken_len--;
    }
}

/* The link not left out with the most open signatures. */
static uint32_t widest(const struct search *s, uint32_t signature)
{
    const struct pd_localise_index *index = s->cover->index;
    uint32_t len, best = PD_NONE, most = 0;
    const struct pd_localise_member *members = members_of(s, signature, &len);
    for (uint32_t m = 0; m < len; m++) {
        uint32_t link = members[m].id, open = 0;
        for (uint32_t i = index->starts[link]; !s->is_out[link] && i < index->starts[link + 1];
             i++) {
            open += !s->covered[index->groups[i]];
        }
        if (open > most) {
            most = open;
            best = link;
        }
    }
    return best;
}

static void descend(struct search *s);

/* Each link of the signature in turn; those tried are out until all are. */
static void branch(struct search *s, uint32_t signature)
{
    uint32_t len, tried_len = 0, link;
    const struct pd_localise_member *members = members_of(s, signature, &len);
    uint32_t *tried = malloc((len + 1) * sizeof *tried);
    (void)members;
    if (!tried) {
        s->ended = true;
        return;
    }
    while (!s->ended && (link = widest(s, signature)) != PD_NONE) {
        mark(s, link, true);
        descend(s);
        mark(s, link, false);
        s->is_out[link] = true;
        tried[tried_len++] = link;
    }
    for (uint32_t i = 0; i < tried_len; i++) {
        s->is_out[tried[i]] = false;
    }
    free(tried);
}

static void descend(struct search *s)
{
    uint32_t open;
    bool dead;
    if (s->nodes++ % NODES_PER_LOOK == 0 && pd_clock_monotonic_ns() > s->until_ns) {
        s->ended = true;
    }
    size_t apart = bound(s, &open, &dead);
    if (s->ended || dead || s->taken_len + apart >= s->best_len) {
        return;
    }
    if (open == PD_NONE) {
        memcpy(s->best, s->taken, s->taken_len * sizeof *s->best);
        s->best_len = s->taken_len;
        return;
    }
    branch(s, open);
}

int pd_cover_search(const struct pd_cover *cover, uint64_t limit_ns, uint32_t *named, size_t *len,
                    bool *ret_proved)
{
    struct search s = {.cover = cover,
                       .best = named,
                       .best_len = *len,
                       .until_ns = pd_clock_monotonic_ns() + limit_ns};
    int err = search_init(&s);
    if (!err) {
        leave_out_dominated(&s);
        err = order_signatures(&s);
    }
    if (!err) {
        descend(&s);
        *len = s.best_len;
        *ret_proved = !s.ended;
    }
    search_done(&s);
    return err;
}
