/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms as JSON: written by the agent, checked by the controller. */
#include "fleet/alarm_message.h"

#include <string.h>

#include "http/text.h"
#include "query/members.h"
#include "query/out.h"

#define MEMBERS 5

bool pd_alarm_reason_holds(const char *text)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    return len && len < PD_ALARM_REASON_BYTES && !text[len] && *text >= 'A' && *text <= 'Z';
}

/* ---- writing ---- */

static json_t *flow_json(const struct pd_flow_id *flow)
{
    return flow->ip_version ? pd_flow_id_json(flow) : json_null();
}

json_t *pd_alarm_message_json(const struct pd_alarm_message *message)
{
    json_t *paths = json_array();

    for (unsigned i = 0; i < message->paths_len; i++) {
        json_array_append_new(paths, pd_path_json(&message->paths[i]));
    }
    return json_pack("{s:I, s:s, s:o, s:o, s:o}", "time_us", (json_int_t)message->time_us, "reason",
                     message->reason, "flow_id", flow_json(&message->flow), "paths", paths,
                     "detail", pd_text_json(message->detail));
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
static void put_words(struct pd_query_out *out, const char *words)
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
    pd_query_out_text(out, escaped);
}

size_t pd_alarm_message_text(const struct pd_alarm_message *message,
                             char bytes[PD_ALARM_MESSAGE_MAX_BYTES])
{
    struct text text = {bytes, 0};
    const struct pd_query_sink sink = {&text, take_text};
    struct pd_query_out out;

    pd_query_out_begin(&out, PD_FORM_JSON, &sink);
    pd_query_out_member(&out, "\"time_us\":", message->time_us);
    pd_query_out_text(&out, ",\"reason\":\"");
    pd_query_out_text(&out, message->reason);
    pd_query_out_text(&out, "\",\"flow_id\":");
    if (message->flow.ip_version) {
        pd_query_out_flow_id(&out, &message->flow);
    } else {
        pd_query_out_text(&out, "null");
    }
    pd_query_out_text(&out, ",\"paths\":[");
    for (unsigned i = 0; i < message->paths_len; i++) {
        pd_query_out_text(&out, i ? "," : "");
        pd_query_out_switches(&out, &message->paths[i]);
    }
    pd_query_out_text(&out, "],\"detail\":");
    put_words(&out, message->detail);
    pd_query_out_text(&out, "}");
    return pd_query_out_end(&out) ? 0 : text.len;
}

/* ---- reading ---- */

static int wrong(struct pd_error *error, const char *member, const char *expected)
{
    return pd_fail(error, -PD_E_VALUE, "%s: expects %s", member, expected);
}

static int read_flow(const json_t *object, struct pd_flow_id *ret_flow, struct pd_error *error)
{
    if (json_is_object(object)) {
        return pd_flow_id_read(object, ret_flow, error);
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
        int e = pd_path_read(json_array_get(array, i), "paths", &message->paths[i], error);

        if (e) {
            return e;
        }
    }
    return 0;
}

int pd_alarm_message_read(const json_t *object, const char *number,
                          struct pd_alarm_message *ret_message, uint64_t *ret_number,
                          struct pd_error *error)
{
    struct pd_alarm_message *message = ret_message;
    int e;

    /* All of them are asked for: so with this number of members there is no other one. */
    if (!json_is_object(object) || json_object_size(object) != MEMBERS + (number ? 1 : 0)) {
        return pd_fail(error, -PD_E_VALUE,
                       "an alarm has the members time_us, reason, flow_id, paths, detail%s%s",
                       number ? ", " : "", number ? number : "");
    }
    e = pd_member_number(object, "time_us", 0, PD_ALARM_MESSAGE_MAX_US, &message->time_us, error);
    e = e ? e : pd_member_text(object, "reason", message->reason, sizeof message->reason, error);
    if (!e && !pd_alarm_reason_holds(message->reason)) {
        e = wrong(error, "reason", "capital letters, digits and _");
    }
    e = e ? e : read_flow(json_object_get(object, "flow_id"), &message->flow, error);
    e = e ? e : read_paths(json_object_get(object, "paths"), message, error);
    e = e ? e : pd_member_text(object, "detail", message->detail, sizeof message->detail, error);
    if (!e && number) {
        e = pd_member_number(object, number, 1, PD_ALARM_MESSAGE_MAX_US, ret_number, error);
    }
    return e;
}
