/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a plan: every member is checked for its type and range, with its place in the words. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/pint/plan.h"
#include "telemetry/column.h"
#include "json/cursor.h"

#define FILE_BYTES_MAX (1u << 20)

/* Where in the file the reader is: "queries[1]", "" at the top. */
struct place {
    struct pd_error *error;
    const char *file;
    char text[40];
};

static int bad(const struct place *place, int err, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int bad(const struct place *place, int err, const char *key, const char *format, ...)
{
    char words[300];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    pd_printable(words);
    return pd_fail(place->error, err, "%s: %s%s%s%s%s", place->file, place->text,
                   *place->text && *key ? "." : "", key, *place->text || *key ? ": " : "", words);
}

/* ---- members */

static struct pd_json_cursor members_of(const struct place *place, const json_t *object)
{
    return (struct pd_json_cursor){.object = object,
                                   .file = place->file,
                                   .place = place->text,
                                   .err = -PD_E_VALUE,
                                   .error = place->error};
}

/* An integer; `fallback` where the key is missing, unless that is negative. */
static int read_integer(const struct place *place, const json_t *object, const char *key,
                        uint64_t min, uint64_t max, int64_t fallback, uint64_t *ret_value)
{
    const struct pd_json_cursor at = members_of(place, object);

    if (fallback < 0) {
        return pd_json_number(&at, key, min, max, ret_value);
    }
    *ret_value = (uint64_t)fallback;
    return pd_json_number_or(&at, key, min, max, ret_value);
}

/* One of a list of words. A negative fallback: the key must be there. */
static int read_word(const struct place *place, const json_t *object, const char *key,
                     const char *const *names, int fallback, unsigned *ret_index)
{
    const struct pd_json_cursor at = members_of(place, object);
    size_t len = 0;

    while (names[len]) {
        len++;
    }
    if (fallback < 0) {
        return pd_json_word(&at, key, names, len, ret_index);
    }
    *ret_index = (unsigned)fallback;
    return pd_json_word_or(&at, key, names, len, ret_index);
}

/* A list of integers into `values`; at least `least` and at most `most` of them. */
static int read_list(const struct place *place, const json_t *object, const char *key, size_t least,
                     size_t most, uint64_t max, uint64_t *values, size_t *ret_len)
{
    const struct pd_json_cursor at = members_of(place, object);

    return pd_json_numbers(&at, key, least, most, max, values, ret_len);
}

static int read_name(const struct place *place, const json_t *object,
                     char name[PD_PINT_NAME_MAX + 1])
{
    const json_t *value = json_object_get(object, "name");
    const size_t len = json_string_length(value);

    if (!json_is_string(value) || len == 0 || len > PD_PINT_NAME_MAX ||
        !pd_telemetry_is_name(json_string_value(value), len)) {
        return bad(place, -PD_E_VALUE, "name",
                   "%s, expected 1 to %d printable characters of ASCII but \" and \\",
                   value ? "wrong" : "missing", PD_PINT_NAME_MAX);
    }
    memcpy(name, json_string_value(value), len + 1);
    return 0;
}

static int check_keys(const struct place *place, const json_t *object, const char *const *known)
{
    const struct pd_json_cursor at = members_of(place, object);

    return pd_json_only(&at, known);
}

/* ---- queries */

static int read_static(const struct place *place, const json_t *object, struct pd_pint_query *query)
{
    uint64_t layers[PD_PINT_LAYERS_MAX];
    size_t len = 0;
    unsigned coding = 0;
    uint64_t tau = 0, instances = 1, value_bits = 1;
    int err = read_word(place, object, "coding", pd_pint_coding_names, PD_PINT_HASH, &coding);

    if (!err) {
        err = read_integer(place, object, "instances", 1, PD_PINT_INSTANCES_MAX, 1, &instances);
    }
    if (!err) {
        err = read_integer(place, object, "tau", 0, PD_PINT_ONE, -1, &tau);
    }
    if (!err) {
        err = read_list(place, object, "xor", tau < PD_PINT_ONE, PD_PINT_LAYERS_MAX, PD_PINT_ONE,
                        layers, &len);
    }
    if (!err) {
        err = read_integer(place, object, "value_bits", 1, 32, pd_pint_value_bits(query->value),
                           &value_bits);
    }
    if (err) {
        return err;
    }
    if (coding == PD_PINT_HASH && query->value != PD_PINT_SWITCH_ID) {
        return bad(place, -PD_E_VALUE, "coding", "hash is for switch-id, expected fragment");
    }
    query->coding = coding;
    query->instances = (uint8_t)instances;
    query->tau = (uint32_t)tau;
    query->xor_len = (uint8_t)len;
    for (size_t i = 0; i < len; i++) {
        query->xor_layers[i] = (uint32_t)layers[i];
    }
    query->value_bits = (uint8_t)value_bits;
    query->fragments = (uint8_t)((value_bits + query->bits - 1) / query->bits);
    return 0;
}

static int check_rising(const struct place *place, const char *key, const uint64_t *values,
                        size_t len)
{
    for (size_t i = 1; i < len; i++) {
        if (values[i] < values[i - 1]) {
            return bad(place, -PD_E_VALUE, key, "[%zu]: less than the one before", i);
        }
    }
    return 0;
}

static int read_codes(const struct place *place, const json_t *object, struct pd_pint_query *query)
{
    size_t len = 0, bounds_len = 0;
    unsigned rounding = 0;
    int err;

    if (query->bits > 8) {
        return bad(place, -PD_E_VALUE, "bits", "a code has at most 8 bits");
    }
    err = read_word(place, object, "rounding", pd_pint_rounding_names, PD_PINT_NEAREST, &rounding);
    if (!err) {
        err = read_list(place, object, "values", 1, (size_t)1 << query->bits, PD_PINT_VALUE_MAX,
                        query->values, &len);
    }
    if (!err) {
        err = check_rising(place, "values", query->values, len);
    }
    if (!err && (rounding == PD_PINT_NEAREST || json_object_get(object, "bounds"))) {
        err = read_list(place, object, "bounds", len, len, PD_PINT_VALUE_MAX, query->bounds,
                        &bounds_len);
    }
    if (!err && bounds_len) {
        err = check_rising(place, "bounds", query->bounds, len);
    }
    query->rounding = err ? 0 : rounding;
    query->codes = (uint16_t)len;
    return err;
}

static int read_packet(const struct place *place, const json_t *object, struct pd_pint_query *query)
{
    unsigned function = 0;
    int err = read_word(place, object, "function", pd_pint_function_names, -1, &function);

    if (err) {
        return err;
    }
    query->function = function;
    return read_codes(place, object, query);
}

static int read_loop(const struct place *place, const json_t *object, struct pd_pint_query *query)
{
    uint64_t threshold = 0;
    int err = read_integer(place, object, "threshold", 1, 255, -1, &threshold);

    if (err) {
        return err;
    }
    query->threshold = (uint8_t)threshold;
    while (threshold) { /* ⌈log₂(T+1)⌉: the bits that T takes */
        query->counter_bits++;
        threshold >>= 1;
    }
    return 0;
}

static int read_common(const struct place *place, const json_t *object, struct pd_pint_query *query)
{
    static const char *const known[] = {
        "name",        "aggregation", "value",     "coding",   "bits",   "value_bits", "instances",
        "tau",         "xor",         "function",  "rounding", "values", "bounds",     "threshold",
        "space_bytes", "flow",        "frequency", "min",      "max",    "scale",      NULL};
    unsigned aggregation = 0, value = 0, flow = 0;
    uint64_t bits = 0, space_bytes = 0;
    int err = check_keys(place, object, known);

    if (!err) {
        err = read_name(place, object, query->name);
    }
    if (!err) {
        err = read_word(place, object, "aggregation", pd_pint_aggregation_names, -1, &aggregation);
    }
    if (!err) {
        err = read_word(place, object, "value", pd_pint_value_names,
                        aggregation == PD_PINT_LOOP ? PD_PINT_SWITCH_ID : -1, &value);
    }
    if (!err) {
        err = read_word(place, object, "flow", pd_pint_flow_names, PD_PINT_FLOW_5_TUPLE, &flow);
    }
    if (!err) {
        err = read_integer(place, object, "bits", 1, PD_PINT_BITS_MAX, -1, &bits);
    }
    if (!err) {
        err = read_integer(place, object, "space_bytes", 0, 1 << 30, 0, &space_bytes);
    }
    query->aggregation = aggregation;
    query->value = value;
    query->flow = flow;
    query->bits = (uint8_t)bits;
    query->space_bytes = space_bytes;
    query->instances = 1;
    return err;
}

static int read_query(struct place *place, const json_t *object, struct pd_pint_query *query)
{
    int err = read_common(place, object, query);

    if (err) {
        return err;
    }
    switch (query->aggregation) {
    case PD_PINT_STATIC: return read_static(place, object, query);
    case PD_PINT_DYNAMIC: return read_codes(place, object, query);
    case PD_PINT_PACKET: return read_packet(place, object, query);
    case PD_PINT_LOOP: return read_loop(place, object, query);
    }
    return 0;
}

static int find_query(const struct pd_pint_plan *plan, const char *name)
{
    for (unsigned i = 0; name && i < plan->queries_len; i++) {
        if (!strcmp(plan->queries[i].name, name)) {
            return (int)i;
        }
    }
    return -1;
}

static int read_queries(struct place *place, const json_t *root, struct pd_pint_plan *plan)
{
    const struct pd_json_cursor at = members_of(place, root);
    const json_t *list = NULL;
    int err = pd_json_list(&at, "queries", 1, PD_PINT_QUERIES_MAX, &list);

    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(place->text, sizeof place->text, "queries[%zu]", i);
        err = read_query(place, json_array_get(list, i), &plan->queries[i]);
        if (!err && find_query(plan, plan->queries[i].name) >= 0) {
            err = bad(place, -PD_E_VALUE, "name", "another query has it, too");
        }
        if (err) {
            return err;
        }
        plan->queries_len++;
    }
    *place->text = 0;
    return err;
}

