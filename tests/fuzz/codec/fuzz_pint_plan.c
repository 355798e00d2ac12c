/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry plans of any bytes: what is read is written and read again, and the same; a packet can
 * cross switches that follow it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/pint/formulas.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_round_trip(const struct pd_pint_plan *plan)
{
    struct pd_pint_plan *again = NULL;
    json_t *json = pd_pint_plan_json(plan);
    char *text = json_dumps(json, JSON_COMPACT);

    need(text != NULL);
    need(pd_pint_plan_parse(text, strlen(text), "again", &again, NULL) == 0);
    need(again->queries_len == plan->queries_len && again->sets_len == plan->sets_len);
    need(!memcmp(again->sets, plan->sets, sizeof plan->sets));
    pd_pint_plan_free(again);
    free(text);
    json_decref(json);
}

static void check_crossing(const struct pd_pint_plan *plan)
{
    uint64_t values[PD_PINT_QUERIES_MAX];
    struct pd_pint_visit visit = {.values = values};

    memset(values, 0x11, sizeof values);
    for (visit.packet_id = 0; visit.packet_id < 8; visit.packet_id++) {
        uint16_t digest = (uint16_t)(visit.packet_id * 0x1fff);
        for (visit.hop = 1; visit.hop < 20; visit.hop++) {
            visit.sw = visit.hop % 5 + 1;
            visit.first = visit.hop == 1 && visit.packet_id % 2;
            pd_pint_switch(plan, &visit, &digest);
            need(digest >> plan->bits == 0 || !visit.first);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct pd_pint_plan *plan = NULL;
    struct pd_error error = {0};

    if (pd_pint_plan_parse((const char *)bytes, len, "input", &plan, &error)) {
        need(plan == NULL && error.code != 0 && !strncmp(error.text, "input: ", 7));
        return 0;
    }
    check_round_trip(plan);
    check_crossing(plan);
    pd_pint_plan_free(plan);
    return 0;
}
