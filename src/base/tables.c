/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of rows and numbers. */
#include "base/tables.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

struct pd_tables_row *pd_tables_add(struct pd_tables *tables, const char *table, uint32_t priority,
                                    const char *action)
{
    struct pd_tables_row *row = &tables->spare;
    if (PD_GROW(tables->rows, tables->rows_room, tables->rows_len + 1)) {
        tables->err = -ENOMEM;
    } else {
        row = &tables->rows[tables->rows_len++];
    }
    *row = (struct pd_tables_row){.table = table, .action = action, .priority = priority};
    return row;
}

void pd_tables_match(struct pd_tables_row *row, const char *field, uint64_t value, uint64_t mask)
{
    assert(row->fields_len < PD_TABLES_FIELDS);
    row->fields[row->fields_len++] =
        (struct pd_tables_field){.name = field, .value = value, .mask = mask};
}

void pd_tables_argument(struct pd_tables_row *row, const char *argument, uint64_t value)
{
    assert(row->arguments_len < PD_TABLES_ARGUMENTS);
    row->arguments[row->arguments_len++] =
        (struct pd_tables_argument){.name = argument, .value = value};
}

void pd_tables_number(struct pd_tables *tables, const char *array, uint32_t index, uint64_t value)
{
    if (PD_GROW(tables->numbers, tables->numbers_room, tables->numbers_len + 1)) {
        tables->err = -ENOMEM;
        return;
    }
    tables->numbers[tables->numbers_len++] =
        (struct pd_tables_number){.array = array, .index = index, .value = value};
}

void pd_tables_done(struct pd_tables *tables)
{
    free(tables->rows);
    free(tables->numbers);
    *tables = (struct pd_tables){.rows = NULL};
}