/* ---- sets */

static int read_set(struct place *place, const json_t *object, struct pd_pint_plan *plan,
                    struct pd_pint_set *set)
{
    static const char *const known[] = {"weight", "queries", NULL};
    const struct pd_json_cursor at = members_of(place, object);
    const json_t *names = NULL;
    uint64_t weight = 0;
    int err = check_keys(place, object, known);

    if (!err) {
        err = read_integer(place, object, "weight", 0, PD_PINT_ONE, -1, &weight);
    }
    if (!err) {
        err = pd_json_list(&at, "queries", 0, PD_PINT_BITS_MAX, &names);
    }
    if (err) {
        return err;
    }
    for (size_t i = 0; i < json_array_size(names); i++) {
        const int query = find_query(plan, json_string_value(json_array_get(names, i)));
        if (query < 0) {
            return bad(place, -PD_E_VALUE, "queries", "[%zu]: no query has this name", i);
        }
        if (memchr(set->queries, query, set->queries_len)) {
            return bad(place, -PD_E_VALUE, "queries", "[%zu]: named twice", i);
        }
        set->queries[set->queries_len++] = (uint8_t)query;
    }
    set->weight = (uint32_t)weight;
    return 0;
}

static int read_sets(struct place *place, const json_t *root, struct pd_pint_plan *plan)
{
    const struct pd_json_cursor at = members_of(place, root);
    const json_t *list = NULL;
    int err = pd_json_list(&at, "sets", 1, PD_PINT_SETS_MAX, &list);

    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(place->text, sizeof place->text, "sets[%zu]", i);
        err = read_set(place, json_array_get(list, i), plan, &plan->sets[i]);
        if (err) {
            return err;
        }
        plan->sets_len++;
    }
    *place->text = 0;
    return err;
}

