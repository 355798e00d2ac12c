/* SPDX-License-Identifier: Apache-2.0 */
/* Values of hops, from a digest's fields. */
#include "codec/pint/values.h"

#include "codec/pint/formulas.h"

/* The last writer's hop, or 0. */
static unsigned writer_of(const struct pd_pint_plan *plan, const struct pd_pint_field *field,
                          uint32_t packet_id, uint16_t digest, uint32_t hops)
{
    struct pd_pint_clue clue;

    pd_pint_clue(plan, field, packet_id, digest, 1, hops, &clue);
    return (unsigned)(pd_pint_writer(&clue) + 1);
}

size_t pd_pint_values(const struct pd_pint_plan *plan, uint32_t packet_id, uint16_t digest,
                      uint32_t hops, struct pd_pint_code_at ret_codes[PD_PINT_BITS_MAX])
{
    const int number = pd_pint_set_of(plan, packet_id);
    const struct pd_pint_set *set = number < 0 ? NULL : &plan->sets[number];
    size_t len = 0;

    for (unsigned f = 0; set && f < set->fields_len; f++) {
        const struct pd_pint_field *field = &set->fields[f];
        const struct pd_pint_query *query = &plan->queries[field->query];
        const bool dynamic = query->aggregation == PD_PINT_DYNAMIC;
        const unsigned hop = dynamic ? writer_of(plan, field, packet_id, digest, hops) : 0;

        if ((dynamic && hop) || (query->aggregation == PD_PINT_PACKET && hops)) {
            ret_codes[len++] = (struct pd_pint_code_at){
                field->query, (uint8_t)hop, (uint16_t)pd_pint_field_bits(query, field, digest)};
        }
    }
    return len;
}
