/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding, storing, and what happens when either does not work. */
#include "agent/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define MODULE      "store"
#define RETAIN_NS   (10 * PD_NS_PER_S) /* longest work of retention at an end */
#define MAINTAIN_NS PD_NS_PER_S

void pd_agent_recorder_init(struct pd_recorder *recorder, struct pd_tib *tib,
                            struct pd_model *model, struct pd_alarms *alarms,
                            struct pd_agent_counters *counters)
{
    memset(recorder, 0, sizeof *recorder);
    recorder->tib = tib;
    recorder->model = model;
    recorder->alarms = alarms;
    recorder->counters = counters;
}

void pd_agent_recorder_done(struct pd_recorder *recorder)
{
    pd_agent_model_free(recorder->model);
    recorder->model = NULL;
}

/* The TIB has counted what was lost; here people are told. */
static void judge(struct pd_recorder *recorder, int err)
{
    if (err) {
        bool full = err == -PD_E_FULL;

        pd_alarms_note(recorder->alarms, full ? PD_ALARM_TIB_FULL : PD_ALARM_TIB_ERROR,
                       pd_error_text(err));
        pd_log_limited(&recorder->log_limit, PD_LOG_ERROR, MODULE, "records are being lost: %s",
                       pd_error_text(err));
        if (!recorder->log_limit.suppressed) {
            recorder->told = true;
        }
    } else if (recorder->told) {
        pd_log(PD_LOG_INFO, MODULE, NULL, "records are stored again");
        recorder->told = false;
    }
}

/* An append that works tells little: the batch may only be buffered. A commit that works ends a
 * failure. */
static void give(struct pd_recorder *recorder, const struct pd_tib_record *records, uint32_t n)
{
    int err = pd_tib_append(recorder->tib, records, n);

    if (err) {
        judge(recorder, err);
    }
    if (!recorder->uncommitted) {
        recorder->commit_by_ns = pd_clock_monotonic_ns() + PD_RECORDER_COMMIT_NS;
    }
    recorder->uncommitted += n;
}

static void append(struct pd_recorder *recorder)
{
    if (recorder->batch_len) {
        give(recorder, recorder->records, recorder->batch_len);
        for (unsigned i = 0; i < recorder->batch_len; i++) {
            free(recorder->extras[i]);
        }
        recorder->batch_len = 0;
    }
}

static void alarm_undecoded(struct pd_recorder *recorder, const struct pd_trajectory_record *record,
                            const struct pd_claim *claim, int err)
{
    struct pd_alarm_raise raise = {
        .reason = err == -PD_E_UNKNOWN_HOST ? PD_ALARM_UNKNOWN_HOST : PD_ALARM_INFEASIBLE_PATH,
        .flow = &record->flow,
        .mark = &claim->mark,
        .detail = pd_error_text(err),
    };

    pd_alarms_raise(recorder->alarms, &raise);
}

static void tell_committed(struct pd_recorder *recorder)
{
    for (unsigned i = 0; i < recorder->positions_len; i++) {
        recorder->committed(recorder->committed_context, recorder->positions[i].key,
                            recorder->positions[i].position);
    }
    recorder->positions_len = 0;
}

void pd_agent_recorder_take(struct pd_recorder *recorder, const struct pd_trajectory_record *record,
                            struct pd_item_extra *extra, bool kept)
{
    struct pd_tib_record *row = &recorder->records[recorder->batch_len];
    struct pd_way *way = &recorder->ways[recorder->batch_len];
    int err = pd_agent_snapshot_path(recorder->model->resolver, record, way);

    if (err && err != -PD_E_UNSUPPORTED) { /* where nothing is marked, that is nobody's fault */
        alarm_undecoded(recorder, record, &way->claim, err);
    }
    *row = pd_agent_snapshot_row(record, &way->claim);
    row->extra_bytes = extra ? extra->bytes_len : 0;
    row->extra = extra ? extra->bytes : NULL;
    recorder->extras[recorder->batch_len++] = extra;
    pd_count(&recorder->counters->records, 1);
    recorder->since_mark |= kept;
    if (recorder->batch_len == PD_RECORDER_BATCH) {
        append(recorder);
        if (recorder->uncommitted >= PD_RECORDER_COMMIT_RECORDS &&
            !(recorder->marked && recorder->since_mark)) {
            pd_agent_recorder_commit(recorder);
        }
    }
}