/* ---- the file */

static int read_head(struct place *place, json_t *root, struct pd_pint_plan *plan)
{
    uint64_t version, seed = 0, bits = 0, settle_ms = 0;
    static const char *const known[] = {"version",   "seed",    "carrier", "bits",
                                        "settle_ms", "queries", "sets",    NULL};
    unsigned carrier = 0;
    int err = check_keys(place, root, known);

    if (!err) {
        err = read_integer(place, root, "version", 1, 1, -1, &version);
    }
    if (!err) {
        err = read_integer(place, root, "seed", 0, UINT32_MAX, -1, &seed);
    }
    if (!err) {
        err = read_word(place, root, "carrier", pd_pint_carrier_names, -1, &carrier);
    }
    if (!err) {
        err = read_integer(place, root, "bits", 1, carrier == PD_PINT_DSCP ? 6 : PD_PINT_BITS_MAX,
                           -1, &bits);
    }
    if (!err) {
        err = read_integer(place, root, "settle_ms", 0, 3600000, PD_PINT_SETTLE_MS, &settle_ms);
    }
    plan->seed = (uint32_t)seed;
    plan->carrier = carrier;
    plan->bits = (uint8_t)bits;
    plan->settle_ms = (uint32_t)settle_ms;
    return err;
}

static int read_root(struct place *place, json_t *root, struct pd_pint_plan *plan)
{
    int err = read_head(place, root, plan);

    if (!err) {
        err = read_queries(place, root, plan);
    }
    if (!err) {
        err = read_sets(place, root, plan);
    }
    if (err) {
        return err;
    }
    err = pd_pint_plan_lay_out(plan, place->error);
    if (err) {
        pd_fail_within(place->error, place->file);
    }
    return err;
}

