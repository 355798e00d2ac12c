/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a compiled program, as text by table. */
#include "controller/switches/p4/wanted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p4/programs.h"
#include "p4/shape.h"
#include "p4/tables.h"
#include "p4/writers.h"

#define FILE_BYTES 4096

static json_t *lines_of(char *text)
{
    json_t *lines = json_array();

    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        json_array_append_new(lines, json_stringn(line, (size_t)(end - line)));
    }
    return lines;
}

static int add_table(const struct pd_p4_list *list, const struct pd_p4_table *table, json_t *tables)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool is_written = false;

    if (out) {
        pd_p4_swx.write_table(list, table, out);
        is_written = !fclose(out);
    }
    int err = is_written && !json_object_set_new(tables, table->name, lines_of(text)) ? 0 : -ENOMEM;
    free(text);
    return err;
}

/* What is for the slow path is in none of the program's tables. */
static int add_tables(const struct pd_p4_list *list, json_t *tables)
{
    int err = 0;

    for (size_t i = 0; i < list->rows_len && !err; i++) {
        const struct pd_p4_table *table = list->rows[i].table;

        if (table != &list->slow && (!i || list->rows[i - 1].table != table)) {
            err = add_table(list, table, tables);
        }
    }
    return err;
}

static int list_rows(const struct pd_p4_want *want, const struct pd_p4_shape *shape,
                     struct pd_p4_list *list, struct pd_error *error)
{
    struct pd_tables tables = {0};
    int err = pd_p4_tables_make(want, &tables, error);

    err = err ? err
              : pd_p4_list_make(&tables, shape, want->topology->switches[want->sw].id, want->set,
                                list, error);
    pd_tables_done(&tables);
    return err;
}

int pd_switch_p4_wanted(const struct pd_topology *topology, uint32_t sw, const char *program,
                        enum pd_depth depth, json_t **ret_tables, struct pd_error *error)
{
    const struct pd_p4_want want = {
        .topology = topology, .sw = sw, .set = program, .depth = depth, .probe_hosts_all = true};
    struct pd_p4_shape shape = {0};
    struct pd_p4_list list = {0};
    json_t *tables = json_object();
    char file[FILE_BYTES];
    int err = pd_p4_program_file(program, "pna", file, sizeof file, error);

    err = err ? err : pd_p4_shape_read(file, &shape, error);
    err = err ? err : list_rows(&want, &shape, &list, error);
    if (!err && (!tables || add_tables(&list, tables))) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    pd_p4_list_done(&list);
    pd_p4_shape_done(&shape);
    if (err) {
        json_decref(tables);
        return err;
    }
    *ret_tables = tables;
    return 0;
}

uint32_t pd_switch_p4_missing(const json_t *wanted, const json_t *found)
{
    json_t *known = json_object();
    const json_t *row;
    uint32_t missing = 0;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)found, i, row)
    {
        if (json_is_string(row)) {
            json_object_set_new(known, json_string_value(row), json_true());
        }
    }
    json_array_foreach((json_t *)(uintptr_t)wanted, i, row)
    {
        missing += !json_object_get(known, json_string_value(row));
    }
    json_decref(known);
    return missing;
}
