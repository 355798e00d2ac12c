/* SPDX-License-Identifier: Apache-2.0 */
/* Static files: a table inside the program, or a folder. */
#ifndef PD_HTTP_FILES_H
#define PD_HTTP_FILES_H

#include <stddef.h>

#include "http/answer.h"
#include "http/server.h"

/* The table is made by the build (cmake/files.cmake): the bytes of each file and the same packed,
 * so that nothing is packed while somebody waits. A client that keeps a file asks whether it has
 * changed and gets 304 (ETag, RFC 9110, 13.1.2). A folder serves work on the files: it is read at
 * each request, and nothing is packed.
 *
 * Names are one or two words of letters, digits, `.`, `-` and `_`, with a `/` between; none begins
 * with a dot. So no name leads out of the folder.
 *
 * Thread safety: immutable once opened. */

#define PD_FILE_MAX_BYTES ((size_t)4 << 20) /* of a file in a folder */

struct pd_file {
    const char *name; /* "vendor/uplot.js" */
    const char *bytes, *end;
    const char *packed, *packed_end; /* gzip */
};

struct pd_files;

/* `table` ends with a NULL name and must stay; `folder` NULL: the table is served. -ENOMEM, or
 * -errno in words where the folder cannot be opened. */
int pd_http_files_open(const struct pd_file *table, const char *folder, struct pd_files **ret_files,
                       struct pd_error *error);
void pd_http_files_close(struct pd_files *files); /* NULL is fine */

/* The file as an answer to this request. -PD_E_NOT_FOUND, -PD_E_TOO_LARGE, -ENOMEM or -errno. */
int pd_http_files_answer(const struct pd_files *files, const char *name,
                         const struct pd_http_request *request, struct pd_answer *answer,
                         struct pd_problem *problem);

#endif
