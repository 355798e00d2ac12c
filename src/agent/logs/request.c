/* SPDX-License-Identifier: Apache-2.0 */
/* The body of POST /v1/logs: what is to be logged, and how much of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/logs/log.h"

#define ID_MAX (UINT64_C(1) << 53)

struct number {
    const char *name;
    uint64_t *value;
    uint64_t least, most;
};

/* -PD_E_UNKNOWN_KEY: it is none of these. */
static int read_number(const char *name, const json_t *value, const struct number *numbers,
                       size_t len, struct pd_error *error)
{
    for (size_t i = 0; i < len; i++) {
        const json_int_t given = json_is_integer(value) ? json_integer_value(value) : -1;

        if (strcmp(name, numbers[i].name) != 0) {
            continue;
        }
        if (given < 0 || (uint64_t)given < numbers[i].least || (uint64_t)given > numbers[i].most) {
            return pd_fail(error, -PD_E_VALUE, "%s: expected a number from %" PRIu64 " to %" PRIu64,
                           name, numbers[i].least, numbers[i].most);
        }
        *numbers[i].value = (uint64_t)given;
        return 0;
    }
    return -PD_E_UNKNOWN_KEY;
}

/* What says which packets, as in getFlows; times are the log's own. */
static int read_filter(const char *name, const json_t *value, struct pd_query *query,
                       struct pd_error *error)
{
    static const char *const wanted[] = {"link",     "src_ip",   "dst_ip", "src_port",
                                         "dst_port", "protocol", "path"};
    const char *text = json_string_value(value);
    char room[24];

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (strcmp(name, wanted[i]) != 0) {
            continue;
        }
        if (json_is_integer(value)) {
            snprintf(room, sizeof room, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
            text = room;
        }
        if (!text || (json_is_string(value) && strlen(text) != json_string_length(value))) {
            return pd_fail(error, -PD_E_VALUE, "%s: expected a text", name);
        }
        return pd_query_set(query, name, text, error);
    }
    pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown member of a packet log", name);
    if (error) {
        pd_printable(error->text);
    }
    return -PD_E_UNKNOWN_KEY;
}

int pd_log_packet_request_read(const json_t *body, struct pd_packet_request *ret_request,
                               struct pd_error *error)
{
    struct pd_packet_request request = {.seconds = 10, .max_packets = 1000, .snap_bytes = 256};
    const struct number numbers[] = {
        {"id", &request.id, 1, ID_MAX},
        {"seconds", &request.seconds, 1, PD_PACKET_LOG_SECONDS_MAX},
        {"max_packets", &request.max_packets, 1, PD_PACKET_LOG_PACKETS_MAX},
        {"snap_bytes", &request.snap_bytes, PD_PACKET_LOG_SNAP_MIN, PD_PACKET_LOG_SNAP_MAX}};
    const char *name;
    json_t *value;
    int err = 0;

    pd_query_init(&request.query, PD_QUERY_GET_FLOWS);
    json_object_foreach((json_t *)(uintptr_t)body, name, value)
    {
        err = read_number(name, value, numbers, sizeof numbers / sizeof numbers[0], error);
        if (err == -PD_E_UNKNOWN_KEY) {
            err = read_filter(name, value, &request.query, error);
        }
        if (err) {
            return err;
        }
    }
    err = pd_query_finish(&request.query, error);
    if (!err) {
        *ret_request = request;
    }
    return err;
}
