/* SPDX-License-Identifier: Apache-2.0 */
/* Violations that installed conformance queries find: one alarm for each, and what the last answer
 * shows of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/installed/list.h"
#include "query/rows/out.h"

#define LIST_MAX  100  /* violations in a last answer */
#define ROW_BYTES 2048 /* of a record as JSON */

struct row {
    size_t len;
    char bytes[ROW_BYTES];
};

static int take_row(void *context, const char *bytes, size_t len)
{
    struct row *row = context;

    if (len > sizeof row->bytes - row->len) {
        return -PD_E_TOO_LARGE;
    }
    memcpy(row->bytes + row->len, bytes, len);
    row->len += len;
    return 0;
}

json_t *pd_installed_record_json(const struct pd_tib_record *record)
{
    struct pd_rows_out *out = malloc(sizeof *out);
    struct row row = {.len = 0};
    struct pd_query_sink sink = {&row, take_row};
    json_t *json = NULL;

    if (!out) {
        return NULL;
    }
    pd_rows_out_begin(out, PD_FORM_JSON, &sink);
    pd_rows_out_record(out, record);
    if (!pd_rows_out_end(out)) {
        json = json_loadb(row.bytes, row.len, 0, NULL);
    }
    free(out);
    return json;
}

static void list_violation(json_t *list, const struct pd_tib_record *record, const char *rule)
{
    json_t *row = json_array_size(list) < LIST_MAX ? pd_installed_record_json(record) : NULL;

    if (!row) {
        return;
    }
    json_array_append_new(list,
                          json_pack("{s:O, s:O, s:s}", "flow_id", json_object_get(row, "flow_id"),
                                    "path", json_object_get(row, "path"), "rule", rule));
    json_decref(row);
}

unsigned pd_installed_raise(struct pd_installed *installed, struct pd_installed_query *query,
                            const struct pd_tib_record *record, const char *rule, json_t *list)
{
    char detail[120];
    const struct pd_installed_alarm alarm = {.reason = "PC_FAIL",
                                             .flow = &record->flow,
                                             .path = record->path,
                                             .mark = record->claim ? &record->claim->mark : NULL,
                                             .detail = detail,
                                             .by = query->what.by};

    if (!pd_installed_raised_add(query->raised, record, rule)) {
        return 0;
    }
    snprintf(detail, sizeof detail, "%s does not hold (installed query %llu)", rule,
             (unsigned long long)query->id);
    installed->host.alarm(installed->host.context, &alarm);
    list_violation(list, record, rule);
    return 1;
}