void pd_agent_recorder_trace(struct pd_recorder *recorder, const struct pd_trace *trace)
{
    struct pd_agent_trace_row row;

    pd_agent_trace_row(trace, &row);
    append(recorder);
    give(recorder, &row.record, 1);
    pd_count(&recorder->counters->records, 1);
}

/* The TIB commits by itself when it has PD_RECORDER_COMMIT_RECORDS: one stretch between two
 * positions before that it is done here. */
void pd_agent_recorder_position(struct pd_recorder *recorder, uint64_t key, uint64_t position)
{
    unsigned at = 0;

    while (at < recorder->positions_len && recorder->positions[at].key != key) {
        at++;
    }
    if (at == PD_TIB_CURSORS) {
        pd_agent_recorder_commit(recorder);
        at = 0;
    }
    recorder->positions[at] = (struct pd_recorder_position){key, position};
    if (at == recorder->positions_len) {
        recorder->positions_len++;
    }
    recorder->since_mark = false;
    append(recorder);
    if (!recorder->uncommitted) {
        tell_committed(recorder); /* nothing but announcements lies before it */
    } else if (recorder->uncommitted + 2 * PD_RECORDER_MARK_RECORDS >= PD_RECORDER_COMMIT_RECORDS) {
        pd_agent_recorder_commit(recorder);
    }
}

void pd_agent_recorder_commit(struct pd_recorder *recorder)
{
    append(recorder);
    if (!recorder->uncommitted) {
        return;
    }
    for (unsigned i = 0; i < recorder->positions_len; i++) {
        pd_tib_set_cursor(recorder->tib, recorder->positions[i].key,
                          recorder->positions[i].position);
    }
    judge(recorder, pd_tib_commit(recorder->tib));
    recorder->uncommitted = 0;
    tell_committed(recorder);
}

uint64_t pd_agent_recorder_tick(struct pd_recorder *recorder, uint64_t now_ns)
{
    append(recorder);
    if (recorder->uncommitted && now_ns >= recorder->commit_by_ns &&
        !(recorder->marked && recorder->since_mark)) {
        pd_agent_recorder_commit(recorder);
    }
    if (now_ns >= recorder->maintain_ns) {
        int err = pd_tib_maintain(recorder->tib, pd_clock_wall_us());

        if (err) {
            pd_log_limited(&recorder->log_limit, PD_LOG_ERROR, MODULE,
                           "the store cannot be maintained: %s", pd_error_text(err));
        }
        recorder->maintain_ns = now_ns + MAINTAIN_NS;
    }
    return recorder->uncommitted && recorder->commit_by_ns < recorder->maintain_ns
               ? recorder->commit_by_ns
               : recorder->maintain_ns;
}

/* What is kept after an end is within the limits: the TIB does a bounded piece of that work in each
 * call. */
static void retain(struct pd_tib *tib)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + RETAIN_NS;
    struct pd_tib_stat stat = {0};
    uint64_t before;
    int err = pd_tib_stat(tib, &stat);

    do {
        before = stat.expired;
        if (!err) {
            err = pd_tib_maintain(tib, pd_clock_wall_us());
        }
        if (!err) {
            err = pd_tib_stat(tib, &stat);
        }
    } while (!err && stat.expired > before && pd_clock_monotonic_ns() < until_ns);
    if (err) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "retention was not applied at the end: %s",
               pd_error_text(err));
    }
}

void pd_agent_recorder_end(struct pd_recorder *recorder)
{
    pd_agent_recorder_commit(recorder);
    retain(recorder->tib);
}

void pd_agent_recorder_snapshot(struct pd_recorder *recorder, struct pd_agent_snapshot *snapshot)
{
    pd_agent_recorder_commit(recorder);
    if (!snapshot->error) {
        snapshot->error = pd_tib_snapshot(recorder->tib, &snapshot->tib);
    }
    pd_agent_snapshot_decode(snapshot, recorder->model->resolver);
}

struct pd_resolver_counters pd_agent_recorder_decoder(const struct pd_recorder *recorder)
{
    const struct pd_resolver_counters *now = pd_resolver_counters(recorder->model->resolver);
    struct pd_resolver_counters sum = recorder->decoder_before;

    sum.hits += now->hits;
    sum.misses += now->misses;
    sum.infeasible += now->infeasible;
    sum.ambiguous += now->ambiguous;
    sum.unknown_hosts += now->unknown_hosts;
    return sum;
}

void pd_agent_recorder_model(struct pd_recorder *recorder, struct pd_model *model)
{
    recorder->decoder_before = pd_agent_recorder_decoder(recorder);
    pd_agent_model_free(recorder->model);
    recorder->model = model;
}
