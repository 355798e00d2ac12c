/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms as JSON: written by the agent, checked by the controller. */
#include "fleet/alarm_message.h"

#include <string.h>

#include "http/text.h"
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
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];

    if (!flow->ip_version)
        return json_null();
    return json_pack("{s:s, s:s, s:i, s:i, s:i}", "src_ip",
                     pd_addr_format(&flow->src, flow->ip_version, src), "dst_ip",
                     pd_addr_format(&flow->dst, flow->ip_version, dst), "src_port", flow->src_port,
                     "dst_port", flow->dst_port, "protocol", flow->protocol);
}

static json_t *path_json(const struct pd_path *path)
{
    json_t *switches = json_array();

    for (unsigned i = 0; i < path->len; i++)
        json_array_append_new(switches, json_integer(path->switches[i]));
    return switches;
}

json_t *pd_alarm_message_json(const struct pd_alarm_message *message)
{
    json_t *paths = json_array();

    for (unsigned i = 0; i < message->paths_len; i++)
        json_array_append_new(paths, path_json(&message->paths[i]));
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

    if (len > PD_ALARM_MESSAGE_MAX_BYTES - text->len)
        return -PD_E_TOO_LARGE;
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
        if (c == '"' || c == '\\')
            *at++ = '\\';
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
    if (message->flow.ip_version)
        pd_query_out_flow_id(&out, &message->flow);
    else
        pd_query_out_text(&out, "null");
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

static int read_number(const json_t *object, const char *member, uint64_t least, uint64_t most,
                       uint64_t *ret_number, struct pd_error *error)
{
    const json_t *value = json_object_get(object, member);
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number < least ||
        (uint64_t)number > most)
        return pd_fail(error, -PD_E_VALUE, "%s: expects a number from %llu to %llu", member,
                       (unsigned long long)least, (unsigned long long)most);
    *ret_number = (uint64_t)number;
    return 0;
}

/* Words without a NUL in them, so that they end where they seem to. */
static int read_text(const json_t *object, const char *member, char *ret_text, size_t size,
                     struct pd_error *error)
{
    const json_t *value = json_object_get(object, member);
    size_t len = json_string_length(value);

    if (!json_is_string(value) || len >= size || strlen(json_string_value(value)) != len)
        return pd_fail(error, -PD_E_VALUE, "%s: expects a text of less than %zu bytes", member,
                       size);
    memcpy(ret_text, json_string_value(value), len + 1);
    return 0;
}

static int read_addr(const json_t *object, const char *member, struct pd_addr *ret_addr,
                     uint8_t *ret_version, struct pd_error *error)
{
    char text[PD_ADDR_TEXT_BYTES];
    int e = read_text(object, member, text, sizeof text, error);

    if (e)
        return e;
    return pd_addr_parse(text, ret_addr, ret_version) ? wrong(error, member, "an address") : 0;
}

static int read_flow(const json_t *object, struct pd_flow_id *ret_flow, struct pd_error *error)
{
    struct pd_flow_id flow = {0};
    uint64_t src_port, dst_port, protocol;
    uint8_t version;
    int e;

    if (json_is_null(object)) {
        *ret_flow = flow;
        return 0;
    }
    if (!json_is_object(object) || json_object_size(object) != 5)
        return wrong(error, "flow_id", "null or a flow ID");
    e = read_addr(object, "src_ip", &flow.src, &flow.ip_version, error);
    e = e ? e : read_addr(object, "dst_ip", &flow.dst, &version, error);
    e = e ? e : read_number(object, "src_port", 0, UINT16_MAX, &src_port, error);
    e = e ? e : read_number(object, "dst_port", 0, UINT16_MAX, &dst_port, error);
    e = e ? e : read_number(object, "protocol", 0, UINT8_MAX, &protocol, error);
    if (e)
        return e;
    if (version != flow.ip_version)
        return wrong(error, "flow_id", "addresses of one family");
    flow.src_port = (uint16_t)src_port;
    flow.dst_port = (uint16_t)dst_port;
    flow.protocol = (uint8_t)protocol;
    *ret_flow = flow;
    return 0;
}

static int read_path(const json_t *array, struct pd_path *ret_path, struct pd_error *error)
{
    size_t len = json_array_size(array);

    if (!json_is_array(array) || !len || len > PD_PATH_MAX)
        return wrong(error, "paths", "paths of 1 to 32 switch IDs");
    memset(ret_path, 0, sizeof *ret_path);
    ret_path->len = (uint16_t)len;
    for (size_t i = 0; i < len; i++) {
        const json_t *id = json_array_get(array, i);
        json_int_t number = json_integer_value(id);

        if (!json_is_integer(id) || number < 1 || number > UINT32_MAX)
            return wrong(error, "paths", "switch IDs");
        ret_path->switches[i] = (uint32_t)number;
    }
    return 0;
}

static int read_paths(const json_t *array, struct pd_alarm_message *message, struct pd_error *error)
{
    size_t len = json_array_size(array);

    if (!json_is_array(array) || len > PD_ALARM_PATHS_MAX)
        return wrong(error, "paths", "a list of at most 16 paths");
    message->paths_len = (unsigned)len;
    for (size_t i = 0; i < len; i++) {
        int e = read_path(json_array_get(array, i), &message->paths[i], error);

        if (e)
            return e;
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
    if (!json_is_object(object) || json_object_size(object) != MEMBERS + (number ? 1 : 0))
        return pd_fail(error, -PD_E_VALUE,
                       "an alarm has the members time_us, reason, flow_id, paths, detail%s%s",
                       number ? ", " : "", number ? number : "");
    e = read_number(object, "time_us", 0, PD_ALARM_MESSAGE_MAX_US, &message->time_us, error);
    e = e ? e : read_text(object, "reason", message->reason, sizeof message->reason, error);
    if (!e && !pd_alarm_reason_holds(message->reason))
        e = wrong(error, "reason", "capital letters, digits and _");
    e = e ? e : read_flow(json_object_get(object, "flow_id"), &message->flow, error);
    e = e ? e : read_paths(json_object_get(object, "paths"), message, error);
    e = e ? e : read_text(object, "detail", message->detail, sizeof message->detail, error);
    if (!e && number)
        e = read_number(object, number, 1, PD_ALARM_MESSAGE_MAX_US, ret_number, error);
    return e;
}
