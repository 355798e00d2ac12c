/* SPDX-License-Identifier: Apache-2.0 */
/* The localisers `binary` and `integer`: signatures in, a cover out. */
#include "localise/cover/cover.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct options {
    uint64_t time_limit_ms;
};

struct covering {
    struct pd_localiser head;
    struct options options;
    bool exact;
    struct pd_localise_groups signatures;
    struct pd_localise_member *members; /* of the signature at hand */
    bool *is_in;                        /* by link, of the signature at hand */
    struct pd_verdict_link *named, *ranking;
    double *drops; /* by link: packets that it dropped */
    bool proved;
};

static const struct pd_option integer_options[] = {
    {.name = "time-limit-ms",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct options, time_limit_ms),
     .min = 1,
     .max = 3600000,
     .value = "MS",
     .fallback = "10000",
     .help = "longest search; what was found by then is the answer, and not proved"},
    {0},
};

static void free_covering(struct pd_localiser *localiser)
{
    struct covering *c = (struct covering *)localiser;
    pd_localise_groups_done(&c->signatures);
    free(c->members);
    free(c->is_in);
    free(c->named);
    free(c->ranking);
    free(c->drops);
    free(c);
}

static int new_covering(const struct pd_localiser_config *config, bool exact,
                        struct pd_localiser **ret_localiser)
{
    struct covering *c = calloc(1, sizeof *c);
    if (!c) {
        return -ENOMEM;
    }
    c->exact = exact;
    if (exact) {
        c->options = *(const struct options *)config->options;
    }
    *ret_localiser = &c->head;
    return 0;
}

static int new_binary(const struct pd_localiser_config *config, struct pd_localiser **ret_localiser)
{
    return new_covering(config, false, ret_localiser);
}

static int new_integer(const struct pd_localiser_config *config,
                       struct pd_localiser **ret_localiser)
{
    return new_covering(config, true, ret_localiser);
}

/* ---- signatures ---- */

static int reserve(struct covering *c)
{
    size_t len = (size_t)c->head.network->links_len + 1;
    if (!c->members) {
        c->members = calloc(len, sizeof *c->members);
    }
    if (!c->is_in) {
        c->is_in = calloc(len, sizeof *c->is_in);
    }
    if (!c->named) {
        c->named = calloc(len, sizeof *c->named);
    }
    if (!c->ranking) {
        c->ranking = calloc(len, sizeof *c->ranking);
    }
    if (!c->drops) {
        c->drops = calloc(len, sizeof *c->drops);
    }
    return c->members && c->is_in && c->named && c->ranking && c->drops ? 0 : -ENOMEM;
}

static int take_row(struct pd_localiser *localiser, const struct pd_localise_row *row)
{
    struct covering *c = (struct covering *)localiser;
    size_t len = 0;
    if (!row->row->lost || !row->hops_len) {
        return 0;
    }
    for (size_t h = 0; h < row->hops_len; h++) {
        uint32_t link = row->hops[h].link;
        if (!c->is_in[link]) {
            c->members[len++] = (struct pd_localise_member){.id = link};
            c->is_in[link] = true;
        }
    }
    for (size_t i = 0; i < len; i++) {
        c->is_in[c->members[i].id] = false;
    }
    int err =
        pd_localise_groups_add(&c->signatures, c->members, len, 0, (double)row->row->lost, NULL);
    localiser->counters.signatures += !err;
    localiser->counters.spread += !err && row->ways_len > 1;
    if (err == -PD_E_FULL) {
        localiser->counters.dropped++;
        err = 0;
    }
    return err;
}

static int observe(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    int err = reserve((struct covering *)localiser);
    return err ? err : pd_localise_each(localiser, period, take_row);
}

/* ---- Algorithm 2 ---- */

int pd_cover_greedy(const struct pd_cover *cover, uint32_t *ret_named, size_t *ret_len)
{
    const struct pd_localise_groups *signatures = cover->signatures;
    double *crossing = calloc((size_t)cover->links_len + 1, sizeof *crossing);
    bool *explained = calloc(signatures->len + 1, sizeof *explained);
    size_t len = 0;
    for (size_t m = 0, g = 0; crossing && explained && g < signatures->len; g++) {
        for (uint32_t i = 0; i < signatures->groups[g].len; i++, m++) {
            crossing[signatures->members[m].id] += signatures->groups[g].count;
        }
    }
    for (uint32_t best = 0; crossing && explained && best != PD_NONE;) {
        best = PD_NONE;
        for (uint32_t l = 0; l < cover->links_len; l++) {
            if (crossing[l] > (best == PD_NONE ? 0 : crossing[best])) {
                best = l;
            }
        }
        if (best == PD_NONE) {
            break;
        }
        ret_named[len++] = best;
        for (uint32_t i = cover->index->starts[best]; i < cover->index->starts[best + 1]; i++) {
            uint32_t g = cover->index->groups[i];
            const struct pd_localise_group *signature = &signatures->groups[g];
            for (uint32_t m = 0; !explained[g] && m < signature->len; m++) {
                crossing[signatures->members[signature->first + m].id] -= signature->count;
            }
            explained[g] = true;
        }
    }
    int err = crossing && explained ? 0 : -ENOMEM;
    free(crossing);
    free(explained);
    *ret_len = len;
    return err;
}

