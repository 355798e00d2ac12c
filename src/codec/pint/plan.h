/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled plan of PINT: which queries share a packet's digest, and how each is encoded. */
#ifndef PD_CODEC_PINT_PLAN_H
#define PD_CODEC_PINT_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* After paper 002 (PINT, SIGCOMM 2020), sections 3.3 and 3.4. Switches and receivers hold the same
 * plan; nothing but the digest travels with a packet. docs/formats/pint.md describes the file and
 * the formulas. Immutable once read, so any number of threads may use it.
 *
 * Plans come from files and over the network: every number is checked, an unknown key is an error,
 * since a plan that is understood by halves gives wrong paths. */

#define PD_PINT_QUERIES_MAX   16
#define PD_PINT_SETS_MAX      64
#define PD_PINT_INSTANCES_MAX 16
#define PD_PINT_LAYERS_MAX    16
#define PD_PINT_BITS_MAX      16 /* of a digest */
#define PD_PINT_CODES_MAX     256
#define PD_PINT_NAME_MAX      64
#define PD_PINT_ONE           65536 /* probabilities and weights are of this */
#define PD_PINT_SETTLE_MS     1000  /* where a plan does not say */
#define PD_PINT_VALUE_MAX     ((UINT64_C(1) << 53) - 1)

enum pd_pint_aggregation { PD_PINT_STATIC, PD_PINT_DYNAMIC, PD_PINT_PACKET, PD_PINT_LOOP };
enum pd_pint_function { PD_PINT_MAX, PD_PINT_MIN, PD_PINT_SUM };
enum pd_pint_rounding { PD_PINT_NEAREST, PD_PINT_RANDOM };
enum pd_pint_coding { PD_PINT_HASH, PD_PINT_FRAGMENT };
enum pd_pint_carrier { PD_PINT_TAG, PD_PINT_DSCP };
enum pd_pint_flow_kind { PD_PINT_FLOW_5_TUPLE, PD_PINT_FLOW_SOURCE, PD_PINT_FLOW_RACKS };

/* What a switch can put into a digest; id, and how many bits the value has. */
#define PD_PINT_VALUES(X)                 \
    X(SWITCH_ID, "switch-id", 32)         \
    X(INGRESS_PORT, "ingress-port", 16)   \
    X(HOP_LATENCY, "hop-latency-ns", 32)  \
    X(QUEUE, "queue-bytes", 32)           \
    X(UTILISATION, "utilisation-ppm", 32) \
    X(HIGH_LATENCY, "high-latency", 1)

enum pd_pint_value {
#define X(name, id, bits) PD_PINT_##name,
    PD_PINT_VALUES(X)
#undef X
        PD_PINT_VALUE_COUNT
};

struct pd_pint_query {
    char name[PD_PINT_NAME_MAX + 1];
    enum pd_pint_aggregation aggregation;
    enum pd_pint_value value;
    enum pd_pint_flow_kind flow;
    uint8_t bits;         /* of one instance, without a loop's counter */
    uint8_t counter_bits; /* loop: above the bits */
    uint8_t instances;    /* static; 1 for the others */
    /* static */
    enum pd_pint_coding coding;
    uint8_t value_bits; /* coding fragment: of a value, and in how many fragments */
    uint8_t fragments;
    uint32_t tau; /* packets of the Baseline layer, of PD_PINT_ONE */
    uint32_t xor_layers[PD_PINT_LAYERS_MAX];
    uint8_t xor_len;
    /* dynamic, packet */
    enum pd_pint_function function;
    enum pd_pint_rounding rounding;
    uint16_t codes;
    uint64_t values[PD_PINT_CODES_MAX]; /* what a code stands for, never falling */
    uint64_t bounds[PD_PINT_CODES_MAX]; /* rounding nearest: the least value of a code */
    uint64_t space_bytes;               /* for a flow's histograms; 0: no bound */
    uint8_t threshold;                  /* loop */
};

/* One query's place in the digest of a set. */
struct pd_pint_field {
    uint8_t query;
    uint8_t instance;
    uint8_t shift; /* of its lowest bit */
};

struct pd_pint_set {
    uint32_t weight; /* of PD_PINT_ONE */
    uint8_t queries[PD_PINT_BITS_MAX];
    uint8_t queries_len;
    struct pd_pint_field fields[PD_PINT_BITS_MAX];
    uint8_t fields_len;
};

struct pd_pint_plan {
    uint32_t seed;
    enum pd_pint_carrier carrier;
    uint8_t bits;       /* of the digest */
    uint32_t settle_ms; /* how long receivers leave digests aside after a change */
    struct pd_pint_query queries[PD_PINT_QUERIES_MAX];
    uint8_t queries_len;
    struct pd_pint_set sets[PD_PINT_SETS_MAX];
    uint8_t sets_len;
};

/* Reads a plan; `name` stands for the file in errors: "plan.json: queries[1].bits: …".
 * -PD_E_SYNTAX, -PD_E_VALUE, -PD_E_UNKNOWN_KEY, -PD_E_TOO_LARGE, -ENOMEM or -errno of the file. */
int pd_pint_plan_parse(const char *json, size_t bytes, const char *name,
                       struct pd_pint_plan **ret_plan, struct pd_error *error);
int pd_pint_plan_read(const char *file, struct pd_pint_plan **ret_plan, struct pd_error *error);
void pd_pint_plan_free(struct pd_pint_plan *plan); /* NULL is fine */

/* The file's form; NULL: no memory. */
json_t *pd_pint_plan_json(const struct pd_pint_plan *plan);

/* Works out the fields of all sets and checks that they fit. For plans made by hand: the reader has
 * done it. */
int pd_pint_plan_lay_out(struct pd_pint_plan *plan, struct pd_error *error);

/* Bits of all instances, and of a loop's counter. */
unsigned pd_pint_query_bits(const struct pd_pint_query *query);

/* Names of the members of the enums above, as files have them; ended by NULL. */
extern const char *const pd_pint_aggregation_names[],
    *const pd_pint_function_names[], *const pd_pint_rounding_names[],
                                         *const pd_pint_coding_names[],
                                             *const pd_pint_carrier_names[],
                                                 *const pd_pint_flow_names[],
                                                     *const pd_pint_value_names[];
unsigned pd_pint_value_bits(enum pd_pint_value value);

#endif
