/* SPDX-License-Identifier: Apache-2.0 */
/* A plan's names, the places of its fields in a digest, and its file form. */
#include "codec/pint/plan.h"

#include <stdlib.h>

const char *const pd_pint_aggregation_names[] = {"static", "dynamic", "packet", "loop", NULL};
const char *const pd_pint_function_names[] = {"max", "min", "sum", NULL};
const char *const pd_pint_rounding_names[] = {"nearest", "random", NULL};
const char *const pd_pint_coding_names[] = {"hash", "fragment", NULL};
const char *const pd_pint_carrier_names[] = {"tag", "dscp", NULL};
const char *const pd_pint_flow_names[] = {"5-tuple", "source", "racks", NULL};
const char *const pd_pint_value_names[] = {
#define X(name, id, bits) id,
    PD_PINT_VALUES(X)
#undef X
        NULL,
};

unsigned pd_pint_value_bits(enum pd_pint_value value)
{
    static const uint8_t widths[PD_PINT_VALUE_COUNT] = {
#define X(name, id, bits) bits,
        PD_PINT_VALUES(X)
#undef X
    };
    return (unsigned)value < PD_PINT_VALUE_COUNT ? widths[value] : 0;
}

unsigned pd_pint_query_bits(const struct pd_pint_query *query)
{
    return (unsigned)query->bits * query->instances + query->counter_bits;
}

void pd_pint_plan_free(struct pd_pint_plan *plan)
{
    free(plan);
}

/* ---- fields */

static int lay_out_set(const struct pd_pint_plan *plan, struct pd_pint_set *set, unsigned number,
                       struct pd_error *error)
{
    unsigned at = 0;

    set->fields_len = 0;
    for (unsigned i = 0; i < set->queries_len; i++) {
        const struct pd_pint_query *query = &plan->queries[set->queries[i]];
        if (at + pd_pint_query_bits(query) > plan->bits) {
            return pd_fail(error, -PD_E_VALUE, "sets[%u]: \"%s\" does not fit into %u bits", number,
                           query->name, plan->bits);
        }
        for (unsigned m = 0; m < query->instances; m++) {
            set->fields[set->fields_len++] =
                (struct pd_pint_field){set->queries[i], (uint8_t)m, (uint8_t)at};
            at += query->bits;
        }
        at += query->counter_bits;
    }
    return 0;
}

int pd_pint_plan_lay_out(struct pd_pint_plan *plan, struct pd_error *error)
{
    uint64_t weights = 0;

    for (unsigned i = 0; i < plan->sets_len; i++) {
        int err = lay_out_set(plan, &plan->sets[i], i, error);
        if (err) {
            return err;
        }
        weights += plan->sets[i].weight;
    }
    if (weights > PD_PINT_ONE) {
        return pd_fail(error, -PD_E_VALUE, "sets: the weights are more than %d together",
                       PD_PINT_ONE);
    }
    return 0;
}

/* ---- file form */

static json_t *list_of(const uint64_t *values, size_t len)
{
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++) {
        json_array_append_new(list, json_integer((json_int_t)values[i]));
    }
    return list;
}

static void add_static(json_t *object, const struct pd_pint_query *query)
{
    json_t *layers = json_array();

    for (unsigned i = 0; i < query->xor_len; i++) {
        json_array_append_new(layers, json_integer(query->xor_layers[i]));
    }
    json_object_set_new(object, "coding", json_string(pd_pint_coding_names[query->coding]));
    json_object_set_new(object, "bits", json_integer(query->bits));
    if (query->coding == PD_PINT_FRAGMENT) {
        json_object_set_new(object, "value_bits", json_integer(query->value_bits));
    }
    json_object_set_new(object, "instances", json_integer(query->instances));
    json_object_set_new(object, "tau", json_integer(query->tau));
    json_object_set_new(object, "xor", layers);
}

static void add_codes(json_t *object, const struct pd_pint_query *query)
{
    if (query->aggregation == PD_PINT_PACKET) {
        json_object_set_new(object, "function",
                            json_string(pd_pint_function_names[query->function]));
    }
    json_object_set_new(object, "bits", json_integer(query->bits));
    json_object_set_new(object, "rounding", json_string(pd_pint_rounding_names[query->rounding]));
    json_object_set_new(object, "values", list_of(query->values, query->codes));
    if (query->rounding == PD_PINT_NEAREST) {
        json_object_set_new(object, "bounds", list_of(query->bounds, query->codes));
    }
}

static json_t *query_json(const struct pd_pint_query *query)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", json_string(query->name));
    json_object_set_new(object, "aggregation",
                        json_string(pd_pint_aggregation_names[query->aggregation]));
    if (query->aggregation != PD_PINT_LOOP) {
        json_object_set_new(object, "value", json_string(pd_pint_value_names[query->value]));
    }
    switch (query->aggregation) {
    case PD_PINT_STATIC: add_static(object, query); break;
    case PD_PINT_DYNAMIC:
    case PD_PINT_PACKET: add_codes(object, query); break;
    case PD_PINT_LOOP:
        json_object_set_new(object, "bits", json_integer(query->bits));
        json_object_set_new(object, "threshold", json_integer(query->threshold));
        break;
    }
    if (query->flow != PD_PINT_FLOW_5_TUPLE) {
        json_object_set_new(object, "flow", json_string(pd_pint_flow_names[query->flow]));
    }
    if (query->space_bytes) {
        json_object_set_new(object, "space_bytes", json_integer((json_int_t)query->space_bytes));
    }
    return object;
}

static json_t *set_json(const struct pd_pint_plan *plan, const struct pd_pint_set *set)
{
    json_t *object = json_object(), *names = json_array();

    for (unsigned i = 0; i < set->queries_len; i++) {
        json_array_append_new(names, json_string(plan->queries[set->queries[i]].name));
    }
    json_object_set_new(object, "weight", json_integer(set->weight));
    json_object_set_new(object, "queries", names);
    return object;
}

json_t *pd_pint_plan_json(const struct pd_pint_plan *plan)
{
    json_t *root = json_object(), *queries = json_array(), *sets = json_array();

    for (unsigned i = 0; i < plan->queries_len; i++) {
        json_array_append_new(queries, query_json(&plan->queries[i]));
    }
    for (unsigned i = 0; i < plan->sets_len; i++) {
        json_array_append_new(sets, set_json(plan, &plan->sets[i]));
    }
    json_object_set_new(root, "version", json_integer(1));
    json_object_set_new(root, "seed", json_integer(plan->seed));
    json_object_set_new(root, "carrier", json_string(pd_pint_carrier_names[plan->carrier]));
    json_object_set_new(root, "bits", json_integer(plan->bits));
    if (plan->settle_ms != PD_PINT_SETTLE_MS) {
        json_object_set_new(root, "settle_ms", json_integer(plan->settle_ms));
    }
    json_object_set_new(root, "queries", queries);
    json_object_set_new(root, "sets", sets);
    return root;
}
