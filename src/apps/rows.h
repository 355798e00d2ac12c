/* SPDX-License-Identifier: Apache-2.0 */
/* What applications do with the world's answers: ask, note what is missing, and read rows that may
 * be anything. */
#ifndef PD_APPS_ROWS_H
#define PD_APPS_ROWS_H

#include <jansson.h>
#include <stdbool.h>

#include "apps/apps.h"
#include "base/flow_id.h"
#include "base/path.h"

/* Answers come from hosts: each row is checked, those that are not in order are left out and
 * counted in the report's "lacks".
 *
 * Thread safety: as of their arguments. */

/* Asks a query. `args`: its parameters (NULL: none); `hosts`: a list of IDs (NULL: all); both are
 * taken over, also on failure. What the answer lacks is said in `report`. 0, with an answer that is
 * the caller's; or a negative error in words. */
int pd_app_ask(const struct pd_app_call *call, struct pd_report *report, const char *query,
               json_t *args, json_t *hosts, json_t **ret_answer, struct pd_error *error);

struct pd_app_row;
/* `object`: the row in JSON, for members of its own; NULL where it is none. Non-zero ends the
 * visit.
 */
typedef int pd_app_visit(void *context, const struct pd_app_row *row, const json_t *object);

/* A query over records: `list` is where its rows stand in an answer that is JSON; NULL: the answer
 * itself is one. Arguments and hosts as above. */
struct pd_app_rows_query {
    const char *name, *list;
    json_t *args, *hosts;
};

/* Asks and visits the rows; nothing may be asked from there. *ret_infeasible (may be NULL): of
 * conformance, how many flows cannot be judged. 0, what `visit` returned, or a negative error in
 * words. */
int pd_app_ask_rows(const struct pd_app_call *call, struct pd_report *report,
                    const struct pd_app_rows_query *query, pd_app_visit *visit, void *context,
                    uint64_t *ret_infeasible, struct pd_error *error);

/* For who goes by alarms alone: says in `report` which hosts could not raise one now, since they do
 * not answer or do not watch TCP. */
int pd_app_roll_call(const struct pd_app_call *call, struct pd_report *report,
                     struct pd_error *error);

/* Alarms of the world, as objects: see apps.h. Of any reason with NULL. Never NULL on success. */
int pd_app_alarms(const struct pd_app_call *call, const char *reason, uint64_t from_us,
                  uint64_t to_us, size_t most, json_t **ret_alarms, struct pd_error *error);

/* ---- flows, paths ---- */

json_t *pd_app_flow_json(const struct pd_flow_id *flow);
bool pd_app_flow_read(const json_t *object, struct pd_flow_id *ret_flow);

/* "path":[…] of a row; a mark that fits no path is passed over. */
bool pd_app_path_read(const json_t *row, struct pd_path *ret_path);
json_t *pd_app_path_json(const struct pd_path *path);
/* "1-9-17" */
#define PD_APP_PATH_TEXT_BYTES (PD_PATH_MAX * 11 + 1)
const char *pd_app_path_text(const struct pd_path *path, char text[PD_APP_PATH_TEXT_BYTES]);

/* Does each step of the path exist in the topology? False for an infeasible trajectory. */
bool pd_app_path_exists(const struct pd_topology *topology, const struct pd_path *path);

/* ---- rows ---- */

/* A row of getFlows, topRecords, topFlows, pathBytes, getPoorTCPFlows …; members that the query
 * does not give are zero. */
struct pd_app_row {
    struct pd_flow_id flow; /* ip_version 0: the row has none */
    struct pd_path path;
    bool has_path; /* also when it is infeasible: path.len is 0 then */
    uint64_t stime_us, etime_us, bytes, pkts;
    uint32_t src_switch, dst_switch; /* of trafficMatrix, topLinks; 0: none */
    const char
        *rule; /* that it breaks (conformance); NULL: it cannot be judged, or none was asked */
};

/* False: a member is not what it has to be, or there is neither a flow ID nor a path nor a pair of
 * switches. */
bool pd_app_row_read(const json_t *object, struct pd_app_row *ret_row);

/* Visits each row of answer[list] ("flows", "paths", "records"…) until `visit` returns non-zero,
 * which is then returned. `object` is the row itself, for members of its own. A list that is not
 * there is an error: -PD_E_VALUE. */
int pd_app_rows(const json_t *answer, const char *list, struct pd_report *report,
                pd_app_visit *visit, void *context, struct pd_error *error);

/* A member that is a number from 0 to 2^53 - 1. False: it is not. */
bool pd_app_number(const json_t *object, const char *member, uint64_t *ret_number);

/* An alarm, as in GET /v1/alarms. */
struct pd_app_alarm {
    uint64_t id, time_us;
    uint32_t host; /* 0: the controller itself */
    char reason[33];
    struct pd_flow_id flow; /* ip_version 0: none */
};
bool pd_app_alarm_read(const json_t *object, struct pd_app_alarm *ret_alarm);

/* ---- evidence ---- */

/* Says in `report` that a world has nothing of a kind that is wanted (bits of enum
 * pd_app_evidence), where silence would be taken for a network that is well: probes; meters, when
 * nothing else is wanted. */
void pd_app_lacks_evidence(unsigned wanted, unsigned has, struct pd_report *report);

/* ---- topology ---- */

/* ID of the host with this address; 0: the topology knows none. */
uint32_t pd_app_host_of(const struct pd_topology *topology, const struct pd_addr *addr,
                        uint8_t ip_version);

#endif
