/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as DPDK's SWX pipeline reads them (docs/formats/switch-tables.md). */
#include <inttypes.h>
#include <string.h>

#include "p4/writers.h"

#define PRIORITY_TOP 100000u /* here the smaller number wins */

static unsigned ones(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

static void write_row(const struct pd_p4_row *row, FILE *out)
{
    fputs("match", out);
    for (uint32_t i = 0; i < row->table->keys_len; i++) {
        fprintf(out, " 0x%" PRIx64, row->values[i]);
        if (row->table->keys[i].match == PD_P4_TERNARY) {
            fprintf(out, "/0x%" PRIx64, row->masks[i]);
        } else if (row->table->keys[i].match == PD_P4_LPM) {
            fprintf(out, "/%u", ones(row->masks[i]));
        }
    }
    if (pd_p4_has_priority(row->table)) {
        fprintf(out, " priority %" PRIu32, PRIORITY_TOP - row->priority);
    }
    fprintf(out, " action %s", row->action);
    for (uint32_t i = 0; i < row->arguments_len; i++) {
        fprintf(out, " %s 0x%" PRIx64, row->arguments[i].name, row->data[i]);
    }
    fputc('\n', out);
}

static void write_table(const struct pd_p4_list *list, const struct pd_p4_table *table, FILE *out)
{
    for (size_t i = 0; i < list->rows_len; i++) {
        if (list->rows[i].table == table) {
            write_row(&list->rows[i], out);
        }
    }
}

static void write_array(const struct pd_p4_list *list, const char *array, FILE *out)
{
    for (size_t i = 0; i < list->numbers_len; i++) {
        if (!strcmp(list->numbers[i].array, array)) {
            fprintf(out, "%" PRIu32 " %" PRIu64 "\n", list->numbers[i].index,
                    list->numbers[i].value);
        }
    }
}

/* All on one stream: the name of each file stands before it. */
static int write_all(const struct pd_p4_list *list, const char *p4info, FILE *out,
                     struct pd_error *error)
{
    (void)p4info;
    (void)error;
    for (size_t i = 0; i < list->rows_len; i++) {
        if (!i || list->rows[i - 1].table != list->rows[i].table) {
            fprintf(out, "# %s.swx\n", list->rows[i].table->name);
            write_table(list, list->rows[i].table, out);
        }
    }
    for (size_t i = 0; i < list->numbers_len; i++) {
        if (!i || strcmp(list->numbers[i - 1].array, list->numbers[i].array) != 0) {
            fprintf(out, "# %s.array\n", list->numbers[i].array);
            write_array(list, list->numbers[i].array, out);
        }
    }
    return 0;
}

const struct pd_p4_writer pd_p4_swx = {
    .name = "swx", .write = write_all, .write_table = write_table, .write_array = write_array};
