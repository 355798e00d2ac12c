/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of getPoorTCPFlows. */
#include "query/poor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "query/query.h"

#define TEXT_BYTES 64

/* Of a text or a number; NULL: neither. */
static const char *text_of(const json_t *value, char room[TEXT_BYTES])
{
    const char *text = json_string_value(value);

    if (text) {
        return strlen(text) == json_string_length(value) ? text : NULL;
    }
    if (json_is_integer(value)) {
        snprintf(room, TEXT_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value) && json_real_value(value) >= 0 &&
               json_real_value(value) < 1e15) {
        snprintf(room, TEXT_BYTES, "%.6f", json_real_value(value));
    } else {
        return NULL;
    }
    return room;
}

static int read_one(const char *name, const char *text, struct pd_poor_question *question,
                    struct pd_error *error)
{
    if (!strcmp(name, "threshold")) {
        return text && !pd_query_number(text, UINT32_MAX, &question->threshold)
                   ? 0
                   : pd_fail(error, -PD_E_VALUE,
                             "threshold: expected a number from 0 to 4294967295");
    }
    if (strcmp(name, "from") != 0) {
        pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown parameter of " PD_POOR_NAME, name);
        if (error) {
            pd_printable(error->text);
        }
        return -PD_E_UNKNOWN_KEY;
    }
    if (!text || pd_time_parse(text, &question->from_us)) {
        return pd_fail(error, -PD_E_VALUE,
                       "from: expected seconds since the epoch (1700000000.25) or RFC 3339 "
                       "(2026-11-21T01:02:03Z)");
    }
    question->has_from = true;
    return 0;
}

int pd_poor_read(const json_t *args, struct pd_poor_question *ret_question, struct pd_error *error)
{
    struct pd_poor_question question = {.threshold = PD_POOR_THRESHOLD};
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)args, name, value)
    {
        char room[TEXT_BYTES];
        int e = read_one(name, text_of(value, room), &question, error);

        if (e) {
            return e;
        }
    }
    *ret_question = question;
    return 0;
}
