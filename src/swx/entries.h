/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a switch's tables and numbers of its arrays, from files and from the control socket. */
#ifndef PD_SWX_ENTRIES_H
#define PD_SWX_ENTRIES_H

#include <stddef.h>

#include "base/error.h"
#include "swx/pipeline.h"

/* What a table holds is kept as lines, one a row, in the form of docs/formats/switch-tables.md: it
 * is what is asked for, and what a new list is compared with, so that only rows that change are
 * touched.
 *
 * One thread. */

#define PD_SWX_ROWS_BYTES_MAX (64u << 20)

struct pd_swx_rows {
    char **lines; /* sorted; each once */
    size_t len, room;
};

struct pd_swx_entries {
    struct pd_swx_pipeline *pipeline;
    struct pd_swx_rows *tables; /* one for each of the pipeline's */
};

/* 0 or -ENOMEM. */
int pd_swx_entries_open(struct pd_swx_pipeline *pipeline, struct pd_swx_entries *ret_entries);
void pd_swx_entries_close(struct pd_swx_entries *entries); /* works on a zeroed one, too */

/* Reads all NAME.swx and NAME.array of a folder: a file that belongs to no table, a row that does
 * not fit, a number that is none are errors with file and line. Files that `skip` names (ended by
 * NULL) are somebody else's. */
int pd_swx_entries_read(struct pd_swx_entries *entries, const char *folder, const char *const *skip,
                        struct pd_error *error);

/* Makes these lines the table's rows: all or none. `name` stands for them in errors. */
int pd_swx_entries_replace(struct pd_swx_entries *entries, uint32_t table, char *text,
                           const char *name, struct pd_error *error);

/* Rows of a table, without its default. */
size_t pd_swx_entries_len(const struct pd_swx_entries *entries, uint32_t table);

/* Numbers as `INDEX VALUE`, one a line. */
int pd_swx_entries_array(struct pd_swx_entries *entries, const char *array, char *text,
                         const char *name, struct pd_error *error);

/* A whole file, ended by NUL; the caller frees it. */
int pd_swx_entries_text(const char *file, char **ret_text, struct pd_error *error);

#endif
