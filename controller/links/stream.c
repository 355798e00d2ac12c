/* SPDX-License-Identifier: Apache-2.0 */
/* Events `link`: each stream follows metrics of its choice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/links/private.h"
#include "controller/links/wanted.h"

#define FULL_NS (60 * PD_NS_PER_S)

struct source {
    struct pd_links *links;
    bool metrics[PD_LINK_METRICS_MAX];
    uint64_t seen; /* number of the sample that was told last; 0: none */
    uint64_t full_ns;
};

static int open_links(struct pd_controller *controller, const struct pd_event_request *request,
                      void **ret_source, struct pd_problem *problem)
{
    struct source *source = calloc(1, sizeof *source);
    int err = source ? pd_links_read_metrics(request->parameter, source->metrics, &problem->error)
                     : -ENOMEM;

    if (err) {
        snprintf(problem->parameter, sizeof problem->parameter, "metrics");
        free(source);
        return err;
    }
    source->links = controller->links;
    pd_links_follow(source->links);
    *ret_source = source;
    return 0;
}

/* Each metric of the newest sample: what has changed when the stream has the one before. */
static int tell(struct source *source, bool full, struct pd_event_out *out)
{
    int err = 0;

    for (unsigned m = 0; pd_link_metrics[m] && !err; m++) {
        const struct pd_link_text *text = NULL;

        if (source->metrics[m]) {
            text = full ? NULL : pd_links_text(source->links, m, false);
            text = text ? text : pd_links_text(source->links, m, true);
        }
        if (text) {
            err = pd_event_put(out, "link", 0, text->bytes, text->len);
        }
    }
    return err;
}

static int read_links(void *context, struct pd_event_out *out)
{
    struct source *source = context;
    struct pd_links *links = source->links;
    uint64_t now_ns = pd_clock_monotonic_ns();
    int err = 0;

    pthread_mutex_lock(&links->lock);
    if (links->newest && links->newest->number != source->seen) {
        bool full =
            source->seen + 1 != links->newest->number || !source->seen || now_ns >= source->full_ns;

        err = tell(source, full, out);
        source->full_ns = full ? now_ns + FULL_NS : source->full_ns;
        source->seen = links->newest->number;
    }
    pthread_mutex_unlock(&links->lock);
    return err;
}

static void close_links(void *context)
{
    struct source *source = context;

    pd_links_unfollow(source->links);
    free(source);
}

const struct pd_event_type pd_link_event_link = {.name = "link",
                                                 .parameter = "metrics",
                                                 .by_name = true,
                                                 .open = open_links,
                                                 .read = read_links,
                                                 .close = close_links};
