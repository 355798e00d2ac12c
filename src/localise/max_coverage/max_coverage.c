/* SPDX-License-Identifier: Apache-2.0 */
/* MAX-COVERAGE over failure signatures: the paper's localiser, kept as the baseline. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "localise/links.h"
#include "localise/localise.h"

/* Paper 000, section 2.3 (its [23]): a signature is the path of a flow that "suffers serious
 * retransmissions". Greedily take the link that most signatures still unexplained cross, with all
 * that tie with it, and go on until each is explained.
 *
 * Two retransmissions in one period make a signature (the paper: "repeatedly retransmit"). A flow
 * over several paths gives one signature of all its links. Deviation: none in the cover; greedy
 * stops at PD_LOCALISE_NAMED_MAX links. As plain as this it has no notion of noise, so that it
 * never is `certain`; its confidence is the share of signatures that its smallest link explains
 * more than one would.
 *
 * Signatures with the same links are kept once, with a count, so that a long run does not grow. */

enum { RETRANSMISSIONS_MIN = 2 };

struct signature {
    uint64_t hash;
    uint32_t first; /* of its links in `members` */
    uint32_t links_len;
    uint32_t count; /* 0: empty slot */
};

struct max_coverage {
    struct pd_localiser head;
    struct pd_links links;
    struct signature *signatures; /* in the order of arrival */
    uint32_t *slots;              /* number + 1 of a signature, by hash */
    uint32_t signatures_len, signatures_room;
    uint32_t *members; /* links of all signatures */
    size_t members_len, members_room;
    uint32_t *scratch; /* links of the signature being taken in */
    size_t scratch_room;
};

static void free_max_coverage(struct pd_localiser *localiser)
{
    struct max_coverage *mc = (struct max_coverage *)localiser;
    pd_links_done(&mc->links);
    free(mc->signatures);
    free(mc->slots);
    free(mc->members);
    free(mc->scratch);
    free(mc);
}

static int new_max_coverage(const struct pd_localiser_config *config,
                            struct pd_localiser **ret_localiser)
{
    struct max_coverage *mc = calloc(1, sizeof *mc);
    (void)config;
    if (!mc) {
        return -ENOMEM;
    }
    *ret_localiser = &mc->head;
    return 0;
}

/* ---- taking signatures in */

static int reserve_members(struct max_coverage *mc, size_t len)
{
    if (mc->members_len + len <= mc->members_room) {
        return 0;
    }
    size_t room = (mc->members_len + len) * 2;
    uint32_t *members = realloc(mc->members, room * sizeof *members);
    if (!members) {
        return -ENOMEM;
    }
    mc->members = members;
    mc->members_room = room;
    return 0;
}

static uint32_t find_slot(const struct max_coverage *mc, uint64_t hash, const uint32_t *links,
                          size_t len)
{
    uint32_t mask = 2 * mc->signatures_room - 1, at = (uint32_t)hash & mask;
    for (; mc->slots[at]; at = (at + 1) & mask) {
        const struct signature *there = &mc->signatures[mc->slots[at] - 1];
        if (there->hash == hash && there->links_len == len &&
            !memcmp(mc->members + there->first, links, len * sizeof *links)) {
            break;
        }
    }
    return at;
}

