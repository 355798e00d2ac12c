/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a list of servers, each kept until it is whole. */
#include "fleet/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct run {
    struct pd_collected *peers;
    pd_collected_ended *ended;
    void *context;
};

static int take(void *context, size_t i, const char *bytes, size_t len)
{
    struct pd_collected *peer = &((struct run *)context)->peers[i];

    if (PD_GROW(peer->answer, peer->room, peer->len + len)) {
        return -ENOMEM;
    }
    memcpy(peer->answer + peer->len, bytes, len);
    peer->len += len;
    return 0;
}

static void give_up(struct pd_collected *peer)
{
    free(peer->answer);
    peer->answer = NULL;
    peer->len = peer->room = 0;
}

static void end(void *context, size_t i, const struct pd_error *error)
{
    const struct run *run = context;
    struct pd_collected *peer = &run->peers[i];

    peer->error = *error;
    if (run->ended) {
        run->ended(run->context, i, peer);
        give_up(peer);
    }
}

/* NULL without memory. */
static struct pd_fanout_peer *peers_of(const struct pd_collected *collected, size_t len)
{
    struct pd_fanout_peer *peers = calloc(len + 1, sizeof *peers);

    for (size_t i = 0; peers && i < len; i++) {
        const struct pd_collected *one = &collected[i];

        peers[i] = (struct pd_fanout_peer){.url = one->url,
                                           .route = one->route,
                                           .body = one->body,
                                           .body_bytes = one->body ? strlen(one->body) : 0};
    }
    return peers;
}

int pd_fleet_collect(struct pd_fanout *fanout, const struct pd_fanout_request *request,
                     struct pd_collected *peers, size_t len, pd_collected_ended *ended,
                     void *context)
{
    struct run run = {peers, ended, context};
    const struct pd_fanout_sink sink = {.context = &run, .take = take, .end = end};
    struct pd_fanout_peer *asked = len ? peers_of(peers, len) : NULL;
    struct pd_error error = {0};
    int err = asked ? pd_fleet_fanout_ask(fanout, request, asked, len, &sink) : len ? -ENOMEM : 0;

    free(asked);
    if (err) {
        pd_fail(&error, err, "not asked: %s", pd_error_text(err));
    }
    for (size_t i = 0; err && i < len; i++) {
        end(&run, i, &error);
    }
    return err;
}

void pd_fleet_collected_done(struct pd_collected *peers, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        give_up(&peers[i]);
    }
}
