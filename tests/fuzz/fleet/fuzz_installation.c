/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the body of POST /v1/install: what is taken has a normal form, which is read as the
 * same thing. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "fleet/installation.h"
#include "http/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth) {
        abort();
    }
}

static void check(const struct pd_installation *installation)
{
    struct pd_installation again;

    require(installation->period_ms ? installation->period_ms >= PD_INSTALLATION_PERIOD_MIN_MS
                                    : installation->on < PD_TRIGGER_COUNT);
    require(installation->id <= PD_INSTALLATION_ID_MAX && installation->deadline_ms > 0);
    require(!pd_fleet_installation_parse(installation->json, &again, NULL));
    require(again.id == 0 && again.period_ms == installation->period_ms);
    require(json_equal(again.json, installation->json));
    pd_fleet_installation_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pd_installation installation;
    struct pd_error error = {0};
    json_t *json;

    if (pd_http_body_json((const char *)data, size, &json, &error)) {
        return 0;
    }
    if (!pd_fleet_installation_parse(json, &installation, &error)) {
        check(&installation);
        pd_fleet_installation_done(&installation);
    } else {
        require(error.text[0] != '\0');
    }
    json_decref(json);
    return 0;
}
