/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept for a switch, whatever the scheme: named tables of rows, named arrays of numbers. */
#ifndef PD_BASE_TABLES_H
#define PD_BASE_TABLES_H

#include <stddef.h>
#include <stdint.h>

/* Each scheme yields what a switch needs of it; writers (P4 tables in several forms, JSON) print it
 * and know no scheme. A row matches if each of its fields does, under its mask; fields that it does
 * not name match anything. Of rows that match, the one of the highest priority counts.
 *
 *     struct pd_tables_row *row = pd_tables_add(tables, "routes", 24, "to_port");
 *     pd_tables_match(row, "in_port", 0, 0);
 *     pd_tables_argument(row, "port", 3);
 *
 * A list without memory takes no more: pd_tables_error tells at the end. Names are not copied: they
 * outlive the list. Thread safety: a list belongs to whoever made it. */

#define PD_TABLES_FIELDS    10
#define PD_TABLES_ARGUMENTS 14
#define PD_TABLES_EXACT     UINT64_MAX /* mask: all bits of the field */

struct pd_tables_field {
    const char *name;
    uint64_t value, mask;
};
struct pd_tables_argument {
    const char *name;
    uint64_t value;
};
struct pd_tables_row {
    const char *table, *action;
    uint32_t priority; /* higher wins; 0 where only one row can match */
    uint8_t fields_len, arguments_len;
    struct pd_tables_field fields[PD_TABLES_FIELDS];
    struct pd_tables_argument arguments[PD_TABLES_ARGUMENTS];
};
struct pd_tables_number {
    const char *array;
    uint32_t index;
    uint64_t value;
};

struct pd_tables {
    struct pd_tables_row *rows;
    size_t rows_len, rows_room;
    struct pd_tables_number *numbers;
    size_t numbers_len, numbers_room;
    struct pd_tables_row spare; /* is filled in the place of one that has no memory */
    int err;
};

/* A new row at the end, until the next is added. Never NULL. */
struct pd_tables_row *pd_tables_add(struct pd_tables *tables, const char *table, uint32_t priority,
                                    const char *action);
void pd_tables_match(struct pd_tables_row *row, const char *field, uint64_t value, uint64_t mask);
void pd_tables_argument(struct pd_tables_row *row, const char *argument, uint64_t value);

void pd_tables_number(struct pd_tables *tables, const char *array, uint32_t index, uint64_t value);

/* 0 or -ENOMEM. */
static inline int pd_tables_error(const struct pd_tables *tables)
{
    return tables->err;
}
void pd_tables_done(struct pd_tables *tables); /* works on a zeroed list, too */

#endif
