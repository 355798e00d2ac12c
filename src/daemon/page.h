/* SPDX-License-Identifier: Apache-2.0 */
/* The page of the map as whoever serves it sees it: files, and a way to them. */
#ifndef PD_DAEMON_PAGE_H
#define PD_DAEMON_PAGE_H

#include "daemon/rest.h"
#include "http/files.h"

/* The page is built into the program (library pd_web, folder web/). Thread safety: opened before
 * the first request, closed after the last one; immutable between. */

extern const struct pd_file pd_web_files[]; /* of the library pd_web */

struct pd_page {
    struct pd_files *files; /* NULL: there is no page */
};

/* `folder` NULL: `table` is served. 0, -ENOMEM, or -errno in words. */
int pd_daemon_page_open(struct pd_page *page, const struct pd_file *table, const char *folder,
                        struct pd_error *error);
void pd_daemon_page_close(struct pd_page *page);

/* "/" leads to the page. */
int pd_daemon_page_lead(const struct pd_page *page, struct pd_answer *answer,
                        struct pd_problem *problem);

/* `call->id`, in the folder ("" or "vendor/"); no ID: the page itself. */
int pd_daemon_page_answer(const struct pd_page *page, const char *folder,
                          const struct pd_call *call, struct pd_answer *answer,
                          struct pd_problem *problem);

#endif
