/* SPDX-License-Identifier: Apache-2.0 */
/* The work of the store thread: trajectory records are decoded to paths and kept in the TIB. */
#ifndef PD_AGENT_RECORDER_H
#define PD_AGENT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/alarms/alarms.h"
#include "agent/counters.h"
#include "agent/model.h"
#include "agent/queue.h"
#include "agent/snapshot.h"
#include "base/log.h"
#include "tib/tib.h"
#include "trace/trace.h"

/* Records are appended in batches and committed once a second or every PD_RECORDER_COMMIT_RECORDS.
 * What the TIB cannot take is counted by the TIB, alarmed and logged once a second at most; the
 * work goes on, and so recovers.
 *
 * Thread safety: one thread owns a store. */

#define PD_RECORDER_BATCH          128
#define PD_RECORDER_COMMIT_RECORDS 20000
#define PD_RECORDER_MARK_RECORDS   4096 /* at most so many between two positions */
#define PD_RECORDER_COMMIT_NS      UINT64_C(1000000000)

struct pd_recorder {
    struct pd_tib *tib;
    struct pd_model *model; /* owned */
    struct pd_alarms *alarms;
    struct pd_agent_counters *counters;
    struct pd_resolver_counters decoder_before; /* of models that were replaced */
    struct pd_tib_record records[PD_RECORDER_BATCH];
    struct pd_way ways[PD_RECORDER_BATCH];
    struct pd_item_extra *extras[PD_RECORDER_BATCH]; /* of the batch; NULL: none */
    unsigned batch_len;
    uint32_t uncommitted; /* appended since the last commit */
    /* monotonic: when the oldest uncommitted record has waited long enough */
    uint64_t commit_by_ns;
    uint64_t maintain_ns; /* monotonic: next time to maintain */
    bool marked;          /* commits only at positions, so that they hold for what is committed */
    bool since_mark;      /* records were taken after the last position */
    struct pd_recorder_position {
        uint64_t key, position;
    } positions[PD_TIB_CURSORS]; /* not committed yet */
    unsigned positions_len;
    void (*committed)(void *context, uint64_t key, uint64_t position);
    void *committed_context;
    bool told; /* the log says that records are being lost, and not yet that this has ended */
    struct pd_log_limit log_limit;
};

/* `model` is the store's from then on; the rest outlives it. */
void pd_agent_recorder_init(struct pd_recorder *recorder, struct pd_tib *tib,
                            struct pd_model *model, struct pd_alarms *alarms,
                            struct pd_agent_counters *counters);
void pd_agent_recorder_done(struct pd_recorder *recorder);

/* Decodes one record and puts it into the batch, with its further columns (the recorder's from then
 * on; NULL: none). `kept`: its source keeps it until it is stored, so that it counts for the next
 * position. */
void pd_agent_recorder_take(struct pd_recorder *recorder, const struct pd_trajectory_record *record,
                            struct pd_item_extra *extra, bool kept);

/* Stores a trace, as a record of its own. */
void pd_agent_recorder_trace(struct pd_recorder *recorder, const struct pd_trace *trace);

/* The records of a source up to this position were taken. Once they are in the TIB, and with them
 * the position, `recorder->committed` is called. */
void pd_agent_recorder_position(struct pd_recorder *recorder, uint64_t key, uint64_t position);

/* Everything taken so far is in the TIB, durably, or was counted as lost. */
void pd_agent_recorder_commit(struct pd_recorder *recorder);

/* An intake has ended: the same, and what is kept is within the limits. */
void pd_agent_recorder_end(struct pd_recorder *recorder);

/* Commits and maintains when it is time; returns when to call again at the latest (monotonic). */
uint64_t pd_agent_recorder_tick(struct pd_recorder *recorder, uint64_t now_ns);

/* The second half of a snapshot: commit, snapshot, live rows. */
void pd_agent_recorder_snapshot(struct pd_recorder *recorder, struct pd_agent_snapshot *snapshot);

/* Decodes with another model from now on; the old one is freed. */
void pd_agent_recorder_model(struct pd_recorder *recorder, struct pd_model *model);

/* Sum over all models so far. */
struct pd_resolver_counters pd_agent_recorder_decoder(const struct pd_recorder *recorder);

#endif
