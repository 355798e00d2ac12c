/* SPDX-License-Identifier: Apache-2.0 */
/* A packet log: the ring between the intake's thread and the one that writes. */
#include "agent/logs/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/logs/pcapng.h"
#include "agent/snapshot.h"
#include "base/clock.h"
#include "query/way.h"

#define IDLE_NS       (5 * PD_NS_PER_MS) /* between two looks at an empty ring */
#define CACHE_ENTRIES 1024
#define BUFFER_BYTES  ((size_t)256 << 10)

/* In the ring. */
struct slot {
    struct pd_packet packet;
    uint64_t time_ns;
    uint32_t captured, wire;
    uint8_t frame[];
};

struct row {
    uint64_t time_ns;
    uint32_t wire;
    struct pd_flow_id flow;
    struct pd_mark mark; /* where no path fits */
    struct pd_path path;
};

#define COUNTERS(X) X(offered) X(packets) X(other_path) X(dropped) X(too_late) X(bytes)

struct pd_packet_log {
    struct pd_packet_request request;
    struct pd_model *model;
    struct pd_resolver *resolver; /* of the writing thread, like all down to the ring */
    uint8_t *buffer;
    size_t buffer_len;
    int fd;
    pthread_t thread;
    bool running; /* the thread was started */
    uint64_t started_us, until_ns;
    uint8_t *ring;
    size_t slots, slot_bytes;
    _Atomic uint64_t head; /* slots filled: the intake's thread releases, the writer acquires */
    _Atomic uint64_t tail; /* slots emptied: the other way round */
    atomic_bool stop;      /* asks the writer to end; relaxed, the join is what counts */
    atomic_bool finished;  /* nothing more is written: released with all counters behind it */
    /* Static words, once it is finished; relaxed: read after `finished`. */
    _Atomic(const char *) why;
#define X(name) _Atomic uint64_t name; /* numbers by themselves: relaxed */
    COUNTERS(X)
#undef X
    pthread_mutex_t lock; /* of the rows */
    struct row *rows;
    size_t rows_len;
};

static void count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static struct slot *slot_at(const struct pd_packet_log *log, uint64_t at)
{
    return (struct slot *)(log->ring + at % log->slots * log->slot_bytes);
}

/* ---- the packet path ---- */

void pd_log_packet_log_offer(struct pd_packet_log *log, const struct pd_packet *packet,
                             const uint8_t *frame, size_t captured, size_t wire, uint64_t time_ns)
{
    const uint64_t head = atomic_load_explicit(&log->head, memory_order_relaxed);
    struct slot *slot;

    if (!pd_flow_matches(&log->request.query.filter.flow, &packet->flow)) {
        return;
    }
    count(&log->offered, 1);
    if (head - atomic_load_explicit(&log->tail, memory_order_acquire) == log->slots) {
        count(&log->dropped, 1);
        return;
    }
    slot = slot_at(log, head);
    slot->packet = *packet;
    slot->time_ns = time_ns;
    slot->wire = (uint32_t)wire;
    slot->captured =
        (uint32_t)(captured < log->request.snap_bytes ? captured : log->request.snap_bytes);
    memcpy(slot->frame, frame, slot->captured);
    atomic_store_explicit(&log->head, head + 1, memory_order_release);
}

/* ---- the writing thread ---- */

