/* SPDX-License-Identifier: Apache-2.0 */
/* Askers from and to JSON. */
#include "fleet/asker.h"

#include <stdio.h>
#include <string.h>

#include "http/text.h"

struct pd_fleet_asker pd_fleet_asker_of(const struct pd_http_request *request)
{
    struct pd_fleet_asker asker = {.role = request->role};

    snprintf(asker.name, sizeof asker.name, "%s", request->peer ? request->peer : "");
    return asker;
}

json_t *pd_fleet_asker_json(const struct pd_fleet_asker *asker)
{
    return json_pack("{s:o, s:s}", "name", pd_http_text_json(asker->name), "role",
                     pd_http_role_id(asker->role));
}

int pd_fleet_asker_read(const json_t *value, struct pd_fleet_asker *ret_asker,
                        struct pd_error *error)
{
    const char *name = json_string_value(json_object_get(value, "name"));
    const char *role = json_string_value(json_object_get(value, "role"));
    struct pd_fleet_asker asker;

    if (json_object_size(value) != 2 || !name || strlen(name) >= sizeof asker.name || !role ||
        pd_http_role_parse(role, &asker.role)) {
        return pd_fail(error, -PD_E_VALUE, "asker: expects {\"name\", \"role\"}");
    }
    snprintf(asker.name, sizeof asker.name, "%s", name);
    *ret_asker = asker;
    return 0;
}

bool pd_fleet_asker_may_alarm(const struct pd_fleet_asker *asker)
{
    return pd_http_role_may(asker->role, PD_ROLE_INSTALL);
}
