/* SPDX-License-Identifier: Apache-2.0 */
/* Brings this host's alarms to the controller: at least once, in order, at once. */
#ifndef PD_AGENT_ALARMS_SENDER_H
#define PD_AGENT_ALARMS_SENDER_H

#include <stdint.h>

#include "agent/alarms/alarms.h"
#include "agent/alarms/spool.h"
#include "fleet/fanout.h"

/*     whoever raises          spooler thread            sender thread
 *     hear: a copy, queue ->  spool: file, memory  ->   POST /v1/alarms, until it is acknowledged
 *
 * Who raises an alarm waits for no disk and no network. The spooler writes without flushing, so
 * that an alarm is on its way within a fraction of a millisecond; it flushes once a second what
 * still waits then. So a kill loses what was raised in the last moment before the spooler came to
 * it; a power cut what was raised in the last second and the controller had not yet acknowledged.
 *
 * While the controller does not answer, tries are PD_ALARM_RETRY_MIN_MS to _MAX_MS apart, ever
 * more, with jitter: a fleet does not come back all at once. The body of a request that the
 * controller cannot accept (400) is sent in parts, down to the one alarm that it is about, which is
 * given up and counted; any other answer is a reason to try again.
 *
 * More than `budget` alarms a minute are not brought, but the first of each reason; when the minute
 * is over one of reason ALARM_BUDGET says how many there were. The agent's own list has them.
 *
 * Threads: two of its own. Locks: its own, the spool's; neither is taken inside the other. */

#define PD_ALARM_INCOMING_MAX 4096u
#define PD_ALARM_RETRY_MIN_MS 100u
#define PD_ALARM_RETRY_MAX_MS 15000u
#define PD_ALARM_MINUTE_NS    (UINT64_C(60) * 1000000000)
#define PD_ALARM_POST_NS      (UINT64_C(10) * 1000000000) /* for one request */
#define PD_ALARM_GRACE_NS     (UINT64_C(2) * 1000000000)  /* at the end: to send what is left */

struct pd_alarm_sender_config {
    struct pd_alarm_spool_config spool;
    const char *controller;   /* URL */
    struct pd_alarms *alarms; /* outlives the sender's threads */
    struct pd_fanout *fanout; /* the same */
    uint64_t budget;          /* alarms a minute; 0: any number */
};

struct pd_alarm_sender_stat {
    struct pd_alarm_spool_stat spool;
    uint64_t retries;
    bool reached; /* the last request was answered as it should */
};

struct pd_alarm_sender;

/* Opens the spool and listens to the alarms. To be freed when nobody raises any more. */
int pd_alarm_sender_new(const struct pd_alarm_sender_config *config,
                        struct pd_alarm_sender **ret_sender, struct pd_error *error);
int pd_alarm_sender_start(struct pd_alarm_sender *sender); /* 0 or -errno */

/* Spools what is in the queue; sends it if the controller was there; keeps the rest. */
void pd_alarm_sender_stop(struct pd_alarm_sender *sender); /* NULL, and not started, is fine */
void pd_alarm_sender_free(struct pd_alarm_sender *sender);

void pd_alarm_sender_stat(struct pd_alarm_sender *sender, struct pd_alarm_sender_stat *ret_stat);

#endif
