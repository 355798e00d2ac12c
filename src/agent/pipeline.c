/* SPDX-License-Identifier: Apache-2.0 */
/* The intake thread and the store thread, and what is asked of them. */
#include "agent/pipeline.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/intake_log.h"
#include "agent/mailbox.h"
#include "agent/queue.h"
#include "agent/recorder.h"
#include "base/clock.h"
#include "base/log.h"

#define MODULE     "pipeline"
#define QUEUE_LEN  16384
#define OUTBOX_LEN 128 /* records that the intake thread gathers for one push */
#define POP_LEN    256
#define POLL_MS    100 /* longest sleep of the intake thread */
#define JOIN_MS    100 /* between two looks whether the intake thread has ended */
#define JOIN_LOOKS 20  /* until what it may be blocked in is interrupted */
#define INTERRUPT  SIGUSR1

struct pd_pipeline {
    struct pd_intake_set intakes; /* the intake thread's */
    struct pd_intake_log intake_logs[PD_INTAKES_MAX];
    struct pd_queue *queue;
    struct pd_recorder recorder; /* the store thread's */
    struct pd_alarms *alarms;
    struct pd_agent_counters *counters;
    struct pd_feed *feed;             /* the intake thread writes */
    struct pd_digests *digests;       /* the intake thread's; NULL: none */
    struct pd_agent_samples *samples; /* the intake thread puts, the store thread takes */
    bool use_dscp, started;
    pd_packet_mark_reader *read_mark;
    uint16_t tpid, aside_tpid; /* of link tags, where they have their own; of tags that are none */
    int wake_fd;               /* wakes the intake thread */
    int ended_fd;              /* tells that the intake has ended and is stored */
    atomic_bool stopping;
    /* Monotonic; each written by its thread, read by the watchdog: relaxed, nothing else hangs on
     * them. */
    _Atomic uint64_t intake_alive_ns, store_alive_ns;
    pthread_t intake_thread, store_thread;
    struct pd_agent_mailbox mailbox;
    pthread_mutex_t status_lock; /* of `status` */
    struct pd_pipeline_status status;
    struct pd_item outbox[OUTBOX_LEN]; /* the intake thread's */
    size_t outbox_len;
    unsigned since_mark; /* the intake thread's: records since the last positions */
};

/* ---- intake thread ---- */

static void send_outbox(struct pd_pipeline *pipeline)
{
    unsigned waits;

    if (!pipeline->outbox_len) {
        return;
    }
    waits = pd_agent_queue_push(pipeline->queue, pipeline->outbox, pipeline->outbox_len);
    if (waits) {
        pd_count(&pipeline->counters->queue_waits, waits);
    }
    pipeline->outbox_len = 0;
}

/* A mark goes behind every record that came before it. */
static void send_mark(struct pd_pipeline *pipeline, const struct pd_item *mark)
{
    send_outbox(pipeline);
    pd_agent_queue_push(pipeline->queue, mark, 1);
}

static void send_position(void *context, uint64_t key, uint64_t position)
{
    struct pd_item mark = {.kind = PD_ITEM_POSITION, .position = {key, position}};

    send_mark(context, &mark);
}

static void send_positions(struct pd_pipeline *pipeline)
{
    pd_intake_set_positions(&pipeline->intakes, send_position, pipeline);
    pipeline->since_mark = 0;
}

static void send_record(void *context, const struct pd_trajectory_record *record,
                        const uint8_t *extra, uint32_t extra_bytes)
{
    struct pd_pipeline *pipeline = context;
    struct pd_item *item = &pipeline->outbox[pipeline->outbox_len++];

    if (pd_feed_wanted(pipeline->feed, PD_TRIGGER_EVICTED)) {
        pd_agent_feed_give(pipeline->feed, PD_TRIGGER_EVICTED, record);
    }
    item->kind = PD_ITEM_RECORD;
    item->record = *record;
    item->extra = pd_agent_item_extra_new(extra, extra_bytes);
    item->kept = pd_intake_set_kept(&pipeline->intakes);
    if (pipeline->outbox_len == OUTBOX_LEN) {
        send_outbox(pipeline);
    }
    if (++pipeline->since_mark == PD_RECORDER_MARK_RECORDS) {
        send_positions(pipeline);
    }
}

static bool evicted(void *context, const struct pd_trajectory_record *record)
{
    struct pd_pipeline *pipeline = context;

    pd_agent_digests_split(pipeline->digests, record, true, true, send_record, pipeline);
    return true;
}

