/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of applications to the agents of many hosts at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "controller/apps/private.h"

#define ANSWER_MAX_BYTES (UINT64_C(4) << 20) /* of one agent */
#define AT_ONCE          64

struct reply {
    uint32_t host;
    char *bytes;
    size_t len, room;
    struct pd_error error;
};

struct round {
    struct reply *replies;
    struct pd_fanout_peer *peers;
    size_t len;
};

static int take(void *context, size_t i, const char *bytes, size_t len)
{
    struct reply *reply = &((struct round *)context)->replies[i];

    if (PD_GROW(reply->bytes, reply->room, reply->len + len)) {
        return -ENOMEM;
    }
    memcpy(reply->bytes + reply->len, bytes, len);
    reply->len += len;
    return 0;
}

static void end(void *context, size_t i, const struct pd_error *error)
{
    ((struct round *)context)->replies[i].error = *error;
}

static bool is_wanted(const json_t *hosts, uint32_t id)
{
    for (size_t i = 0; hosts && i < json_array_size(hosts); i++) {
        if (json_integer_value(json_array_get(hosts, i)) == (json_int_t)id) {
            return true;
        }
    }
    return !hosts;
}

static int choose(const struct pd_inventory *inventory, const json_t *hosts, struct round *round)
{
    round->replies = calloc(inventory->hosts_len + 1, sizeof *round->replies);
    round->peers = calloc(inventory->hosts_len + 1, sizeof *round->peers);
    if (!round->replies || !round->peers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < inventory->hosts_len; i++) {
        if (is_wanted(hosts, inventory->hosts[i].id)) {
            round->replies[round->len].host = inventory->hosts[i].id;
            round->peers[round->len++].url = inventory->hosts[i].url;
        }
    }
    return 0;
}

static json_t *reply_json(const struct reply *reply)
{
    json_t *answer;

    if (reply->error.code) {
        return json_pack("{s:I, s:s}", "host", (json_int_t)reply->host, "error", reply->error.text);
    }
    answer = json_loadb(reply->bytes ? reply->bytes : "", reply->len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(answer)) {
        json_decref(answer);
        return json_pack("{s:I, s:s}", "host", (json_int_t)reply->host, "error",
                         "its answer is no JSON object");
    }
    return json_pack("{s:I, s:o}", "host", (json_int_t)reply->host, "answer", answer);
}

/* Hosts that were asked for and have no agent are told, too. */
static bool add_unknown(const struct pd_inventory *inventory, const json_t *hosts, json_t *answers)
{
    for (size_t i = 0; hosts && i < json_array_size(hosts); i++) {
        const json_int_t id = json_integer_value(json_array_get(hosts, i));

        if (pd_controller_inventory_find(inventory, (uint32_t)id) == SIZE_MAX &&
            json_array_append_new(
                answers, json_pack("{s:I, s:s}", "host", id, "error", "it has no agent"))) {
            return false;
        }
    }
    return true;
}

static int collect(const struct pd_inventory *inventory, const json_t *hosts,
                   const struct round *round, json_t **ret_answers)
{
    json_t *answers = json_array();
    bool fine = answers && add_unknown(inventory, hosts, answers);

    for (size_t i = 0; fine && i < round->len; i++) {
        fine = !json_array_append_new(answers, reply_json(&round->replies[i]));
    }
    if (!fine) {
        json_decref(answers);
        return -ENOMEM;
    }
    *ret_answers = answers;
    return 0;
}

static void done(struct round *round)
{
    for (size_t i = 0; i < round->len; i++) {
        free(round->replies[i].bytes);
    }
    free(round->replies);
    free(round->peers);
}

int pd_apps_request(void *context, const char *method, const char *route, const json_t *body,
                    const json_t *hosts, json_t **ret_answers, struct pd_error *error)
{
    const struct pd_apps_world *world = context;
    struct round round = {0};
    const struct pd_fanout_sink sink = {&round, take, end, NULL};
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    const struct pd_fanout_request request = {
        .method = strcmp(method, "POST") ? method : NULL,
        .route = route,
        .type = "application/json",
        .accept = "application/json",
        .deadline_ns = pd_clock_monotonic_ns() + (uint64_t)PD_APPS_DEADLINE_MS * PD_NS_PER_MS,
        .max_bytes = ANSWER_MAX_BYTES,
        .at_once = AT_ONCE,
        .cancelled = &world->controller->stopping,
    };
    int err = body && !text ? -ENOMEM : choose(world->inventory, hosts, &round);

    for (size_t i = 0; i < round.len && text; i++) {
        round.peers[i].body = text;
        round.peers[i].body_bytes = strlen(text);
    }
    if (!err && atomic_load_explicit(&world->controller->stopping, memory_order_relaxed)) {
        err = -PD_E_BUSY;
    }
    if (!err) {
        err =
            pd_fleet_fanout_ask(world->controller->fanout, &request, round.peers, round.len, &sink);
    }
    if (!err) {
        err = collect(world->inventory, hosts, &round, ret_answers);
    }
    done(&round);
    free(text);
    return err ? pd_fail(error, err, "agents cannot be asked: %s", pd_error_text(err)) : 0;
}