static int flush(struct pd_packet_log *log)
{
    size_t done = 0;

    while (done < log->buffer_len) {
        const ssize_t n = write(log->fd, log->buffer + done, log->buffer_len - done);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    count(&log->bytes, log->buffer_len);
    log->buffer_len = 0;
    return 0;
}

/* As of a record of the same flow and tags. */
static void find_path(struct pd_packet_log *log, const struct pd_packet *packet,
                      struct pd_way *ret_way)
{
    const struct pd_trajectory_record record = {
        .flow = packet->flow, .mark = packet->mark & log->model->codecs.mark_bits};

    (void)pd_agent_snapshot_path(
        log->resolver, &record,
        ret_way); /* an error: the path is empty, and the claim has the mark */
}

static void describe(const struct pd_claim *claim, char comment[PD_PCAPNG_COMMENT_BYTES])
{
    const struct pd_path *path = claim->path;
    char mark[PD_WAY_MARK_TEXT_BYTES];
    size_t len = 0;

    if (!path->len) {
        snprintf(comment, PD_PCAPNG_COMMENT_BYTES, "no path of the topology; %s",
                 pd_query_way_mark_text(&claim->mark, mark));
    }
    for (unsigned i = 0; i < path->len && len < PD_PCAPNG_COMMENT_BYTES; i++) {
        len += (size_t)snprintf(comment + len, PD_PCAPNG_COMMENT_BYTES - len, "%s%u",
                                i ? "," : "path ", path->switches[i]);
    }
}

static void keep_row(struct pd_packet_log *log, const struct slot *slot, const struct pd_way *way)
{
    pthread_mutex_lock(&log->lock);
    if (log->rows_len < PD_PACKET_LOG_ROWS_MAX) {
        struct row *row = &log->rows[log->rows_len++];

        row->time_ns = slot->time_ns;
        row->wire = slot->wire;
        row->flow = slot->packet.flow;
        row->mark = way->claim.mark;
        pd_path_copy(&row->path, &way->path);
    }
    pthread_mutex_unlock(&log->lock);
}

static uint64_t file_bytes(const struct pd_packet_log *log)
{
    return atomic_load_explicit(&log->bytes, memory_order_relaxed) + log->buffer_len;
}

static const char *put(struct pd_packet_log *log, const struct slot *slot, const struct pd_way *way)
{
    const size_t most = PD_PCAPNG_PACKET_BYTES(slot->captured);
    char comment[PD_PCAPNG_COMMENT_BYTES];

    if (file_bytes(log) + most > PD_PACKET_LOG_FILE_BYTES) {
        return "the file is full";
    }
    if (log->buffer_len + most > BUFFER_BYTES && flush(log)) {
        return "the file cannot be written";
    }
    describe(&way->claim, comment);
    log->buffer_len += pd_log_pcapng_packet(log->buffer + log->buffer_len, slot->time_ns,
                                            slot->frame, slot->captured, slot->wire, comment);
    keep_row(log, slot, way);
    count(&log->packets, 1);
    return atomic_load_explicit(&log->packets, memory_order_relaxed) == log->request.max_packets
               ? "as many packets as were wanted"
               : NULL;
}

/* Returns why the log is to end, or NULL. */
static const char *take(struct pd_packet_log *log, const struct slot *slot)
{
    const struct pd_tib_filter filter = pd_query_filter(&log->request.query);
    struct pd_way way;
    struct pd_tib_record record = {.flow = slot->packet.flow, .path = &way.path};

    find_path(log, &slot->packet, &way);
    record.claim = pd_tib_claim_kept(&way.claim);
    if (pd_tib_filter_matches(&filter, &record)) {
        return put(log, slot, &way);
    }
    count(&log->other_path, 1);
    return NULL;
}

/* Empties the ring; false: it was empty. */
static bool drain(struct pd_packet_log *log, const char **why)
{
    const uint64_t head = atomic_load_explicit(&log->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&log->tail, memory_order_relaxed);
    const bool some = tail != head;

    for (; tail != head; tail++) {
        if (*why) {
            count(&log->too_late, 1);
        } else {
            *why = take(log, slot_at(log, tail));
        }
        atomic_store_explicit(&log->tail, tail + 1, memory_order_release);
    }
    return some;
}

static void sleep_a_while(void)
{
    const struct timespec while_ns = {0, (long)IDLE_NS};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &while_ns, NULL);
}

static void *run(void *context)
{
    struct pd_packet_log *log = context;
    const char *why = NULL;

    while (!why) {
        const bool over = pd_clock_monotonic_ns() >= log->until_ns;

        if (!drain(log, &why)) {
            if (flush(log)) {
                why = "the file cannot be written";
            } else if (atomic_load_explicit(&log->stop, memory_order_relaxed)) {
                why = "it was told to end";
            } else if (over) {
                why = "its time is over";
            } else {
                sleep_a_while();
            }
        } else if (over && !why) {
            why = "its time is over";
        }
    }
    if (flush(log)) {
        why = "the file cannot be written";
    }
    atomic_store_explicit(&log->why, why, memory_order_relaxed);
    atomic_store_explicit(&log->finished, true, memory_order_release);
    return NULL;
}

/* ---- life ---- */

static int open_all(struct pd_packet_log *log, const char *folder, struct pd_error *error)
{
    int err;

    log->slot_bytes = (sizeof(struct slot) + log->request.snap_bytes + 7) & ~(size_t)7;
    log->slots = PD_PACKET_LOG_RING_BYTES / log->slot_bytes;
    log->ring = malloc(log->slots * log->slot_bytes);
    log->buffer = malloc(BUFFER_BYTES);
    log->rows = calloc(PD_PACKET_LOG_ROWS_MAX, sizeof *log->rows);
    err = pd_resolver_new(&log->model->codecs, CACHE_ENTRIES, &log->resolver);
    if (err || !log->ring || !log->buffer || !log->rows) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    log->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (log->fd < 0) {
        return pd_fail(error, -PD_E_FULL, "no file can be made for packets: %s", strerror(errno));
    }
    log->buffer_len = pd_log_pcapng_head(log->buffer, (uint32_t)log->request.snap_bytes);
    return flush(log) ? pd_fail(error, -PD_E_FULL, "no room for packets") : 0;
}