/* ---- the verdict ---- */

/* Each flow's losses to the named link of its signature that explains most. */
static void give_drops(struct covering *c, const struct pd_cover *cover, const uint32_t *named,
                       size_t len)
{
    double *explains = calloc((size_t)cover->links_len + 1, sizeof *explains);
    memset(c->drops, 0, cover->links_len * sizeof *c->drops);
    for (size_t i = 0; i < len && explains; i++) {
        for (uint32_t g = cover->index->starts[named[i]]; g < cover->index->starts[named[i] + 1];
             g++) {
            explains[named[i]] += cover->signatures->groups[cover->index->groups[g]].lost;
        }
    }
    for (size_t g = 0; g < c->signatures.len && explains; g++) {
        const struct pd_localise_group *signature = &c->signatures.groups[g];
        const struct pd_localise_member *members = &c->signatures.members[signature->first];
        uint32_t best = members[0].id;
        for (uint32_t m = 1; m < signature->len; m++) {
            best = explains[members[m].id] > explains[best] ? members[m].id : best;
        }
        c->drops[best] += signature->lost;
    }
    free(explains);
}

static double fill(struct covering *c, const uint32_t *named, size_t len)
{
    double total = 0;
    for (size_t i = 0; i < len; i++) {
        const struct pd_localise_ends *ends = &c->head.network->ends[named[i]];
        c->named[i] = (struct pd_verdict_link){ends->from, ends->to, -1, c->drops[named[i]]};
        total += c->drops[named[i]];
    }
    qsort(c->named, len, sizeof *c->named, pd_localise_by_ids);
    memcpy(c->ranking, c->named, len * sizeof *c->named);
    qsort(c->ranking, len, sizeof *c->ranking, pd_localise_by_score);
    return total;
}

static int find_cover(struct covering *c, const struct pd_cover *cover, uint32_t *named,
                      size_t *ret_len)
{
    int err = pd_cover_greedy(cover, named, ret_len);
    if (!err && c->exact) {
        err = pd_cover_search(cover, c->options.time_limit_ms * PD_NS_PER_MS, named, ret_len,
                              &c->proved);
    }
    return err;
}

static int locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    struct covering *c = (struct covering *)localiser;
    struct pd_localise_index index = {0};
    uint32_t links = localiser->network->links_len,
             *named = calloc((size_t)links + 1, sizeof *named);
    size_t len = 0;
    int err = named ? reserve(c) : -ENOMEM;
    err = err ? err : pd_localise_index_init(&c->signatures, links, &index);
    if (!err) {
        const struct pd_cover cover = {&c->signatures, &index, links};
        err = find_cover(c, &cover, named, &len);
        if (!err) {
            give_drops(c, &cover, named, len);
            double total = fill(c, named, len);
            *ret_verdict = (struct pd_verdict){.links = c->named,
                                               .links_len = len,
                                               .ranking = c->ranking,
                                               .ranking_len = len,
                                               .total = total};
        }
    }
    pd_localise_index_done(&index);
    free(named);
    return err;
}

static void describe(const struct pd_localiser *localiser, json_t *answer)
{
    const struct covering *c = (const struct covering *)localiser;
    json_object_set_new(answer, "proved", json_boolean(c->proved));
}

extern const struct pd_localiser_ops pd_localiser_binary, pd_localiser_integer;

const struct pd_localiser_ops pd_localiser_binary = {
    .name = "binary",
    .help = "few links that explain every flow that suffered, greedily: a baseline",
    .kinds = PD_EVIDENCE_FLOW,
    .new = new_binary,
    .free = free_covering,
    .observe = observe,
    .locate = locate,
};

const struct pd_localiser_ops pd_localiser_integer = {
    .name = "integer",
    .help = "the fewest links that explain every flow that suffered, exactly: a baseline",
    .kinds = PD_EVIDENCE_FLOW,
    .options = integer_options,
    .options_bytes = sizeof(struct options),
    .new = new_integer,
    .free = free_covering,
    .observe = observe,
    .locate = locate,
    .describe = describe,
};
