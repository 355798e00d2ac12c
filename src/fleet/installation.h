/* SPDX-License-Identifier: Apache-2.0 */
/* What is installed: a query document, and when it is to run; one form for controller, agents and
 * their files. */
#ifndef PD_FLEET_INSTALLATION_H
#define PD_FLEET_INSTALLATION_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/asker.h"
#include "query/document.h"

/* {"id":N, "query"|"program":…, "args":{…}, "period_ms":N | "on":"new_flow|evicted|alarm",
 * "deadline_ms":N, "by":NAME}. The normal form has no ID, and the members of a query document as
 * pd_query_document_json writes them: what is the same gives the same JSON.
 *
 * Thread safety: an installation is the caller's; its JSON is not changed once it is parsed, so
 * references may be handed on. */

#define PD_TRIGGERS(X)                                          \
    X(NEW_FLOW, "new_flow", "first packet of a flow on a path") \
    X(EVICTED, "evicted", "a record is finished")               \
    X(ALARM, "alarm", "an alarm of this host")

enum pd_trigger {
#define X(name, id, text) PD_TRIGGER_##name,
    PD_TRIGGERS(X)
#undef X
        PD_TRIGGER_COUNT
};

#define PD_INSTALLATION_PERIOD_MIN_MS   10
#define PD_INSTALLATION_PERIOD_MAX_MS   (UINT64_C(86400000) * 366)
#define PD_INSTALLATION_DEADLINE_MS     5000 /* of a run, when the document does not say */
#define PD_INSTALLATION_DEADLINE_MAX_MS 60000
#define PD_INSTALLATION_ID_MAX          ((UINT64_C(1) << 53) - 1)
/* IDs from here on are chosen by agents, smaller ones by whoever installs. */
#define PD_INSTALLATION_OWN_IDS (UINT64_C(1) << 40)

/* Most that a host, and a controller, takes. */
#define PD_INSTALLATIONS_MAX       256
#define PD_INSTALLATIONS_BYTES_MAX ((size_t)16 << 20) /* of all together, as JSON */

struct pd_installation {
    uint64_t id; /* 0: none was given */
    struct pd_document document;
    uint64_t period_ms; /* 0: on events */
    enum pd_trigger on;
    uint64_t deadline_ms;
    char by[PD_FLEET_ASKER_BYTES]; /* who has installed it; "": not known */
    json_t *json;                  /* the normal form */
    size_t json_bytes;
};

/* -PD_E_VALUE, -PD_E_UNKNOWN_KEY and what else pd_query_document_parse returns; the words begin
 * with the member. */
int pd_fleet_installation_parse(const json_t *json, struct pd_installation *ret_installation,
                                struct pd_error *error);
void pd_fleet_installation_done(struct pd_installation *installation); /* a zeroed one is fine */

/* Notes in the body of a request who installs it. Only a controller, an admin, may say that for
 * somebody else. -PD_E_FORBIDDEN, -ENOMEM. */
int pd_fleet_installation_name(json_t *body, const struct pd_http_request *request,
                               struct pd_error *error);

const char *pd_fleet_trigger_id(enum pd_trigger trigger);
int pd_fleet_trigger_parse(const char *id, enum pd_trigger *ret_trigger); /* 0 or -PD_E_VALUE */

#endif
