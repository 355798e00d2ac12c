/* SPDX-License-Identifier: Apache-2.0 */
/* MAX-COVERAGE over failure signatures: the paper's localiser, kept as the baseline. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "localise/network.h"

/* Paper 000, section 2.3 (its [23]): a signature is the path of a flow that "suffers serious
 * retransmissions". Greedily take the link that most signatures still unexplained cross, with all
 * that tie with it, and go on until each is explained.
 *
 * Two retransmissions in one period make a signature (the paper: "repeatedly retransmit"). A flow
 * over several paths gives one signature of all its links, and so does one whose path has a gap;
 * links of hosts are not looked at. Deviation: none in the cover. As plain as this it has no notion
 * of noise, so that it never is `certain`; its confidence is the share of signatures that its
 * smallest link explains more than one would.
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
    struct signature *signatures; /* in the order of arrival */
    uint32_t *slots;              /* number + 1 of a signature, by hash */
    uint32_t signatures_len, signatures_room;
    uint32_t *members; /* links of all signatures */
    size_t members_len, members_room;
    uint32_t *scratch; /* links of the signature being taken in */
    size_t scratch_room;
    struct pd_verdict_link *named; /* of the last verdict */
};

static void free_max_coverage(struct pd_localiser *localiser)
{
    struct max_coverage *mc = (struct max_coverage *)localiser;
    free(mc->signatures);
    free(mc->slots);
    free(mc->members);
    free(mc->scratch);
    free(mc->named);
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
    uint32_t room = mc->signatures_room;
    if (PD_GROW(mc->signatures, room, room ? (size_t)room + 1 : 256)) {
        return -ENOMEM;
    }
    uint32_t *slots = calloc(2 * (size_t)room, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    free(mc->slots);
    mc->slots = slots;
    mc->signatures_room = room;
    for (uint32_t i = 0; i < mc->signatures_len; i++) {
        const struct signature *s = &mc->signatures[i];
        slots[find_slot(mc, s->hash, mc->members + s->first, s->links_len)] = i + 1;
    }
    return 0;
}

static int take_links(struct max_coverage *mc, const uint32_t *links, size_t len)
{
    uint64_t hash = pd_hash(links, len * sizeof *links);
    int err = 0;
    if (mc->signatures_len >= PD_LOCALISE_SIGNATURES_MAX) {
        mc->head.counters.dropped++;
        return 0;
    }
    if (mc->signatures_len == mc->signatures_room) {
        err = grow(mc);
    }
    if (!err) {
        err = PD_GROW(mc->members, mc->members_room, mc->members_len + len);
    }
    if (err) {
        return err;
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

/* The links that its packets may have crossed into `scratch`, ascending, each once. */
static int gather_links(struct max_coverage *mc, const struct pd_localise_row *row, size_t *ret_len)
{
    const struct pd_localise_network *network = mc->head.network;
    size_t len = 0, kept = 0;
    if (PD_GROW(mc->scratch, mc->scratch_room, row->hops_len)) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < row->hops_len; i++) {
        if (!network->ends[row->hops[i].link].is_access) {
            mc->scratch[len++] = row->hops[i].link;
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

static int take_row(struct pd_localiser *localiser, const struct pd_localise_row *row)
{
    struct max_coverage *mc = (struct max_coverage *)localiser;
    size_t len = 0;
    if (row->row->lost < RETRANSMISSIONS_MIN) {
        return 0;
    }
    int err = gather_links(mc, row, &len);
    return err || !len ? err : take_links(mc, mc->scratch, len);
}

static int observe(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    return pd_localise_each(localiser, period, take_row);
}

/* ---- the cover */

struct cover {
    uint64_t *crossing; /* per link: unexplained signatures that cross it */
    uint32_t *starts;   /* per link: its first entry in `inverted` */
    uint32_t *inverted; /* signatures of each link */
    bool *explained;    /* per signature */
    uint64_t open;      /* signatures not yet explained */
    uint64_t least;     /* that a link named explained */
    uint32_t *named;    /* links, in the order named */
    size_t named_len;
};

static void cover_done(struct cover *cover)
{
    free(cover->crossing);
    free(cover->starts);
    free(cover->inverted);
    free(cover->explained);
    free(cover->named);
}

static int cover_init(const struct max_coverage *mc, struct cover *ret_cover)
{
    size_t links_len = mc->head.network->links_len;
    struct cover c = {.crossing = calloc(links_len + 1, sizeof *c.crossing),
                      .starts = calloc(links_len + 2, sizeof *c.starts),
                      .inverted = calloc(mc->members_len + 1, sizeof *c.inverted),
                      .explained = calloc(mc->signatures_len + 1, sizeof *c.explained),
                      .named = calloc(links_len + 1, sizeof *c.named)};
    *ret_cover = c;
    if (!c.crossing || !c.starts || !c.inverted || !c.explained || !c.named) {
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
static void name_best(const struct max_coverage *mc, struct cover *cover, uint64_t most)
{
    size_t before = cover->named_len;
    for (uint32_t l = 0; l < mc->head.network->links_len; l++) {
        if (cover->crossing[l] == most) {
            cover->named[cover->named_len++] = l;
        }
    }
    for (size_t i = before; i < cover->named_len; i++) {
        explain(mc, cover, cover->named[i]);
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

/* The links named into memory of the localiser. */
static int keep_named(struct max_coverage *mc, const struct cover *cover)
{
    struct pd_verdict_link *links = calloc(cover->named_len + 1, sizeof *links);
    if (!links) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < cover->named_len; i++) {
        const struct pd_localise_ends *ends = &mc->head.network->ends[cover->named[i]];
        links[i] = (struct pd_verdict_link){.from = ends->from, .to = ends->to, .loss = -1};
    }
    qsort(links, cover->named_len, sizeof *links, compare_links);
    free(mc->named);
    mc->named = links;
    return 0;
}

static int locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    struct max_coverage *mc = (struct max_coverage *)localiser;
    struct cover cover;
    int err = cover_init(mc, &cover);
    while (!err && cover.open) {
        uint64_t most = 0;
        for (size_t l = 0; l < mc->head.network->links_len; l++) {
            most = cover.crossing[l] > most ? cover.crossing[l] : most;
        }
        name_best(mc, &cover, most);
    }
    err = err ? err : keep_named(mc, &cover);
    if (!err) {
        *ret_verdict =
            (struct pd_verdict){.links = mc->named,
                                .links_len = cover.named_len,
                                .confidence = cover.named_len ? 1 - 1 / (double)cover.least : 0};
    }
    cover_done(&cover);
    return err;
}

extern const struct pd_localiser_ops pd_localiser_max_coverage;

const struct pd_localiser_ops pd_localiser_max_coverage = {
    .name = "max-coverage",
    .help = "MAX-COVERAGE over failure signatures, as the paper has it",
    .kinds = PD_EVIDENCE_FLOW,
    .new = new_max_coverage,
    .free = free_max_coverage,
    .observe = observe,
    .locate = locate,
};
