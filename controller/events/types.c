/* SPDX-License-Identifier: Apache-2.0 */
/* The table of types of events, and how an event is written. */
#include "controller/events/types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

const struct pd_event_type pd_event_host = {.name = "host"};
const struct pd_event_type pd_event_switch = {.name = "switch"};
const struct pd_event_type pd_event_verdict = {.name = "verdict"};
const struct pd_event_type pd_event_reload = {.name = "reload"};

const struct pd_event_type *const pd_event_types[] = {
    &pd_event_alarm,     &pd_event_host, &pd_event_switch, &pd_event_verdict, &pd_event_reload,
    &pd_link_event_link, NULL,
};
_Static_assert(sizeof pd_event_types / sizeof(void *) <= PD_EVENT_TYPES_MAX + 1,
               "a stream has room for a source of each");

static int reserve(struct pd_event_out *out, size_t more)
{
    return PD_GROW(out->bytes, out->size, out->len + more);
}

int pd_event_put(struct pd_event_out *out, const char *type, uint64_t id, const char *json,
                 size_t len)
{
    char head[96];
    int head_len = id ? snprintf(head, sizeof head, "id: %" PRIu64 "\nevent: %s\ndata: ", id, type)
                      : snprintf(head, sizeof head, "event: %s\ndata: ", type);
    int err = reserve(out, (size_t)head_len + len + 2);

    if (err) {
        return err;
    }
    memcpy(out->bytes + out->len, head, (size_t)head_len);
    memcpy(out->bytes + out->len + head_len, json, len);
    memcpy(out->bytes + out->len + head_len + len, "\n\n", 2);
    out->len += (size_t)head_len + len + 2;
    return 0;
}

int pd_event_comment(struct pd_event_out *out, const char *words)
{
    size_t len = strlen(words);
    int err = reserve(out, len + 4);

    if (!err) {
        out->len += (size_t)sprintf(out->bytes + out->len, ":%s\n\n", words);
    }
    return err;
}
