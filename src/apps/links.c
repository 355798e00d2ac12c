/* SPDX-License-Identifier: Apache-2.0 */
/* Link metrics, read from the world. */
#include "apps/links.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "topology/links.h"

int pd_app_links_read(const struct pd_app_call *call, const char *metric, struct pd_report *report,
                      struct pd_app_links *ret_links, struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    struct pd_app_links links = {.len = 2 * world->topology->fabric_links_len};

    *ret_links = (struct pd_app_links){0};
    if (!world->ops->links) {
        pd_app_report_lacks(report, "%s of links: nobody measures it here", metric);
        return 0;
    }
    links.values = calloc((size_t)links.len + 1, sizeof *links.values);
    if (!links.values) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    int err = world->ops->links(world->context, metric, links.values, links.len, error);
    for (uint32_t i = 0; i < links.len && !err; i++) {
        links.known += !isnan(links.values[i]);
    }
    *ret_links = links;
    if (!err && links.known < links.len) {
        pd_app_report_lacks(report, "%s of %u of %u directed links: no probe tells it", metric,
                            links.len - links.known, links.len);
    }
    return err;
}

void pd_app_links_done(struct pd_app_links *links)
{
    free(links->values);
    *links = (struct pd_app_links){0};
}

struct pd_link_match pd_app_links_ends(const struct pd_app_call *call, uint32_t link)
{
    return (struct pd_link_match){pd_topology_links_from_id(call->world->topology, link),
                                  pd_topology_links_to_id(call->world->topology, link)};
}
