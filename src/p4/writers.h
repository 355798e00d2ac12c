/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a switch in the forms that different switches take. */
#ifndef PD_P4_WRITERS_H
#define PD_P4_WRITERS_H

#include <stdio.h>

#include "base/tables.h"
#include "p4/shape.h"

/* Each form is one file with one struct pd_p4_writer; all write the same rows, resolved against the
 * shape of the compiled program: its names, the order of its keys, the widths of its fields. What
 * is for the slow path (table `interfaces`) and for none of the program's tables is a table of its
 * own at the end, in forms that have such. A scheme's table or array that the program does not have
 * is left out: sets of programs share what they need.
 *
 * Thread safety: pure. */

/* A row as the program sees it. */
struct pd_p4_row {
    const struct pd_p4_table *table;     /* of the program; made up for the slow path's */
    const char *action, *source_action;  /* as compiled for SWX, and as in the source */
    const struct pd_p4_field *arguments; /* names and widths */
    uint32_t arguments_len;
    uint32_t priority;
    uint64_t values[PD_TABLES_FIELDS], masks[PD_TABLES_FIELDS]; /* of the keys, in their order */
    uint64_t data[PD_TABLES_ARGUMENTS];                         /* of the arguments */
};

struct pd_p4_list {
    uint32_t switch_id;
    const char *program;
    struct pd_p4_row *rows; /* a table's rows stand together */
    size_t rows_len;
    struct pd_tables_number *numbers; /* an array's likewise; by the compiled program's names */
    size_t numbers_len;
    struct pd_p4_table slow; /* `interfaces` */
    struct pd_p4_field slow_key, slow_arguments[3];
};

/* -PD_E_VALUE in words: the program lacks a field or an action that a row needs. -ENOMEM. */
int pd_p4_list_make(const struct pd_tables *tables, const struct pd_p4_shape *shape,
                    uint32_t switch_id, const char *program, struct pd_p4_list *list,
                    struct pd_error *error);
void pd_p4_list_done(struct pd_p4_list *list);

struct pd_p4_writer {
    const char *name; /* of the format */
    /* Writes the list, all of it. `numbers` of SWX and JSON alone. `p4info` is the file of the
     * program's P4Info for forms that need its numbers. 0 or a negative error in words. */
    int (*write)(const struct pd_p4_list *list, const char *p4info, FILE *out,
                 struct pd_error *error);
    /* A table's rows, or an array's numbers, as a file of their own; NULL: one file is all. */
    void (*write_table)(const struct pd_p4_list *list, const struct pd_p4_table *table, FILE *out);
    void (*write_array)(const struct pd_p4_list *list, const char *array, FILE *out);
};

extern const struct pd_p4_writer pd_p4_swx, pd_p4_json, pd_p4_bmv2, pd_p4_bfrt, pd_p4_p4runtime;

/* NULL: there is no such format. */
const struct pd_p4_writer *pd_p4_writer_find(const char *name);

/* Whether its rows have priorities; the part of a compiled field's name that the source has. */
bool pd_p4_has_priority(const struct pd_p4_table *table);
const char *pd_p4_source_name(const char *compiled);

/* Into a folder, which is made: a file a table, or one for all. 0 or a negative error in words. */
int pd_p4_write_folder(const struct pd_p4_writer *writer, const struct pd_p4_list *list,
                       const char *p4info, const char *folder, struct pd_error *error);

#endif