static void new_flow(void *context, const struct pd_trajectory_record *record)
{
    struct pd_pipeline *pipeline = context;

    pd_count(&pipeline->counters->new_flows, 1);
    if (pd_feed_wanted(pipeline->feed, PD_TRIGGER_NEW_FLOW)) {
        pd_agent_feed_give(pipeline->feed, PD_TRIGGER_NEW_FLOW, record);
    }
}

/* Everybody reads the copy. That an intake has ended is for the store thread to tell, once all is
 * stored. */
static void publish_intake(struct pd_pipeline *pipeline, unsigned i)
{
    struct pd_intake_status status, *published = &pipeline->status.intakes[i].status;

    pd_intake_status(pipeline->intakes.members[i].intake, &status);
    pd_agent_intake_log_look(&pipeline->intake_logs[i], &status);
    pthread_mutex_lock(&pipeline->status_lock);
    if (status.state == PD_INTAKE_FINISHED || status.state == PD_INTAKE_FAILED) {
        status.state = published->state == PD_INTAKE_WAITING ? PD_INTAKE_RUNNING : published->state;
    }
    *published = status;
    pthread_mutex_unlock(&pipeline->status_lock);
}

static void publish_intakes(struct pd_pipeline *pipeline)
{
    for (unsigned i = 0; i < pipeline->intakes.len; i++) {
        publish_intake(pipeline, i);
    }
}

static void visit_live(void *context, const struct pd_trajectory_record *record,
                       const uint8_t *extra, uint32_t extra_bytes)
{
    pd_agent_snapshot_add(context, record, extra, extra_bytes);
}

static void serve_mailbox(struct pd_pipeline *pipeline)
{
    struct pd_item mark = {.kind = PD_ITEM_SNAPSHOT,
                           .snapshot = pd_agent_mailbox_take(&pipeline->mailbox)};

    if (!mark.snapshot) {
        return;
    }
    struct pd_digests_walk walk = {pipeline->digests, mark.snapshot->query.columns, visit_live,
                                   mark.snapshot};
    pd_intake_set_walk(&pipeline->intakes, pd_agent_digests_visit, &walk);
    send_positions(pipeline);
    send_mark(pipeline, &mark);
}

/* Behind everything that it gave. */
static void tell_end(void *context, unsigned member, int err)
{
    struct pd_pipeline *pipeline = context;
    struct pd_item mark = {.kind = PD_ITEM_ENDED, .end = {.member = member}};
    struct pd_intake_status status;

    pd_intake_status(pipeline->intakes.members[member].intake, &status);
    mark.end.state =
        err == -PD_E_EOF || err == -PD_E_TRUNCATED ? PD_INTAKE_FINISHED : PD_INTAKE_FAILED;
    mark.end.last = !pd_intake_set_left(&pipeline->intakes);
    if (err == -PD_E_TRUNCATED) {
        pd_alarms_note(pipeline->alarms, PD_ALARM_INTAKE_TRUNCATED, status.detail);
        pd_log(PD_LOG_WARN, MODULE, NULL, "the capture is cut, what came before is kept: %s",
               status.detail);
    } else if (err != -PD_E_EOF) {
        const char *detail = status.detail[0] ? status.detail : pd_error_text(err);

        pd_alarms_note(pipeline->alarms, PD_ALARM_INTAKE_FAILED, detail);
        pd_log(PD_LOG_ERROR, MODULE, NULL, "the intake failed, nothing more is counted: %s",
               detail);
    }
    send_outbox(pipeline);
    send_positions(pipeline);
    publish_intake(pipeline, member);
    send_mark(pipeline, &mark);
}

/* After its end the intake is asked no more, but the mailbox is served as before. */
static void sleep_until_woken(const struct pd_pipeline *pipeline)
{
    struct pollfd wake = {.fd = pipeline->wake_fd, .events = POLLIN};

    poll(&wake, 1, POLL_MS);
}

/* Records of the plan before leave with what that plan has told of them. */
static void change_plan(struct pd_pipeline *pipeline)
{
    pd_intake_set_flush(&pipeline->intakes);
    pd_agent_digests_change(pipeline->digests);
}

