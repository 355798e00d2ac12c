/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of schemes, resolved against the shape of a compiled program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p4/writers.h"

#define SLOW_TABLE "interfaces" /* is read by the switch, not by its program */

struct maker {
    const struct pd_tables *tables;
    const struct pd_p4_shape *shape;
    struct pd_p4_list *list;
    struct pd_error *error;
};

static uint64_t width_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* ---- a row's parts */

static int resolve_keys(const struct maker *m, const struct pd_tables_row *from,
                        struct pd_p4_row *row)
{
    uint32_t found = 0;
    for (uint32_t k = 0; k < row->table->keys_len; k++) {
        const struct pd_p4_field *key = &row->table->keys[k];
        row->masks[k] = 0;
        for (uint8_t f = 0; f < from->fields_len; f++) {
            if (pd_p4_is_named(key->name, from->fields[f].name)) {
                row->masks[k] = from->fields[f].mask & width_mask(key->bits);
                row->values[k] = from->fields[f].value & row->masks[k];
                found++;
                break;
            }
        }
        if (key->match == PD_P4_EXACT && row->masks[k] != width_mask(key->bits)) {
            return pd_fail(m->error, -PD_E_VALUE, "table %s: no value for its field %s",
                           row->table->name, key->name);
        }
    }
    return found == from->fields_len
               ? 0
               : pd_fail(m->error, -PD_E_VALUE, "table %s of the program lacks a field of %s",
                         row->table->name, from->table);
}

/* The longest name that fits: `value_kind` is not `kind`. NULL: none does. */
static const struct pd_tables_argument *find_argument(const struct pd_tables_row *from,
                                                      const char *compiled)
{
    const struct pd_tables_argument *best = NULL;
    for (uint8_t i = 0; i < from->arguments_len; i++) {
        const struct pd_tables_argument *argument = &from->arguments[i];
        const bool longer = !best || strlen(argument->name) > strlen(best->name);
        if (longer && pd_p4_is_named(compiled, argument->name)) {
            best = argument;
        }
    }
    return best;
}

static int resolve_arguments(const struct maker *m, const struct pd_tables_row *from,
                             struct pd_p4_row *row)
{
    uint32_t found = 0;
    for (uint32_t a = 0; a < row->arguments_len; a++) {
        const struct pd_tables_argument *argument = find_argument(from, row->arguments[a].name);
        if (argument) {
            row->data[a] = argument->value & width_mask(row->arguments[a].bits);
            found++;
        }
    }
    return found == row->arguments_len && found == from->arguments_len
               ? 0
               : pd_fail(m->error, -PD_E_VALUE, "action %s of table %s has other arguments",
                         row->action, row->table->name);
}

static int resolve(const struct maker *m, const struct pd_tables_row *from,
                   const struct pd_p4_table *table, struct pd_p4_row *ret_row)
{
    struct pd_p4_row row = {.table = table,
                            .priority = from->priority,
                            .action = from->action,
                            .source_action = from->action};
    if (table == &m->list->slow) {
        row.arguments = m->list->slow_arguments;
        row.arguments_len = 3;
    } else {
        const struct pd_p4_action *action = pd_p4_shape_action(m->shape, table, from->action);
        if (!action || action->len > PD_TABLES_ARGUMENTS || table->keys_len > PD_TABLES_FIELDS) {
            return pd_fail(m->error, -PD_E_VALUE, "table %s of the program has no action %s",
                           table->name, from->action);
        }
        row.action = action->name;
        row.arguments = action->arguments;
        row.arguments_len = action->len;
    }
    int err = resolve_keys(m, from, &row);
    err = err ? err : resolve_arguments(m, from, &row);
    *ret_row = row;
    return err;
}

/* ---- all rows */

static int add_rows_of(struct maker *m, const struct pd_p4_table *table)
{
    int err = 0;
    for (size_t i = 0; i < m->tables->rows_len && !err; i++) {
        const struct pd_tables_row *from = &m->tables->rows[i];
        const bool slow = !strcmp(from->table, SLOW_TABLE);
        if (slow ? table == &m->list->slow : table == pd_p4_shape_table(m->shape, from->table)) {
            err = resolve(m, from, table, &m->list->rows[m->list->rows_len]);
            m->list->rows_len += !err;
        }
    }
    return err;
}

static void add_numbers_of(struct maker *m, const struct pd_p4_array *array)
{
    for (size_t i = 0; i < m->tables->numbers_len; i++) {
        const struct pd_tables_number *from = &m->tables->numbers[i];
        if (array == pd_p4_shape_array(m->shape, from->array) && from->index < array->size) {
            struct pd_tables_number *number = &m->list->numbers[m->list->numbers_len++];
            *number = *from;
            number->array = array->name;
        }
    }
}

static void name_slow(struct pd_p4_list *list)
{
    static const char *const names[] = {"v4", "v6_hi", "v6_lo"};
    list->slow = (struct pd_p4_table){.name = SLOW_TABLE, .keys = &list->slow_key, .keys_len = 1};
    list->slow_key = (struct pd_p4_field){.name = "port", .bits = 16};
    for (int i = 0; i < 3; i++) {
        list->slow_arguments[i] = (struct pd_p4_field){.bits = i ? 64 : 32};
        memcpy(list->slow_arguments[i].name, names[i], strlen(names[i]) + 1);
    }
}

static int fill(struct maker *m)
{
    struct pd_p4_list *list = m->list;
    int err = 0;
    list->rows = calloc(m->tables->rows_len + 1, sizeof *list->rows);
    list->numbers = calloc(m->tables->numbers_len + 1, sizeof *list->numbers);
    if (!list->rows || !list->numbers) {
        return pd_fail(m->error, -ENOMEM, "no memory");
    }
    for (uint32_t i = 0; i < m->shape->tables_len && !err; i++) {
        err = add_rows_of(m, &m->shape->tables[i]);
    }
    for (uint32_t i = 0; i < m->shape->arrays_len; i++) {
        add_numbers_of(m, &m->shape->arrays[i]);
    }
    return err ? err : add_rows_of(m, &list->slow);
}

int pd_p4_list_make(const struct pd_tables *tables, const struct pd_p4_shape *shape,
                    uint32_t switch_id, const char *program, struct pd_p4_list *list,
                    struct pd_error *error)
{
    struct maker m = {.tables = tables, .shape = shape, .list = list, .error = error};
    *list = (struct pd_p4_list){.switch_id = switch_id, .program = program};
    name_slow(list);
    int err = fill(&m);
    if (err) {
        pd_p4_list_done(list);
    }
    return err;
}

void pd_p4_list_done(struct pd_p4_list *list)
{
    free(list->rows);
    free(list->numbers);
    list->rows = NULL;
    list->numbers = NULL;
    list->rows_len = list->numbers_len = 0;
}
