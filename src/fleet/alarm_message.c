/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms as JSON: written by the agent, checked by the controller. */
#include "fleet/alarm_message.h"

#include <string.h>

#include "http/text.h"
#include "query/members.h"
#include "query/rows/out.h"

#define USER "USER_"

static const char *const origin_ids[] = {
#define X(name, id, text) [PD_ALARM_ORIGIN_##name] = id,
    PD_ALARM_ORIGINS(X)
#undef X
};

bool pd_fleet_alarm_reason_holds(const char *text)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    return len && len < PD_ALARM_REASON_BYTES && !text[len] && *text >= 'A' && *text <= 'Z';
}

const char *pd_fleet_alarm_origin_id(enum pd_alarm_origin origin)
{
    return origin_ids[origin];
}

static bool begins(const char *reason, const char *prefix)
{
    return !strncmp(reason, prefix, strlen(prefix));
}

bool pd_fleet_alarm_origin_fits(enum pd_alarm_origin origin, const char *reason)
{
    bool ours = begins(reason, "APP_") || begins(reason, "SWITCH_");

    switch (origin) {
    case PD_ALARM_ORIGIN_PROGRAM: return begins(reason, USER);
    case PD_ALARM_ORIGIN_APP: return ours;
    case PD_ALARM_ORIGIN_MONITOR: return !ours && !begins(reason, USER);
    default: return !ours;
    }
}

/* ---- writing ---- */

static json_t *flow_json(const struct pd_flow_id *flow)
{
    return flow->ip_version ? pd_query_flow_id_json(flow) : json_null();
}

static uint64_t count_of(const struct pd_alarm_message *message)
{
    return message->count ? message->count : 1;
}

json_t *pd_fleet_alarm_message_json(const struct pd_alarm_message *message)
{
    json_t *paths = json_array();

    for (unsigned i = 0; i < message->paths_len; i++) {
        json_array_append_new(paths, pd_query_path_json(&message->paths[i]));
    }
    json_t *object = json_pack(
        "{s:I, s:s, s:o, s:o, s:o, s:s, s:o, s:I}", "time_us", (json_int_t)message->time_us,
        "reason", message->reason, "flow_id", flow_json(&message->flow), "paths", paths, "detail",
        pd_http_text_json(message->detail), "origin", origin_ids[message->origin], "by",
        *message->by ? pd_http_text_json(message->by) : json_null(), "count",
        (json_int_t)count_of(message));
    if (message->unverified) {
        json_object_set_new(object, "unverified", json_true());
    }
    return object;
}

/* ---- writing, without a tree in between ---- */

struct text {
    char *bytes;
    size_t len;
};

static int take_text(void *context, const char *bytes, size_t len)
{
    struct text *text = context;

    if (len > PD_ALARM_MESSAGE_MAX_BYTES - text->len) {
        return -PD_E_TOO_LARGE;
    }
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    return 0;
}

/* With the quotes around it. */
static void put_words(struct pd_rows_out *out, const char *words)
{
    static const char digits[] = "0123456789abcdef";
    char escaped[6 * PD_ALARM_MESSAGE_DETAIL + 3], *at = escaped;

    *at++ = '"';
    for (; *words; words++) {
        unsigned char c = (unsigned char)*words;

        if (c < 0x20) {
            memcpy(at, "\\u00", 4);
            at[4] = digits[c >> 4];
            at[5] = digits[c & 15];
            at += 6;
            continue;
        }
        if (c == '"' || c == '\\') {
            *at++ = '\\';
        }
        *at++ = *words;
    }
    memcpy(at, "\"", 2);
    pd_rows_out_text(out, escaped);
}

static void put_origin(struct pd_rows_out *out, const struct pd_alarm_message *message)
{
    pd_rows_out_text(out, ",\"origin\":\"");
    pd_rows_out_text(out, origin_ids[message->origin]);
    pd_rows_out_text(out, "\",\"by\":");
    if (*message->by) {
        put_words(out, message->by);
    } else {
        pd_rows_out_text(out, "null");
    }
    pd_rows_out_member(out, ",\"count\":", count_of(message));
}

size_t pd_fleet_alarm_message_text(const struct pd_alarm_message *message,
                                   char bytes[PD_ALARM_MESSAGE_MAX_BYTES])
{
    struct text text = {bytes, 0};
    const struct pd_query_sink sink = {&text, take_text};
    struct pd_rows_out out;

    pd_rows_out_begin(&out, PD_FORM_JSON, &sink);
    pd_rows_out_member(&out, "\"time_us\":", message->time_us);
    pd_rows_out_text(&out, ",\"reason\":\"");
    pd_rows_out_text(&out, message->reason);
    pd_rows_out_text(&out, "\",\"flow_id\":");
    if (message->flow.ip_version) {
        pd_rows_out_flow_id(&out, &message->flow);
    } else {
        pd_rows_out_text(&out, "null");
    }
    pd_rows_out_text(&out, ",\"paths\":[");
    for (unsigned i = 0; i < message->paths_len; i++) {
        pd_rows_out_text(&out, i ? "," : "");
        pd_rows_out_switches(&out, &message->paths[i]);
    }
    pd_rows_out_text(&out, "],\"detail\":");
    put_words(&out, message->detail);
    put_origin(&out, message);
    pd_rows_out_text(&out, message->unverified ? ",\"unverified\":true}" : "}");
    return pd_rows_out_end(&out) ? 0 : text.len;
}

