/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page behind their routes. */
#include "daemon/page.h"

#include <stdio.h>

int pd_daemon_page_open(struct pd_page *page, const struct pd_file *table, const char *folder,
                        struct pd_error *error)
{
    return pd_http_files_open(table, folder, &page->files, error);
}

void pd_daemon_page_close(struct pd_page *page)
{
    pd_http_files_close(page->files);
    page->files = NULL;
}

static int check(const struct pd_page *page, struct pd_problem *problem)
{
    return page->files ? 0 : pd_fail(&problem->error, -PD_E_NOT_FOUND, "no page is served here");
}

int pd_daemon_page_lead(const struct pd_page *page, struct pd_answer *answer,
                        struct pd_problem *problem)
{
    int err = check(page, problem);

    if (!err) {
        answer->http_status = 302;
        answer->location = "/map";
    }
    return err;
}

int pd_daemon_page_answer(const struct pd_page *page, const char *folder,
                          const struct pd_call *call, struct pd_answer *answer,
                          struct pd_problem *problem)
{
    char name[PD_ROUTE_ID_BYTES + 16];
    int err = check(page, problem);

    if (err) {
        return err;
    }
    snprintf(name, sizeof name, "%s%s", folder, *call->id ? call->id : "index.html");
    return pd_http_files_answer(page->files, name, call->http, answer, problem);
}