static int grow(struct max_coverage *mc)
{
    uint32_t room = mc->signatures_room ? mc->signatures_room * 2 : 256;
    struct signature *signatures = realloc(mc->signatures, room * sizeof *signatures);
    if (!signatures) {
        return -ENOMEM;
    }
    mc->signatures = signatures;
    uint32_t *slots = calloc(2 * (size_t)room, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    free(mc->slots);
    mc->slots = slots;
    mc->signatures_room = room;
    for (uint32_t i = 0; i < mc->signatures_len; i++) {
        const struct signature *s = &signatures[i];
        slots[find_slot(mc, s->hash, mc->members + s->first, s->links_len)] = i + 1;
    }
    return 0;
}

static int take_links(struct max_coverage *mc, const uint32_t *links, size_t len)
{
    uint64_t hash = pd_hash(links, len * sizeof *links);
    int code = 0;
    if (mc->signatures_len >= PD_LOCALISE_SIGNATURES_MAX) {
        mc->head.counters.dropped++;
        return 0;
    }
    if (mc->signatures_len == mc->signatures_room) {
        code = grow(mc);
    }
    if (!code) {
        code = reserve_members(mc, len);
    }
    if (code) {
        return code;
    }
    uint32_t slot = find_slot(mc, hash, links, len);
    if (!mc->slots[slot]) {
        mc->signatures[mc->signatures_len++] = (struct signature){
            .hash = hash, .first = (uint32_t)mc->members_len, .links_len = (uint32_t)len};
        mc->slots[slot] = mc->signatures_len;
        memcpy(mc->members + mc->members_len, links, len * sizeof *links);
        mc->members_len += len;
    }
    mc->signatures[mc->slots[slot] - 1].count++;
    mc->head.counters.signatures++;
    return 0;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Numbers of the links of all its paths into `scratch`, ascending, each once. */
static int number_links(struct max_coverage *mc, const struct pd_observation *flow, size_t *ret_len)
{
    size_t len = 0, kept = 0;
    if (flow->records_len * PD_PATH_MAX > mc->scratch_room) {
        uint32_t *scratch = realloc(mc->scratch, flow->records_len * PD_PATH_MAX * sizeof *scratch);
        if (!scratch) {
            return -ENOMEM;
        }
        mc->scratch = scratch;
        mc->scratch_room = flow->records_len * PD_PATH_MAX;
    }
    for (size_t r = 0; r < flow->records_len; r++) {
        const struct pd_path *path = flow->records[r].path;
        if (!pd_localiser_knows(&mc->head, path)) {
            continue;
        }
        for (unsigned i = 1; i < path->len; i++) {
            int code =
                pd_links_add(&mc->links, pd_link_key(path->switches[i - 1], path->switches[i]),
                             &mc->scratch[len]);
            if (code) {
                return code;
            }
            len++;
        }
    }
    if (len) {
        qsort(mc->scratch, len, sizeof *mc->scratch, compare_numbers);
    }
    for (size_t i = 0; i < len; i++) {
        if (!i || mc->scratch[i] != mc->scratch[i - 1]) {
            mc->scratch[kept++] = mc->scratch[i];
        }
    }
    *ret_len = kept;
    return 0;
}

static int observe(struct pd_localiser *localiser, const struct pd_observation *observations,
                   size_t observations_len)
{
    struct max_coverage *mc = (struct max_coverage *)localiser;
    int code = 0;
    for (size_t i = 0; i < observations_len && !code; i++) {
        size_t len = 0;
        localiser->counters.flows++;
        if (observations[i].retransmissions < RETRANSMISSIONS_MIN) {
            continue;
        }
        code = number_links(mc, &observations[i], &len);
        if (!code && len) {
            code = take_links(mc, mc->scratch, len);
        } else if (!code) {
            localiser->counters.unknown++;
        }
    }
    return code;
}

/* ---- the cover */

struct cover {
    uint64_t *crossing; /* per link: unexplained signatures that cross it */
    uint32_t *starts;   /* per link: its first entry in `inverted` */
    uint32_t *inverted; /* signatures of each link */
    bool *explained;    /* per signature */
    uint64_t open;      /* signatures not yet explained */
    uint64_t least;     /* that a link named explained */
};

static void cover_done(struct cover *cover)
{
    free(cover->crossing);
    free(cover->starts);
    free(cover->inverted);
    free(cover->explained);
}

static int cover_init(const struct max_coverage *mc, struct cover *ret_cover)
{
    size_t links_len = mc->links.len;
    struct cover c = {.crossing = calloc(links_len + 1, sizeof *c.crossing),
                      .starts = calloc(links_len + 2, sizeof *c.starts),
                      .inverted = calloc(mc->members_len + 1, sizeof *c.inverted),
                      .explained = calloc(mc->signatures_len + 1, sizeof *c.explained)};
    *ret_cover = c;
    if (!c.crossing || !c.starts || !c.inverted || !c.explained) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < mc->members_len; i++) {
        c.starts[mc->members[i] + 2]++;
    }
    for (size_t l = 2; l <= links_len + 1; l++) {
        c.starts[l] += c.starts[l - 1];
    }
    for (uint32_t s = 0; s < mc->signatures_len; s++) {
        const struct signature *signature = &mc->signatures[s];
        ret_cover->open += signature->count;
        for (uint32_t i = 0; i < signature->links_len; i++) {
            uint32_t link = mc->members[signature->first + i];
            c.inverted[c.starts[link + 1]++] = s;
            c.crossing[link] += signature->count;
        }
    }
    return 0;
}

/* All signatures over this link are explained now. */
static void explain(const struct max_coverage *mc, struct cover *cover, uint32_t link)
{
    for (uint32_t i = cover->starts[link]; i < cover->starts[link + 1]; i++) {
        uint32_t s = cover->inverted[i];
        const struct signature *signature = &mc->signatures[s];
        if (cover->explained[s]) {
            continue;
        }
        cover->explained[s] = true;
        cover->open -= signature->count;
        for (uint32_t m = 0; m < signature->links_len; m++) {
            cover->crossing[mc->members[signature->first + m]] -= signature->count;
        }
    }
}

/* Names the links that `most` unexplained signatures cross; those that tie are looked up before any
 * is taken. */
static void name_best(const struct max_coverage *mc, struct cover *cover, uint64_t most,
                      struct pd_verdict *verdict)
{
    uint32_t tied[PD_LOCALISE_NAMED_MAX];
    size_t tied_len = 0;
    for (size_t l = 0; l < mc->links.len; l++) {
        if (cover->crossing[l] == most && verdict->links_len + tied_len < PD_LOCALISE_NAMED_MAX) {
            tied[tied_len++] = (uint32_t)l;
        }
    }
    for (size_t i = 0; i < tied_len; i++) {
        uint64_t key = mc->links.keys[tied[i]];
        verdict->links[verdict->links_len++] =
            (struct pd_verdict_link){.from = (uint32_t)(key >> 32), .to = (uint32_t)key};
        explain(mc, cover, tied[i]);
    }
    cover->least = most;
}

static int compare_links(const void *a, const void *b)
{
    const struct pd_verdict_link *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (x->to > y->to) - (x->to < y->to);
}

static int locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    const struct max_coverage *mc = (const struct max_coverage *)localiser;
    struct pd_verdict verdict = {.links_len = 0};
    struct cover cover;
    int code = cover_init(mc, &cover);
    while (!code && cover.open && verdict.links_len < PD_LOCALISE_NAMED_MAX) {
        uint64_t most = 0;
        for (size_t l = 0; l < mc->links.len; l++) {
            most = cover.crossing[l] > most ? cover.crossing[l] : most;
        }
        name_best(mc, &cover, most, &verdict);
    }
    uint64_t least = cover.least;
    cover_done(&cover);
    if (code) {
        return code;
    }
    if (verdict.links_len) {
        qsort(verdict.links, verdict.links_len, sizeof *verdict.links, compare_links);
        verdict.confidence = 1 - 1 / (double)least;
    }
    *ret_verdict = verdict;
    return 0;
}

const struct pd_localiser_ops pd_localiser_max_coverage = {
    .name = "max-coverage",
    .help = "MAX-COVERAGE over failure signatures, as the paper has it",
    .new = new_max_coverage,
    .free = free_max_coverage,
    .observe = observe,
    .locate = locate,
};