/* ---- reading ---- */

static int wrong(struct pd_error *error, const char *member, const char *expected)
{
    return pd_fail(error, -PD_E_VALUE, "%s: expects %s", member, expected);
}

static int read_flow(const json_t *object, struct pd_flow_id *ret_flow, struct pd_error *error)
{
    if (json_is_object(object)) {
        return pd_query_flow_id_read(object, ret_flow, error);
    }
    if (!json_is_null(object)) {
        return wrong(error, "flow_id", "null or a flow ID");
    }
    *ret_flow = (struct pd_flow_id){0};
    return 0;
}

static int read_paths(const json_t *array, struct pd_alarm_message *message, struct pd_error *error)
{
    size_t len = json_array_size(array);

    if (!json_is_array(array) || len > PD_ALARM_PATHS_MAX) {
        return wrong(error, "paths", "a list of at most 16 paths");
    }
    message->paths_len = (unsigned)len;
    for (size_t i = 0; i < len; i++) {
        int err = pd_query_path_read(json_array_get(array, i), "paths", &message->paths[i], error);

        if (err) {
            return err;
        }
    }
    return 0;
}

static int read_origin(const json_t *value, enum pd_alarm_origin *ret_origin,
                       struct pd_error *error)
{
    const char *id = json_string_value(value);

    for (unsigned i = 0; id && i < PD_ALARM_ORIGIN_COUNT; i++) {
        if (!strcmp(id, origin_ids[i])) {
            *ret_origin = (enum pd_alarm_origin)i;
            return 0;
        }
    }
    return value ? wrong(error, "origin", "monitor, installed, program, app or api") : 0;
}

/* Those that may be left out: *ret_len, how many are there. */
static int read_cause(const json_t *object, struct pd_alarm_message *message, size_t *ret_len,
                      struct pd_error *error)
{
    static const char *const names[] = {"origin", "by", "count", "unverified"};
    const json_t *by = json_object_get(object, "by");
    const json_t *unverified = json_object_get(object, "unverified");
    int err = read_origin(json_object_get(object, "origin"), &message->origin, error);

    if (!err && by && !json_is_null(by)) {
        err = pd_query_member_text(object, "by", message->by, sizeof message->by, error);
    }
    if (!err && json_object_get(object, "count")) {
        err = pd_query_member_number(object, "count", 1, PD_ALARM_MESSAGE_MAX_US, &message->count,
                                     error);
    }
    if (!err && unverified && !json_is_true(unverified)) {
        err = wrong(error, "unverified", "true, or nothing");
    }
    message->unverified = unverified != NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *ret_len += json_object_get(object, names[i]) != NULL;
    }
    return err;
}

/* All of these are asked for: so with their number of members there is no other one. */
#define MEMBERS 5

static int read_members(const json_t *object, struct pd_alarm_message *message,
                        struct pd_error *error)
{
    int err = pd_query_member_number(object, "time_us", 0, PD_ALARM_MESSAGE_MAX_US,
                                     &message->time_us, error);

    err = err ? err
              : pd_query_member_text(object, "reason", message->reason, sizeof message->reason,
                                     error);
    if (!err && !pd_fleet_alarm_reason_holds(message->reason)) {
        err = wrong(error, "reason", "capital letters, digits and _");
    }
    err = err ? err : read_flow(json_object_get(object, "flow_id"), &message->flow, error);
    err = err ? err : read_paths(json_object_get(object, "paths"), message, error);
    return err ? err
               : pd_query_member_text(object, "detail", message->detail, sizeof message->detail,
                                      error);
}

int pd_fleet_alarm_message_read(const json_t *object, const char *number,
                                struct pd_alarm_message *ret_message, uint64_t *ret_number,
                                struct pd_error *error)
{
    size_t cause = 0;
    int err;

    ret_message->origin = PD_ALARM_ORIGIN_MONITOR;
    ret_message->by[0] = '\0';
    ret_message->count = 1;
    err = read_cause(object, ret_message, &cause, error);
    if (!err && (!json_is_object(object) ||
                 json_object_size(object) != MEMBERS + cause + (number ? 1 : 0))) {
        err = pd_fail(error, -PD_E_VALUE,
                      "an alarm has the members time_us, reason, flow_id, paths, detail%s%s, and "
                      "origin, by, count",
                      number ? ", " : "", number ? number : "");
    }
    err = err ? err : read_members(object, ret_message, error);
    if (!err && number) {
        err = pd_query_member_number(object, number, 1, PD_ALARM_MESSAGE_MAX_US, ret_number, error);
    }
    return err;
}
