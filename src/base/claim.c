/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: names of states and origins, comparison, hash. */
#include "base/claim.h"

#include "base/error.h"

static const char *const states[] = {
#define X(name, id, text) [PD_CLAIM_##name] = (id),
    PD_CLAIM_STATES(X)
#undef X
};

static const char *const origins[] = {
#define X(name, id, text) [PD_ORIGIN_##name] = (id),
    PD_ORIGINS(X)
#undef X
};

const char *pd_claim_state_id(unsigned state)
{
    return state < PD_CLAIM_STATE_COUNT ? states[state] : "unknown";
}

const char *pd_origin_id(unsigned origin)
{
    return origin < PD_ORIGIN_COUNT ? origins[origin] : "unknown";
}

static int find(const char *const *ids, unsigned len, const char *id, uint8_t *ret_number)
{
    for (unsigned i = 0; i < len; i++) {
        if (!strcmp(ids[i], id)) {
            *ret_number = (uint8_t)i;
            return 0;
        }
    }
    return -PD_E_VALUE;
}

int pd_claim_state_parse(const char *id, uint8_t *ret_state)
{
    return find(states, PD_CLAIM_STATE_COUNT, id, ret_state);
}

int pd_origin_parse(const char *id, uint8_t *ret_origin)
{
    return find(origins, PD_ORIGIN_COUNT, id, ret_origin);
}

int pd_claim_compare_rest(const struct pd_claim *a, const struct pd_claim *b)
{
    uint64_t wa = (uint64_t)a->origin << 40 | (uint64_t)a->state << 32 | a->candidates;
    uint64_t wb = (uint64_t)b->origin << 40 | (uint64_t)b->state << 32 | b->candidates;

    return wa != wb ? (wa < wb ? -1 : 1) : pd_mark_compare(&a->mark, &b->mark);
}

bool pd_claim_equal(const struct pd_claim *a, const struct pd_claim *b)
{
    return !pd_claim_compare_rest(a, b) && pd_path_equal(a->path, b->path);
}

uint64_t pd_claim_hash(const struct pd_claim *claim)
{
    uint64_t rest = (uint64_t)claim->candidates << 16 | (uint64_t)claim->state << 8 | claim->origin;

    return pd_hash_mix(pd_path_hash(claim->path) ^ pd_hash_mix(rest ^ pd_mark_hash(&claim->mark)));
}