static void *run_intake(void *context)
{
    struct pd_pipeline *pipeline = context;

    while (!atomic_load_explicit(&pipeline->stopping, memory_order_acquire)) {
        uint64_t wakes;

        if (!pd_intake_set_poll(&pipeline->intakes, POLL_MS, tell_end, pipeline)) {
            sleep_until_woken(pipeline);
        }
        pd_agent_digests_flush(pipeline->digests);
        if (pd_agent_digests_offered(pipeline->digests)) {
            change_plan(pipeline);
        }
        pd_agent_feed_flush(pipeline->feed);
        send_outbox(pipeline);
        send_positions(pipeline);
        publish_intakes(pipeline);
        if (read(pipeline->wake_fd, &wakes, sizeof wakes) > 0) {
            serve_mailbox(pipeline);
        }
        atomic_store_explicit(&pipeline->intake_alive_ns, pd_clock_monotonic_ns(),
                              memory_order_relaxed);
    }
    serve_mailbox(pipeline);
    pd_intake_set_flush(&pipeline->intakes);
    pd_agent_feed_flush(pipeline->feed);
    send_positions(pipeline);
    publish_intakes(pipeline);
    send_mark(pipeline, &(struct pd_item){.kind = PD_ITEM_STOP});
    return NULL;
}

/* ---- store thread ---- */

static void publish_store(struct pd_pipeline *pipeline)
{
    struct pd_resolver_counters decoder = pd_agent_recorder_decoder(&pipeline->recorder);

    pthread_mutex_lock(&pipeline->status_lock);
    pipeline->status.decoder = decoder;
    pthread_mutex_unlock(&pipeline->status_lock);
    atomic_store_explicit(&pipeline->store_alive_ns, pd_clock_monotonic_ns(), memory_order_relaxed);
}

static void publish_model(struct pd_pipeline *pipeline, const struct pd_model *model)
{
    struct pd_pipeline_status *status = &pipeline->status;

    pthread_mutex_lock(&pipeline->status_lock);
    snprintf(status->topology, sizeof status->topology, "%s", model->topology->name);
    pd_codec_set_names(&model->codecs, status->codec, sizeof status->codec);
    status->switches = model->topology->switches_len;
    status->hosts = model->topology->hosts_len;
    pthread_mutex_unlock(&pipeline->status_lock);
}

static void end_intake(struct pd_pipeline *pipeline, const struct pd_item_end *end)
{
    pd_agent_recorder_end(&pipeline->recorder);
    publish_store(pipeline);
    pthread_mutex_lock(&pipeline->status_lock);
    pipeline->status.intakes[end->member].status.state = end->state;
    pthread_mutex_unlock(&pipeline->status_lock);
    if (end->last) {
        eventfd_write(pipeline->ended_fd, 1);
    }
}

/* Returns whether it was the last item. */
static bool work_on(struct pd_pipeline *pipeline, const struct pd_item *item)
{
    struct pd_recorder *recorder = &pipeline->recorder;

    switch (item->kind) {
    case PD_ITEM_RECORD:
        pd_agent_recorder_take(recorder, &item->record, item->extra, item->kept);
        return false;
    case PD_ITEM_POSITION:
        pd_agent_recorder_position(recorder, item->position.key, item->position.position);
        return false;
    case PD_ITEM_SNAPSHOT:
        pd_agent_recorder_snapshot(recorder, item->snapshot);
        pd_agent_mailbox_hand_back(&pipeline->mailbox, item->snapshot);
        return false;
    case PD_ITEM_TRACE:
        pd_agent_recorder_trace(recorder, item->trace);
        free(item->trace);
        return false;
    case PD_ITEM_MODEL:
        publish_model(pipeline, item->model);
        pd_agent_recorder_model(recorder, item->model);
        return false;
    case PD_ITEM_ENDED: end_intake(pipeline, &item->end); return false;
    case PD_ITEM_STOP: pd_agent_recorder_end(recorder); return true;
    }
    return false;
}

static void *run_store(void *context)
{
    struct pd_pipeline *pipeline = context;
    struct pd_item items[POP_LEN];
    uint64_t deadline_ns = 0;
    bool stop = false;

    while (!stop) {
        size_t n = pd_agent_queue_pop(pipeline->queue, items, POP_LEN, deadline_ns);

        /* those of the packets that these records counted came before them */
        pd_agent_samples_fold(pipeline->samples, pipeline->recorder.model->resolver);
        for (size_t i = 0; i < n && !stop; i++) {
            stop = work_on(pipeline, &items[i]);
        }
        deadline_ns = pd_agent_recorder_tick(&pipeline->recorder, pd_clock_monotonic_ns());
        deadline_ns = pd_agent_samples_due(pipeline->samples, deadline_ns);
        publish_store(pipeline);
    }
    return NULL;
}

/* ---- askers ---- */

int pd_agent_pipeline_snapshot(struct pd_pipeline *pipeline, const struct pd_query *query,
                               struct pd_agent_snapshot **ret_snapshot)
{
    struct pd_agent_snapshot *snapshot = pd_agent_snapshot_new(query);
    bool ours;
    int err;

