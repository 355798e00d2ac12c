/* SPDX-License-Identifier: Apache-2.0 */
/* An alarm on its way from a host to the controller and on to people: what it holds, and its form
 * in JSON. */
#ifndef PD_FLEET_ALARM_MESSAGE_H
#define PD_FLEET_ALARM_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/flow_id.h"
#include "base/path.h"

/* {"time_us","reason","flow_id":{…}|null,"paths":[[…]],"detail","origin","by":NAME|null,"count"},
 * and "unverified":true only where it is: docs/formats/alarms.md. The agent writes it, the
 * controller reads and keeps it and adds "id" and "host". What is read is hostile: every member is
 * checked, and one that is not known is refused. The last four may be left out.
 *
 * A reason says who may raise it: USER_… is what people's programs say, APP_… and SWITCH_… what the
 * controller has found, anything else what an agent itself has seen.
 *
 * Thread safety: pure functions. */

#define PD_ALARM_REASON_BYTES      33 /* [A-Z][A-Z0-9_]{0,31} and NUL */
#define PD_ALARM_PATHS_MAX         16
#define PD_ALARM_MESSAGE_DETAIL    512
#define PD_ALARM_MESSAGE_MAX_US    ((UINT64_C(1) << 53) - 1)
#define PD_ALARM_MESSAGE_MAX_BYTES 27648 /* of its JSON, compact: no message is longer */
#define PD_ALARM_BY_BYTES          64

/* Whose word it is. */
#define PD_ALARM_ORIGINS(X)                                                     \
    X(MONITOR, "monitor", "an agent, of what it watches by itself")             \
    X(INSTALLED, "installed", "a query or program that somebody has installed") \
    X(PROGRAM, "program", "a program that somebody runs")                       \
    X(APP, "app", "an application of the controller's")                         \
    X(API, "api", "somebody who has brought it to the controller")

enum pd_alarm_origin {
#define X(name, id, text) PD_ALARM_ORIGIN_##name,
    PD_ALARM_ORIGINS(X)
#undef X
        PD_ALARM_ORIGIN_COUNT
};

struct pd_alarm_message {
    uint64_t time_us;
    char reason[PD_ALARM_REASON_BYTES];
    struct pd_flow_id flow;               /* ip_version 0: none */
    char detail[PD_ALARM_MESSAGE_DETAIL]; /* UTF-8 */
    enum pd_alarm_origin origin;
    char by[PD_ALARM_BY_BYTES]; /* who caused it; "": nobody, or nobody knows */
    uint64_t count;             /* times raised since it was last told; 0: once */
    bool unverified;            /* of a flow or a path that the topology does not have */
    unsigned paths_len;
    /* paths_len of them, with switches; the rest is not set */
    struct pd_path paths[PD_ALARM_PATHS_MAX];
};

bool pd_fleet_alarm_reason_holds(const char *text);

const char *pd_fleet_alarm_origin_id(enum pd_alarm_origin origin);

/* May an alarm of this origin have this reason? */
bool pd_fleet_alarm_origin_fits(enum pd_alarm_origin origin, const char *reason);

/* All members; NULL without memory. */
json_t *pd_fleet_alarm_message_json(const struct pd_alarm_message *message);

/* The same as text, without the opening brace, for a message that was read: its words are UTF-8.
 * Returns its length. Ten times as fast. */
size_t pd_fleet_alarm_message_text(const struct pd_alarm_message *message,
                                   char text[PD_ALARM_MESSAGE_MAX_BYTES]);

/* `number` names one more member, an integer from 1, or is NULL. 0, or -PD_E_VALUE with words; then
 * the message is undefined. */
int pd_fleet_alarm_message_read(const json_t *object, const char *number,
                                struct pd_alarm_message *ret_message, uint64_t *ret_number,
                                struct pd_error *error);

#endif