int pd_pint_plan_parse(const char *json, size_t bytes, const char *name,
                       struct pd_pint_plan **ret_plan, struct pd_error *error)
{
    struct place place = {.error = error, .file = name};
    struct pd_pint_plan *plan = NULL;
    json_error_t words;
    json_t *root = NULL;
    int err = -ENOMEM;

    if (bytes > FILE_BYTES_MAX) {
        return bad(&place, -PD_E_TOO_LARGE, "", "more than %u bytes", FILE_BYTES_MAX);
    }
    root = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &words);
    if (!root) {
        err = bad(&place, -PD_E_SYNTAX, "", "line %d: %s", words.line, words.text);
        goto out;
    }
    plan = calloc(1, sizeof *plan);
    if (!plan) {
        pd_fail(error, err, "%s: %s", name, pd_error_text(err));
        goto out;
    }
    err = read_root(&place, root, plan);
out:
    json_decref(root);
    if (err) {
        pd_pint_plan_free(plan);
        return err;
    }
    *ret_plan = plan;
    return 0;
}

int pd_pint_plan_read(const char *file, struct pd_pint_plan **ret_plan, struct pd_error *error)
{
    FILE *in = fopen(file, "re");
    char *text = NULL;
    size_t bytes;
    int err;

    if (!in) {
        return pd_fail(error, -errno, "%s: %s", file, strerror(errno));
    }
    text = malloc(FILE_BYTES_MAX + 1);
    if (!text) {
        err = pd_fail(error, -ENOMEM, "%s: %s", file, pd_error_text(-ENOMEM));
        goto out;
    }
    bytes = fread(text, 1, FILE_BYTES_MAX + 1, in);
    err = ferror(in) ? pd_fail(error, -EIO, "%s: %s", file, strerror(EIO))
                     : pd_pint_plan_parse(text, bytes, file, ret_plan, error);
out:
    free(text);
    fclose(in);
    return err;
}
