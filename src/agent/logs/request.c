/* SPDX-License-Identifier: Apache-2.0 */
/* The body of POST /v1/logs: what is to be logged, and how much of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/logs/log.h"
#include "json/cursor.h"

/* Numbers of a packet log; the filter has the other members. */
static const char *const numbers[] = {"id", "seconds", "max_packets", "snap_bytes", NULL};

static bool is_number(const char *name)
{
    size_t i = 0;

    while (numbers[i] && strcmp(numbers[i], name) != 0) {
        i++;
    }
    return numbers[i];
}

static int read_numbers(const json_t *body, struct pd_packet_request *request,
                        struct pd_error *error)
{
    const struct pd_json_cursor at = {.object = body, .err = -PD_E_VALUE, .error = error};
    int err = pd_json_number_or(&at, "id", 1, PD_JSON_NUMBER_MAX, &request->id);

    err = err ? err
              : pd_json_number_or(&at, "seconds", 1, PD_PACKET_LOG_SECONDS_MAX, &request->seconds);
    err = err ? err
              : pd_json_number_or(&at, "max_packets", 1, PD_PACKET_LOG_PACKETS_MAX,
                                  &request->max_packets);
    return err ? err
               : pd_json_number_or(&at, "snap_bytes", PD_PACKET_LOG_SNAP_MIN,
                                   PD_PACKET_LOG_SNAP_MAX, &request->snap_bytes);
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
    const char *name;
    json_t *value;
    int err = read_numbers(body, &request, error);

    pd_query_init(&request.query, PD_QUERY_GET_FLOWS);
    json_object_foreach((json_t *)(uintptr_t)body, name, value)
    {
        if (!err && !is_number(name)) {
            err = read_filter(name, value, &request.query, error);
        }
    }
    err = err ? err : pd_query_finish(&request.query, error);
    if (!err) {
        *ret_request = request;
    }
    return err;
}
