/* SPDX-License-Identifier: Apache-2.0 */
/* The packet logs of an agent, and what its intake gives them. */
#ifndef PD_AGENT_LOGS_LOGS_H
#define PD_AGENT_LOGS_LOGS_H

#include <jansson.h>

#include "agent/logs/log.h"
#include "http/answer.h"
#include "intake/intake.h"

/* At most PD_PACKET_LOGS_MAX, finished ones among them: a new one takes the place of the oldest
 * that has finished. While none is running, a packet costs the intake one load.
 *
 * Thread safety: the tap belongs to the intake's thread; all else to any. A log is taken away only
 * when the intake's thread is known not to be in it: that thread counts up before it looks at the
 * list and after it (`turn`), and who removes waits for one of both. */

#define PD_PACKET_LOGS_MAX 4

struct pd_packet_logs;

int pd_log_packet_logs_new(const char *folder, struct pd_packet_logs **ret_logs); /* 0 or -ENOMEM */
/* When the intake's thread has ended. NULL is fine. */
void pd_log_packet_logs_free(struct pd_packet_logs *logs);
const struct pd_intake_tap *pd_log_packet_logs_tap(struct pd_packet_logs *logs);
/* For logs from now on; held. */
void pd_log_packet_logs_model(struct pd_packet_logs *logs, struct pd_model *model);

/* -PD_E_BUSY: all are running. */
int pd_log_packet_logs_add(struct pd_packet_logs *logs, const struct pd_packet_request *request,
                           uint64_t *ret_id, struct pd_error *error);
json_t *pd_log_packet_logs_list(struct pd_packet_logs *logs); /* NULL without memory */
/* These three: -PD_E_NOT_FOUND when there is no such log. */
int pd_log_packet_logs_remove(struct pd_packet_logs *logs, uint64_t id);
int pd_log_packet_logs_rows(struct pd_packet_logs *logs, uint64_t id, json_t **ret_rows);
int pd_log_packet_logs_file(struct pd_packet_logs *logs, uint64_t id, struct pd_answer *answer);

#endif
