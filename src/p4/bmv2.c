/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as commands of bmv2's simple_switch_CLI. */
#include <inttypes.h>

#include "p4/writers.h"

#define PRIORITY_TOP 100000u /* here the smaller number wins */

static void write_row(const struct pd_p4_row *row, FILE *out)
{
    fprintf(out, "table_add %s %s", row->table->name, row->source_action);
    for (uint32_t i = 0; i < row->table->keys_len; i++) {
        fprintf(out, " 0x%" PRIx64, row->values[i]);
        if (row->table->keys[i].match == PD_P4_TERNARY) {
            fprintf(out, "&&&0x%" PRIx64, row->masks[i]);
        } else if (row->table->keys[i].match == PD_P4_LPM) {
            fprintf(out, "/%d", __builtin_popcountll(row->masks[i]));
        }
    }
    fputs(" =>", out);
    for (uint32_t i = 0; i < row->arguments_len; i++) {
        fprintf(out, " 0x%" PRIx64, row->data[i]);
    }
    if (pd_p4_has_priority(row->table)) {
        fprintf(out, " %" PRIu32, PRIORITY_TOP - row->priority);
    }
    fputc('\n', out);
}

static int write_all(const struct pd_p4_list *list, const char *p4info, FILE *out,
                     struct pd_error *error)
{
    (void)p4info;
    (void)error;
    for (size_t i = 0; i < list->rows_len; i++) {
        if (list->rows[i].table != &list->slow) {
            write_row(&list->rows[i], out);
        }
    }
    for (size_t i = 0; i < list->numbers_len; i++) {
        fprintf(out, "register_write %s %" PRIu32 " %" PRIu64 "\n", list->numbers[i].array,
                list->numbers[i].index, list->numbers[i].value);
    }
    return 0;
}

const struct pd_p4_writer pd_p4_bmv2 = {.name = "bmv2", .write = write_all};