    if (!snapshot) {
        return -ENOMEM;
    }
    err = pd_agent_mailbox_ask(&pipeline->mailbox, snapshot, pipeline->wake_fd, &ours);
    if (err) {
        pd_count(&pipeline->counters->snapshots_late, 1);
    } else {
        pd_count(&pipeline->counters->snapshots, 1);
        err = snapshot->error;
    }
    if (err && ours) {
        pd_agent_snapshot_free(snapshot);
    } else if (!err) {
        *ret_snapshot = snapshot;
    }
    return err;
}

void pd_agent_pipeline_status(struct pd_pipeline *pipeline, struct pd_pipeline_status *ret_status)
{
    pthread_mutex_lock(&pipeline->status_lock);
    *ret_status = pipeline->status;
    pthread_mutex_unlock(&pipeline->status_lock);
    for (unsigned i = 0; i < ret_status->intakes_len; i++) {
        pd_intake_status_add(&ret_status->intake, &ret_status->intakes[i].status);
    }
    ret_status->queue_len = pd_agent_queue_len(pipeline->queue);
}

uint64_t pd_agent_pipeline_alive_ns(const struct pd_pipeline *pipeline)
{
    uint64_t intake_ns = atomic_load_explicit(&pipeline->intake_alive_ns, memory_order_relaxed);
    uint64_t store_ns = atomic_load_explicit(&pipeline->store_alive_ns, memory_order_relaxed);

    return intake_ns < store_ns ? intake_ns : store_ns;
}

int pd_agent_pipeline_ended_fd(const struct pd_pipeline *pipeline)
{
    return pipeline->ended_fd;
}

int pd_agent_pipeline_trace(struct pd_pipeline *pipeline, const struct pd_trace *trace)
{
    struct pd_item item = {.kind = PD_ITEM_TRACE, .trace = malloc(sizeof *trace)};

    if (!item.trace) {
        return -ENOMEM;
    }
    *item.trace = *trace;
    pd_agent_queue_push(pipeline->queue, &item, 1);
    return 0;
}

int pd_agent_pipeline_model(struct pd_pipeline *pipeline, struct pd_model *model,
                            struct pd_error *error)
{
    struct pd_item item = {.kind = PD_ITEM_MODEL, .model = model};
    char names[64];

    if (!(model->codecs.carriers & PD_CARRIER_DSCP) == pipeline->use_dscp ||
        model->codecs.read_mark != pipeline->read_mark || model->codecs.tpid != pipeline->tpid ||
        model->codecs.aside_tpid != pipeline->aside_tpid) {
        pd_fail(error, -PD_E_UNSUPPORTED,
                "codec %s cannot replace the one in force without a restart",
                pd_codec_set_names(&model->codecs, names, sizeof names));
        pd_agent_model_free(model);
        return -PD_E_UNSUPPORTED;
    }
    pd_agent_queue_push(pipeline->queue, &item, 1);
    return 0;
}

/* ---- life ---- */

static int stored(void *tib, uint64_t key, uint64_t *ret_position)
{
    return pd_tib_cursor(tib, key, ret_position);
}

static void committed(void *intakes, uint64_t key, uint64_t position)
{
    pd_intake_set_committed(intakes, key, position);
}

static int open_parts(struct pd_pipeline *pipeline, const struct pd_pipeline_config *config,
                      struct pd_error *error)
{
    struct pd_trajectory_sink sink = {
        .context = pipeline, .evicted = evicted, .new_flow = new_flow};
    struct pd_intake_config intake_config = config->intake_config;
    int err;

    pipeline->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pipeline->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pipeline->wake_fd < 0 || pipeline->ended_fd < 0) {
        return pd_fail(error, -errno, "eventfd: %s", strerror(errno));
    }
    err = pd_agent_queue_new(QUEUE_LEN, &pipeline->queue);
    if (err) {
        return pd_fail(error, err, "no memory for the queue");
    }
    pipeline->use_dscp = config->model->codecs.carriers & PD_CARRIER_DSCP;
    intake_config.use_dscp = pipeline->use_dscp;
    intake_config.read_mark = pipeline->read_mark = config->model->codecs.read_mark;
    intake_config.tpid = pipeline->tpid = config->model->codecs.tpid;
    intake_config.aside_tpid = pipeline->aside_tpid = config->model->codecs.aside_tpid;
    intake_config.wake_fd = pipeline->wake_fd;
    intake_config.stored = stored;
    intake_config.stored_context = config->tib;
    return pd_intake_set_open(config->intakes.items, config->intakes.len, &intake_config,
                              config->intake_options, config->intake_options_context, &sink,
                              &pipeline->intakes, error);
}