int pd_log_packet_log_new(const struct pd_packet_request *request, const char *folder,
                          struct pd_model *model, struct pd_packet_log **ret_log,
                          struct pd_error *error)
{
    struct pd_packet_log *log = calloc(1, sizeof *log);
    int err;

    if (!log) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    log->request = *request;
    log->fd = -1;
    log->model = pd_agent_model_hold(model);
    log->started_us = pd_clock_wall_us();
    log->until_ns = pd_clock_monotonic_ns() + request->seconds * PD_NS_PER_S;
    pthread_mutex_init(&log->lock, NULL);
    err = open_all(log, folder, error);
    if (!err) {
        err = -pthread_create(&log->thread, NULL, run, log);
        log->running = !err;
        if (err) {
            pd_fail(error, err, "no thread: %s", strerror(-err));
        }
    }
    if (err) {
        pd_log_packet_log_free(log);
    } else {
        *ret_log = log;
    }
    return err;
}

void pd_log_packet_log_free(struct pd_packet_log *log)
{
    if (!log) {
        return;
    }
    atomic_store_explicit(&log->stop, true, memory_order_relaxed);
    if (log->running) {
        pthread_join(log->thread, NULL);
    }
    if (log->fd >= 0) {
        close(log->fd);
    }
    pthread_mutex_destroy(&log->lock);
    pd_resolver_free(log->resolver);
    pd_agent_model_free(log->model);
    free(log->rows);
    free(log->buffer);
    free(log->ring);
    free(log);
}

/* ---- what it says ---- */

uint64_t pd_log_packet_log_id(const struct pd_packet_log *log)
{
    return log->request.id;
}

bool pd_log_packet_log_finished(const struct pd_packet_log *log)
{
    return atomic_load_explicit(&log->finished, memory_order_acquire);
}

int pd_log_packet_log_file(const struct pd_packet_log *log, int *ret_fd, uint64_t *ret_bytes)
{
    const int fd = fcntl(log->fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0) {
        return -errno;
    }
    *ret_bytes = atomic_load_explicit(&log->bytes, memory_order_acquire);
    *ret_fd = fd;
    return 0;
}

/* Nobody takes out what was still offered while the log came to its end. */
static uint64_t left_over(const struct pd_packet_log *log)
{
    return atomic_load_explicit(&log->head, memory_order_acquire) -
           atomic_load_explicit(&log->tail, memory_order_acquire);
}

json_t *pd_log_packet_log_json(struct pd_packet_log *log)
{
    const bool finished = pd_log_packet_log_finished(log);
    const char *why = finished ? atomic_load_explicit(&log->why, memory_order_relaxed) : "";
#define X(name) const uint64_t name = atomic_load_explicit(&log->name, memory_order_relaxed);
    COUNTERS(X)
#undef X

    return json_pack(
        "{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "id",
        (json_int_t)log->request.id, "state", finished ? "finished" : "running", "reason", why,
        "started_us", (json_int_t)log->started_us, "seconds", (json_int_t)log->request.seconds,
        "max_packets", (json_int_t)log->request.max_packets, "snap_bytes",
        (json_int_t)log->request.snap_bytes, "offered", (json_int_t)offered, "packets",
        (json_int_t)packets, "other_path", (json_int_t)other_path, "dropped", (json_int_t)dropped,
        "too_late", (json_int_t)(too_late + (finished ? left_over(log) : 0)), "bytes",
        (json_int_t)bytes);
}

static json_t *row_json(const struct row *row)
{
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];
    const struct pd_flow_id *flow = &row->flow;
    json_t *path = json_array(), *object;

    for (unsigned i = 0; path && i < row->path.len; i++) {
        json_array_append_new(path, json_integer(row->path.switches[i]));
    }
    object =
        json_pack("{s:I, s:I, s:{s:s, s:s, s:i, s:i, s:i}, s:o}", "time_us",
                  (json_int_t)(row->time_ns / PD_NS_PER_US), "bytes", (json_int_t)row->wire,
                  "flow_id", "src_ip", pd_addr_format(&flow->src, flow->ip_version, src), "dst_ip",
                  pd_addr_format(&flow->dst, flow->ip_version, dst), "src_port", flow->src_port,
                  "dst_port", flow->dst_port, "protocol", flow->protocol, "path", path);
    pd_query_way_put_mark(object, &row->mark);
    return object;
}

json_t *pd_log_packet_log_rows(struct pd_packet_log *log)
{
    json_t *object = pd_log_packet_log_json(log), *rows = json_array();

    pthread_mutex_lock(&log->lock);
    for (size_t i = 0; rows && i < log->rows_len; i++) {
        json_array_append_new(rows, row_json(&log->rows[i]));
    }
    pthread_mutex_unlock(&log->lock);
    if (!object || json_object_set_new(object, "rows", rows)) {
        json_decref(object);
        return NULL;
    }
    return object;
}
