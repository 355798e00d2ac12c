/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as JSON: our own form, and the one by table of Tofino's BF runtime. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "p4/writers.h"

#define PRIORITY_TOP 100000u /* of BF runtime, where the smaller number wins */

static json_t *hex(uint64_t value)
{
    return json_sprintf("0x%" PRIx64, value);
}

static json_t *list_of(json_t *object, const char *name)
{
    json_t *list = json_object_get(object, name);
    if (!list) {
        list = json_array();
        json_object_set_new(object, name, list);
    }
    return list;
}

/* ---- ours */

/* A field of which nothing counts is left out. */
static json_t *match_of(const struct pd_p4_row *row)
{
    json_t *match = json_object();
    for (uint32_t i = 0; i < row->table->keys_len; i++) {
        const struct pd_p4_field *key = &row->table->keys[i];
        if (key->match == PD_P4_EXACT) {
            json_object_set_new(match, key->name, hex(row->values[i]));
        } else if (row->masks[i]) {
            json_object_set_new(
                match, key->name,
                json_sprintf("0x%" PRIx64 "/0x%" PRIx64, row->values[i], row->masks[i]));
        }
    }
    return match;
}

static json_t *row_of(const struct pd_p4_row *row)
{
    json_t *object = json_object(), *arguments = json_object();
    if (pd_p4_has_priority(row->table)) {
        json_object_set_new(object, "priority", json_integer(row->priority));
    }
    json_object_set_new(object, "match", match_of(row));
    json_object_set_new(object, "action", json_string(row->action));
    for (uint32_t i = 0; i < row->arguments_len; i++) {
        json_object_set_new(arguments, row->arguments[i].name, hex(row->data[i]));
    }
    json_object_set_new(object, "args", arguments);
    return object;
}

static json_t *arrays_of(const struct pd_p4_list *list)
{
    json_t *arrays = json_object();
    for (size_t i = 0; i < list->numbers_len; i++) {
        const struct pd_tables_number *number = &list->numbers[i];
        json_t *array = json_object_get(arrays, number->array);
        char index[16];
        if (!array) {
            array = json_object();
            json_object_set_new(arrays, number->array, array);
        }
        snprintf(index, sizeof index, "%" PRIu32, number->index);
        json_object_set_new(array, index, json_integer((json_int_t)number->value));
    }
    return arrays;
}

static int dump(json_t *root, FILE *out, struct pd_error *error)
{
    int bad = !root || json_dumpf(root, out, JSON_COMPACT);
    fputc('\n', out);
    json_decref(root);
    return bad ? pd_fail(error, -PD_E_FULL, "the tables could not be written") : 0;
}

static int write_json(const struct pd_p4_list *list, const char *p4info, FILE *out,
                      struct pd_error *error)
{
    json_t *tables = json_object();
    (void)p4info;
    for (size_t i = 0; i < list->rows_len; i++) {
        json_array_append_new(list_of(tables, list->rows[i].table->name), row_of(&list->rows[i]));
    }
    return dump(json_pack("{s:I,s:s,s:o,s:o}", "switch", (json_int_t)list->switch_id, "program",
                          list->program, "tables", tables, "arrays", arrays_of(list)),
                out, error);
}

const struct pd_p4_writer pd_p4_json = {.name = "json", .write = write_json};

/* ---- BF runtime */

static json_t *bfrt_key(const struct pd_p4_row *row)
{
    json_t *key = json_object();
    for (uint32_t i = 0; i < row->table->keys_len; i++) {
        const struct pd_p4_field *field = &row->table->keys[i];
        json_t *value = json_pack("{s:o}", "value", hex(row->values[i]));
        if (field->match != PD_P4_EXACT) {
            json_object_set_new(value, "mask", hex(row->masks[i]));
        }
        json_object_set_new(key, pd_p4_source_name(field->name), value);
    }
    if (pd_p4_has_priority(row->table)) {
        json_object_set_new(
            key, "$MATCH_PRIORITY",
            json_pack("{s:I}", "value", (json_int_t)(PRIORITY_TOP - row->priority)));
    }
    return key;
}

static json_t *bfrt_row(const struct pd_p4_row *row)
{
    json_t *data = json_object();
    for (uint32_t i = 0; i < row->arguments_len; i++) {
        json_object_set_new(data, row->arguments[i].name, hex(row->data[i]));
    }
    return json_pack("{s:s,s:s,s:o,s:o}", "table_name", row->table->name, "action",
                     row->source_action, "key", bfrt_key(row), "data", data);
}

static json_t *bfrt_number(const struct pd_tables_number *number)
{
    return json_pack("{s:s,s:{s:{s:I}},s:{s:I}}", "table_name", number->array, "key",
                     "$REGISTER_INDEX", "value", (json_int_t)number->index, "data", "f1",
                     (json_int_t)number->value);
}

static int write_bfrt(const struct pd_p4_list *list, const char *p4info, FILE *out,
                      struct pd_error *error)
{
    json_t *root = json_object();
    (void)p4info;
    for (size_t i = 0; i < list->rows_len; i++) {
        if (list->rows[i].table != &list->slow) {
            json_array_append_new(list_of(root, list->rows[i].table->name),
                                  bfrt_row(&list->rows[i]));
        }
    }
    for (size_t i = 0; i < list->numbers_len; i++) {
        json_array_append_new(list_of(root, list->numbers[i].array),
                              bfrt_number(&list->numbers[i]));
    }
    return dump(root, out, error);
}

const struct pd_p4_writer pd_p4_bfrt = {.name = "bfrt", .write = write_bfrt};
