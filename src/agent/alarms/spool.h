/* SPDX-License-Identifier: Apache-2.0 */
/* The spool of alarms: those that the controller has not acknowledged yet, in memory and in a file
 * beside the TIB. */
#ifndef PD_AGENT_ALARMS_SPOOL_H
#define PD_AGENT_ALARMS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/alarm_message.h"

/* A queue that is sent from memory and recovered from its file. The file is a log: alarms, and up
 * to where they were acknowledged. What add() has written survives the end of the process, however
 * it ends; what sync() has flushed also that of the machine. When the file cannot be written the
 * alarm is sent all the same: a full disk is what some alarms are about.
 *
 * Each process that opens the spool has an identity of its own, and numbers its alarms 1, 2, 3 …
 * under it: so no number is ever given twice, even if the machine lost the end of the file. What an
 * earlier process left is sent first, under that one's identity.
 *
 * Bounded: when `max_bytes` wait, or a quarter of that with one reason, what comes is dropped and
 * counted; what is there stays, for the first alarms of a trouble tell more than the last. Once
 * there is room again, an alarm ALARMS_LOST tells how many there were.
 *
 * Thread safety: all functions may be called from any thread; one mutex, with no other one taken
 * inside. Format: docs/formats/alarms.md. */

#define PD_ALARM_BATCH_LEN   256u
#define PD_ALARM_BATCH_BYTES (48u * 1024)

#define PD_ALARM_SPOOL_COUNTERS(X)                                                  \
    X(spooled, "alarms that were taken over to be sent to the controller")          \
    X(unspooled, "of these, in memory only: the spool's file could not be written") \
    X(recovered, "alarms that an earlier process had left in the spool")            \
    X(damaged, "pieces of the spool's file that did not hold and were left out")    \
    X(dropped, "alarms for which the spool had no room")                            \
    X(sent, "alarms that the controller has acknowledged")                          \
    X(refused, "alarms that the controller will never take, given up")

struct pd_alarm_spool_stat {
#define X(name, text) uint64_t name;
    PD_ALARM_SPOOL_COUNTERS(X)
#undef X
    uint64_t waiting; /* spooled + recovered - sent - refused */
    uint64_t waiting_bytes;
};

struct pd_alarm_spool;

struct pd_alarm_spool_config {
    const char *file;
    uint32_t host;
    uint64_t max_bytes;
};

/* Makes the file when it is not there. One that is damaged, or of another host, is set aside
 * (".old"), which `ret_aside` tells. 0; -PD_E_BUSY: another process has it; -errno. */
int pd_alarm_spool_open(const struct pd_alarm_spool_config *config,
                        struct pd_alarm_spool **ret_spool, bool *ret_aside, struct pd_error *error);
void pd_alarm_spool_close(struct pd_alarm_spool *spool); /* with a sync; NULL is fine */

/* 0, also when only memory has it; -PD_E_FULL: dropped; -ENOMEM: dropped. */
int pd_alarm_spool_add(struct pd_alarm_spool *spool, const struct pd_alarm_message *message);

/* Alarms that had no room even before they came here. */
void pd_alarm_spool_dropped(struct pd_alarm_spool *spool, uint64_t n);

/* The oldest ones, at most `most` and PD_ALARM_BATCH_LEN, as the body of POST /v1/alarms. */
struct pd_alarm_batch {
    char *body; /* the caller's to free */
    size_t body_bytes;
    size_t len;
    uint64_t spool;
    uint64_t last; /* seq */
};
/* 0; -PD_E_NOT_FOUND: none waits; -ENOMEM. */
int pd_alarm_spool_take(struct pd_alarm_spool *spool, size_t most,
                        struct pd_alarm_batch *ret_batch);

/* Up to `seq` of this identity they are done with: acknowledged, or refused for good. */
void pd_alarm_spool_end(struct pd_alarm_spool *spool, uint64_t identity, uint64_t seq,
                        bool refused);

/* Flushes the file when something waits that is not flushed yet, and makes it short when most of it
 * is done with. */
void pd_alarm_spool_sync(struct pd_alarm_spool *spool);

void pd_alarm_spool_stat(struct pd_alarm_spool *spool, struct pd_alarm_spool_stat *ret_stat);

#endif
