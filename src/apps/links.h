/* SPDX-License-Identifier: Apache-2.0 */
/* Link metrics for applications: what the world knows of directed links now. */
#ifndef PD_APPS_LINKS_H
#define PD_APPS_LINKS_H

#include "apps/apps.h"

/* By directed number (topology/links.h), of links between switches. Belongs to one thread. */
struct pd_app_links {
    float *values; /* NAN: not known */
    uint32_t len;
    uint32_t known; /* values that are */
};

/* A metric of now (GET /v1/links/metrics). What is not known is said in the report: all of it where
 * the world measures no links. 0 or a negative error in words; pd_app_links_done() always. */
int pd_app_links_read(const struct pd_app_call *call, const char *metric, struct pd_report *report,
                      struct pd_app_links *ret_links, struct pd_error *error);
void pd_app_links_done(struct pd_app_links *links);

/* The ends of a directed link, as IDs. */
struct pd_link_match pd_app_links_ends(const struct pd_app_call *call, uint32_t link);

#endif
