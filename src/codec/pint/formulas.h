/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of PINT: what a switch does with a digest, and what a receiver works out from one.
 */
#ifndef PD_CODEC_PINT_FORMULAS_H
#define PD_CODEC_PINT_FORMULAS_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/pint/plan.h"
#include "packet/lookup3.h"

/* Paper 002, sections 4.1 to 4.3 and algorithms 1 and 2; all random choices are hashes J of the
 * packet ID P, so that switches and receiver make the same ones without a word between them.
 * Deviations, with their reasons, stand in docs/formats/pint.md: the hop is part of h, lookup3 in
 * place of a CRC, loops have a query of their own. `tag` is 256 n + m: query n, instance m.
 *
 * Thread safety: pure. */

#define PD_PINT_HOPS_MAX 128 /* switches of a path that is worked out */

/* Which switches of a path: bit p of word p / 64 is the switch at place p, from 0. */
struct pd_pint_hops {
    uint64_t words[PD_PINT_HOPS_MAX / 64];
};

static inline bool pd_pint_hops_has(const struct pd_pint_hops *hops, unsigned place)
{
    return hops->words[place / 64] >> place % 64 & 1;
}

static inline uint32_t pd_pint_tag(const struct pd_pint_field *field)
{
    return 256u * field->query + field->instance;
}

/* Which set the packet is for: its index, or -1. */
int pd_pint_set_of(const struct pd_pint_plan *plan, uint32_t packet_id);

/* Whether hop number i writes where the last writer wins: probability 1 / i. */
static inline bool pd_pint_writes(uint32_t seed, uint32_t packet_id, uint32_t tag, uint32_t hop)
{
    return pd_lookup3_3(seed + 3, packet_id, tag, hop) >> 16 < PD_PINT_ONE / hop;
}

/* Layer of a static query for this packet: -1 Baseline, else the XOR layer, from 0. */
int pd_pint_layer(const struct pd_pint_plan *plan, const struct pd_pint_query *query,
                  uint32_t packet_id, uint32_t tag);

/* What switch `sw` at hop i contributes to a static query's bits. Hash coding does not look at
 * `value`. */
uint32_t pd_pint_static_bits(const struct pd_pint_plan *plan, const struct pd_pint_query *query,
                             uint32_t packet_id, uint32_t tag, uint32_t sw, uint32_t hop,
                             uint64_t value);

/* The code of a value that was measured (section 4.3). */
unsigned pd_pint_code(const struct pd_pint_plan *plan, unsigned query, uint32_t packet_id,
                      uint32_t hop, uint64_t value);

/* ---- a switch */

/* What a switch knows when a packet comes in. */
struct pd_pint_visit {
    uint32_t packet_id;
    uint32_t sw;            /* its ID */
    uint32_t hop;           /* from the TTL, from 1 */
    bool first;             /* no digest on the packet yet, or one that a host put there */
    const uint64_t *values; /* of each query of the plan; the ID is taken for switch-id */
};

/* Changes the digest. True: the packet loops, is to be reported and dropped. */
bool pd_pint_switch(const struct pd_pint_plan *plan, const struct pd_pint_visit *visit,
                    uint16_t *digest);

/* ---- a receiver */

/* One field of a digest that `len` switches may have written, the first of them as hop number
 * `first_hop`. */
struct pd_pint_clue {
    uint32_t packet_id;
    uint32_t tag;
    const struct pd_pint_query *query;
    uint32_t first_hop;
    uint32_t bits;            /* as they arrived */
    bool last_writer;         /* of `hops` there is one switch, whose bits these are; none: 0 */
    struct pd_pint_hops hops; /* whose contributions, XORed, are the bits */
};

/* Works out the clue of a field of a static or dynamic query. */
void pd_pint_clue(const struct pd_pint_plan *plan, const struct pd_pint_field *field,
                  uint32_t packet_id, uint16_t digest, unsigned first_hop, unsigned len,
                  struct pd_pint_clue *ret_clue);

/* The only place of a last writer's clue, or -1. */
int pd_pint_writer(const struct pd_pint_clue *clue);

static inline uint32_t pd_pint_field_bits(const struct pd_pint_query *query,
                                          const struct pd_pint_field *field, uint16_t digest)
{
    return (uint32_t)digest >> field->shift & ((1u << query->bits) - 1);
}

#endif
