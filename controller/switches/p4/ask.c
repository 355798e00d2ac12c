/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the control of pathdump-switch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/switches/p4/private.h"
#include "fleet/collect.h"

#define ANSWER_BYTES ((uint64_t)16 << 20)
#define PATIENCE_NS  (2 * PD_NS_PER_S)

int pd_switch_p4_ask(struct pd_p4_provider *p4, uint32_t control, const char *route,
                     const char *body, char **ret_answer, size_t *ret_len, struct pd_error *error)
{
    struct pd_collected peer = {.url = p4->controls[control], .body = body};
    const struct pd_fanout_request request = {.method = body ? "PUT" : "GET",
                                              .route = route,
                                              .type = "application/json",
                                              .accept = "application/json, application/x-ndjson",
                                              .deadline_ns = pd_clock_monotonic_ns() + PATIENCE_NS,
                                              .max_bytes = ANSWER_BYTES,
                                              .cancelled = &p4->stopped};
    int err = pd_fleet_collect(p4->fanout, &request, &peer, 1, NULL, NULL);

    if (!err && !peer.error.code) {
        *ret_answer = peer.answer;
        *ret_len = peer.len;
        return 0;
    }
    err = err ? err : peer.error.code;
    pd_fail(error, err, "%s: %.100s", peer.url,
            peer.error.text[0] ? peer.error.text : pd_error_text(err));
    pd_fleet_collected_done(&peer, 1);
    return err;
}

int pd_switch_p4_ask_json(struct pd_p4_provider *p4, uint32_t control, const char *route,
                          const json_t *body, json_t **ret_answer, struct pd_error *error)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL, *answer = NULL;
    size_t len = 0;
    int err = body && !text ? pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM))
                            : pd_switch_p4_ask(p4, control, route, text, &answer, &len, error);
    json_t *document = !err && answer ? json_loadb(answer, len, 0, NULL) : NULL;

    free(text);
    free(answer);
    if (!err && !json_is_object(document)) {
        err =
            pd_fail(error, -PD_E_SYNTAX, "%s: its answer is no JSON object", p4->controls[control]);
    }
    if (err) {
        json_decref(document);
        return err;
    }
    *ret_answer = document;
    return 0;
}
