/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to what one switch looks up of it. */
#include "codec/pint/tables.h"

#include <errno.h>

#include "codec/pint/encode.h"

#define FIELDS_MAX 4
#define HOPS_MAX   255
#define LAYERS     16u  /* of a query, in pint_starts and pint_below */
#define CODES      256u /* likewise in pint_steps and pint_values */

/* What a field does, as programs number it. */
enum kind { KIND_HASH = 1, KIND_FRAGMENT, KIND_DYNAMIC, KIND_MAX, KIND_MIN, KIND_SUM, KIND_LOOP };

static enum kind kind_of(const struct pd_pint_query *query)
{
    static const enum kind functions[] = {
        [PD_PINT_MAX] = KIND_MAX, [PD_PINT_MIN] = KIND_MIN, [PD_PINT_SUM] = KIND_SUM};
    switch (query->aggregation) {
    case PD_PINT_STATIC: return query->coding == PD_PINT_FRAGMENT ? KIND_FRAGMENT : KIND_HASH;
    case PD_PINT_DYNAMIC: return KIND_DYNAMIC;
    case PD_PINT_PACKET: return functions[query->function];
    default: return KIND_LOOP;
    }
}

static void add_field(struct pd_tables *tables, const struct pd_pint_plan *plan, unsigned set,
                      unsigned nth)
{
    static const char *const names[FIELDS_MAX] = {"pint_field1", "pint_field2", "pint_field3",
                                                  "pint_field4"};
    const struct pd_pint_field *field = &plan->sets[set].fields[nth];
    const struct pd_pint_query *query = &plan->queries[field->query];
    struct pd_tables_row *row = pd_tables_add(tables, names[nth], 0, "field");
    pd_tables_match(row, "set", set, PD_TABLES_EXACT);
    pd_tables_argument(row, "kind", kind_of(query));
    pd_tables_argument(row, "tag", pd_pint_tag(field));
    pd_tables_argument(row, "at", field->shift);
    pd_tables_argument(row, "field_mask", (1u << (query->bits + query->counter_bits)) - 1);
    pd_tables_argument(row, "own_bits", query->bits);
    pd_tables_argument(row, "own_mask", (1u << query->bits) - 1);
    pd_tables_argument(row, "value_kind", query->value + 1u);
    pd_tables_argument(row, "rounding", query->rounding == PD_PINT_RANDOM);
    pd_tables_argument(row, "tau", query->tau);
    pd_tables_argument(row, "layers", query->xor_len);
    pd_tables_argument(row, "fragments", query->fragments);
    pd_tables_argument(row, "codes", query->codes);
    pd_tables_argument(row, "threshold", query->threshold);
}

static int add_sets(struct pd_tables *tables, const struct pd_pint_plan *plan,
                    struct pd_error *error)
{
    uint32_t below = 0;
    for (unsigned set = 0; set < plan->sets_len; set++) {
        if (plan->sets[set].fields_len > FIELDS_MAX) {
            return pd_fail(error, -PD_E_UNSUPPORTED,
                           "sets[%u]: %u fields, but switch programs have %d", set,
                           plan->sets[set].fields_len, FIELDS_MAX);
        }
        pd_tables_number(tables, "pint_sets", set, below);
        below += plan->sets[set].weight;
        for (unsigned nth = 0; nth < plan->sets[set].fields_len; nth++) {
            add_field(tables, plan, set, nth);
        }
    }
    pd_tables_number(tables, "pint_sets", plan->sets_len, below);
    return 0;
}

/* Layer j begins behind j of so many equal parts of what is no Baseline. */
static void add_layers(struct pd_tables *tables, const struct pd_pint_query *query, unsigned nth)
{
    const uint32_t room = PD_PINT_ONE - query->tau, len = query->xor_len;
    for (unsigned j = 0; j < len; j++) {
        pd_tables_number(tables, "pint_starts", LAYERS * nth + j,
                         query->tau + (j * room + len - 1) / len);
        pd_tables_number(tables, "pint_below", LAYERS * nth + j, query->xor_layers[j]);
    }
}

static void add_codes(struct pd_tables *tables, const struct pd_pint_query *query, unsigned nth)
{
    for (unsigned code = 0; code < query->codes; code++) {
        pd_tables_number(tables, "pint_steps", CODES * nth + code,
                         query->rounding == PD_PINT_RANDOM ? query->values[code]
                                                           : query->bounds[code]);
        pd_tables_number(tables, "pint_values", CODES * nth + code, query->values[code]);
    }
}

int pd_pint_tables(const struct pd_pint_plan *plan, uint32_t switch_id, struct pd_tables *tables,
                   struct pd_error *error)
{
    const uint64_t head[] = {plan->seed, plan->carrier, switch_id, 0, plan->sets_len};
    for (unsigned i = 0; i < sizeof head / sizeof *head; i++) {
        pd_tables_number(tables, "pint", i, head[i]);
    }
    for (unsigned hop = 1; hop <= HOPS_MAX; hop++) {
        pd_tables_number(tables, "pint_reservoir", hop, PD_PINT_ONE / hop);
    }
    for (unsigned i = 0; i < plan->queries_len; i++) {
        add_layers(tables, &plan->queries[i], i);
        add_codes(tables, &plan->queries[i], i);
    }
    int err = add_sets(tables, plan, error);
    return err ? err : pd_tables_error(tables);
}