static void name_intakes(struct pd_pipeline *pipeline)
{
    pipeline->status.intakes_len = pipeline->intakes.len;
    for (unsigned i = 0; i < pipeline->intakes.len; i++) {
        pipeline->status.intakes[i].spec = pipeline->intakes.members[i].spec;
        pd_intake_status(pipeline->intakes.members[i].intake, &pipeline->status.intakes[i].status);
    }
}

int pd_agent_pipeline_open(const struct pd_pipeline_config *config,
                           struct pd_pipeline **ret_pipeline, struct pd_error *error)
{
    struct pd_pipeline *pipeline = calloc(1, sizeof *pipeline);
    int err;

    if (!pipeline) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    pipeline->wake_fd = pipeline->ended_fd = -1;
    pipeline->alarms = config->alarms;
    pipeline->counters = config->counters;
    pipeline->feed = config->feed;
    pipeline->digests = config->digests;
    pipeline->samples = config->samples;
    pd_agent_mailbox_init(&pipeline->mailbox);
    pthread_mutex_init(&pipeline->status_lock, NULL);
    err = open_parts(pipeline, config, error);
    if (err) {
        pd_agent_pipeline_free(pipeline);
        return err;
    }
    pd_agent_recorder_init(&pipeline->recorder, config->tib, config->model, config->alarms,
                           config->counters);
    pipeline->recorder.marked = pd_intake_set_keeps(&pipeline->intakes);
    pipeline->recorder.committed = committed;
    pipeline->recorder.committed_context = &pipeline->intakes;
    publish_model(pipeline, config->model);
    name_intakes(pipeline);
    pipeline->intake_alive_ns = pipeline->store_alive_ns = pd_clock_monotonic_ns();
    *ret_pipeline = pipeline;
    return 0;
}

int pd_agent_pipeline_start(struct pd_pipeline *pipeline)
{
    int err = pthread_create(&pipeline->store_thread, NULL, run_store, pipeline);

    if (err) {
        return -err;
    }
    err = pthread_create(&pipeline->intake_thread, NULL, run_intake, pipeline);
    if (err) {
        pd_agent_queue_push(pipeline->queue, &(struct pd_item){.kind = PD_ITEM_STOP}, 1);
        pthread_join(pipeline->store_thread, NULL);
        return -err;
    }
    pthread_setname_np(pipeline->store_thread, "pd-store");
    pthread_setname_np(pipeline->intake_thread, "pd-intake");
    pipeline->started = true;
    return 0;
}

static void interrupted(int number)
{
    (void)number; /* the interrupted call itself returns, with EINTR */
}

static struct timespec after_ms(long ms)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += ms * (long)PD_NS_PER_MS;
    time.tv_sec += time.tv_nsec / (long)PD_NS_PER_S;
    time.tv_nsec %= (long)PD_NS_PER_S;
    return time;
}

/* A thread that reads from a pipe whose writer stands still has not seen that it is to stop. */
static void join_intake(struct pd_pipeline *pipeline)
{
    const struct sigaction action = {.sa_handler = interrupted}; /* without SA_RESTART */
    struct timespec look = after_ms(JOIN_MS);

    sigaction(INTERRUPT, &action, NULL);
    for (unsigned looks = 1; pthread_timedjoin_np(pipeline->intake_thread, NULL, &look); looks++) {
        if (looks >= JOIN_LOOKS) {
            pthread_kill(pipeline->intake_thread, INTERRUPT);
        }
        look = after_ms(JOIN_MS);
    }
}

void pd_agent_pipeline_stop(struct pd_pipeline *pipeline)
{
    if (!pipeline->started) {
        return;
    }
    pd_agent_mailbox_close(&pipeline->mailbox);
    atomic_store_explicit(&pipeline->stopping, true, memory_order_release); /* read by run_intake */
    eventfd_write(pipeline->wake_fd, 1);
    join_intake(pipeline);
    pthread_join(pipeline->store_thread, NULL);
    pipeline->started = false;
}

void pd_agent_pipeline_free(struct pd_pipeline *pipeline)
{
    if (!pipeline) {
        return;
    }
    pd_intake_set_close(&pipeline->intakes);
    pd_agent_recorder_done(&pipeline->recorder);
    pd_agent_queue_free(pipeline->queue);
    if (pipeline->wake_fd >= 0) {
        close(pipeline->wake_fd);
    }
    if (pipeline->ended_fd >= 0) {
        close(pipeline->ended_fd);
    }
    pthread_mutex_destroy(&pipeline->status_lock);
    pd_agent_mailbox_done(&pipeline->mailbox);
    free(pipeline);
}
