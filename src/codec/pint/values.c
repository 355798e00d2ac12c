/* SPDX-License-Identifier: Apache-2.0 */
/* Values of hops, from a digest's fields. */
#include "codec/pint/values.h"

/* The last writer's hop, or 0. */
static unsigned writer_of(const struct pd_pint_hops *writers)
{
    for (unsigned w = 0; w < PD_PINT_HOPS_MAX / 64; w++) {
        if (writers->words[w]) {
            return 64 * w + (unsigned)__builtin_ctzll(writers->words[w]) + 1;
        }
    }
    return 0;
}

size_t pd_pint_values(const struct pd_pint_plan *plan, const struct pd_pint_draw *draw,
                      uint16_t digest, struct pd_pint_code_at ret_codes[PD_PINT_BITS_MAX])
{
    const struct pd_pint_set *set = draw->set < 0 ? NULL : &plan->sets[draw->set];
    size_t len = 0;

    for (unsigned f = 0; set && f < set->fields_len; f++) {
        const struct pd_pint_field *field = &set->fields[f];
        const struct pd_pint_query *query = &plan->queries[field->query];
        const bool dynamic = query->aggregation == PD_PINT_DYNAMIC;
        const unsigned hop = dynamic ? writer_of(&draw->writers[f]) : 0;

        if (hop || (query->aggregation == PD_PINT_PACKET && draw->hops)) {
            ret_codes[len++] = (struct pd_pint_code_at){
                field->query, (uint8_t)hop, (uint16_t)pd_pint_field_bits(query, field, digest)};
        }
    }
    return len;
}
