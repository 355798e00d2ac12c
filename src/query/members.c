/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects that others sent: each is checked before it is believed. */
#include "query/members.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "query/query.h"
#include "json/cursor.h"

#define ROW_NUMBER_MAX ((UINT64_C(1) << 53) - 1)

static struct pd_json_cursor cursor(const json_t *object, const char *place, struct pd_error *error)
{
    return (struct pd_json_cursor){
        .object = object, .place = place, .err = -PD_E_VALUE, .error = error};
}

int pd_query_member_number(const json_t *object, const char *member, uint64_t least, uint64_t most,
                           uint64_t *ret_number, struct pd_error *error)
{
    const struct pd_json_cursor at = cursor(object, NULL, error);

    return pd_json_number(&at, member, least, most, ret_number);
}

int pd_query_member_text(const json_t *object, const char *member, char *ret_text, size_t size,
                         struct pd_error *error)
{
    const struct pd_json_cursor at = cursor(object, NULL, error);

    return pd_json_text(&at, member, ret_text, size);
}

int pd_query_flow_id_read(const json_t *object, struct pd_flow_id *ret_flow, struct pd_error *error)
{
    const struct pd_json_cursor at = cursor(object, "flow_id", error);

    return json_object_size(object) == 5 ? pd_json_flow(&at, ret_flow)
                                         : pd_json_wrong(&at, "", "a flow ID");
}

json_t *pd_query_flow_id_json(const struct pd_flow_id *flow)
{
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];

    return json_pack("{s:s, s:s, s:i, s:i, s:i}", "src_ip",
                     pd_addr_format(&flow->src, flow->ip_version, src), "dst_ip",
                     pd_addr_format(&flow->dst, flow->ip_version, dst), "src_port", flow->src_port,
                     "dst_port", flow->dst_port, "protocol", flow->protocol);
}

int pd_query_path_read(const json_t *array, const char *member, struct pd_path *ret_path,
                       struct pd_error *error)
{
    size_t len = json_array_size(array);
    struct pd_path path = {0};
    const struct pd_json_cursor at = cursor(NULL, NULL, error);

    if (!json_is_array(array) || !len || len > PD_PATH_MAX) {
        return pd_json_wrong(&at, member, "paths of 1 to 128 switch IDs");
    }
    path.len = (uint32_t)len;
    for (size_t i = 0; i < len; i++) {
        const json_t *id = json_array_get(array, i);
        json_int_t number = json_integer_value(id);

        if (!json_is_integer(id) || number < 1 || number > UINT32_MAX) {
            return pd_json_wrong(&at, member, "switch IDs");
        }
        path.switches[i] = (uint32_t)number;
    }
    *ret_path = path;
    return 0;
}

json_t *pd_query_path_json(const struct pd_path *path)
{
    json_t *switches = json_array();

    for (unsigned i = 0; i < path->len && i < PD_PATH_MAX; i++) {
        json_array_append_new(switches, json_integer(path->switches[i]));
    }
    if (json_array_size(switches) == path->len) {
        return switches;
    }
    json_decref(switches);
    return NULL;
}

/* ---- flows as lists ---- */

bool pd_query_row_number(const json_t *row, size_t at, uint64_t *ret_number)
{
    const json_t *number = json_array_get(row, at);
    json_int_t value = json_integer_value(number);

    if (!json_is_integer(number) || value < 0 || (uint64_t)value > ROW_NUMBER_MAX) {
        return false;
    }
    *ret_number = (uint64_t)value;
    return true;
}

static bool read_row_addr(const json_t *text, struct pd_addr *ret_addr, uint8_t *ret_version)
{
    const char *words = json_string_value(text);

    return words && strlen(words) == json_string_length(text) &&
           !pd_addr_parse(words, ret_addr, ret_version);
}

bool pd_query_flow_row_read(const json_t *row, struct pd_flow_id *ret_flow)
{
    struct pd_flow_id flow = {0};
    uint64_t src_port, dst_port, protocol;
    uint8_t version;

    if (!read_row_addr(json_array_get(row, 0), &flow.src, &flow.ip_version) ||
        !read_row_addr(json_array_get(row, 1), &flow.dst, &version) || version != flow.ip_version ||
        !pd_query_row_number(row, 2, &src_port) || src_port > UINT16_MAX ||
        !pd_query_row_number(row, 3, &dst_port) || dst_port > UINT16_MAX ||
        !pd_query_row_number(row, 4, &protocol) || protocol > UINT8_MAX) {
        return false;
    }
    flow.src_port = (uint16_t)src_port;
    flow.dst_port = (uint16_t)dst_port;
    flow.protocol = (uint8_t)protocol;
    *ret_flow = flow;
    return true;
}

json_t *pd_query_flow_row_json(const struct pd_flow_id *flow)
{
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];

    return json_pack("[s, s, i, i, i]", pd_addr_format(&flow->src, flow->ip_version, src),
                     pd_addr_format(&flow->dst, flow->ip_version, dst), flow->src_port,
                     flow->dst_port, flow->protocol);
}

int pd_query_json_number(const json_t *value, uint64_t most, uint64_t *ret_number)
{
    const char *text = json_string_value(value);
    char room[24];
    double real = json_real_value(value);

    if (json_is_integer(value)) {
        snprintf(room, sizeof room, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        text = room;
    } else if (json_is_real(value) && real >= 0 && real <= 9e15 && real == floor(real)) {
        snprintf(room, sizeof room, "%.0f", real);
        text = room;
    }
    return text ? pd_query_number(text, most, ret_number) : -PD_E_VALUE;
}
