/* SPDX-License-Identifier: Apache-2.0 */
/* The list of packet logs, which the intake's thread reads without a lock. */
#include "agent/logs/logs.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct pd_packet_logs {
    struct pd_intake_tap tap;
    atomic_bool wanted; /* some log is in the list; relaxed: a packet more or less */
    /* Sequentially consistent, both: either the intake's thread does not see the log any more, or
     * who removes it sees the turn. */
    _Atomic(struct pd_packet_log *) active[PD_PACKET_LOGS_MAX];
    _Atomic uint64_t turn; /* odd: the intake's thread is in the list */
    pthread_mutex_t lock;  /* of all below */
    char folder[4096];
    struct pd_model *model;
    struct pd_packet_log *logs[PD_PACKET_LOGS_MAX]; /* NULL: free */
    uint64_t added[PD_PACKET_LOGS_MAX], added_len;
};

static void give(void *context, const struct pd_packet *packet, const uint8_t *frame,
                 size_t captured, size_t wire, uint64_t time_ns)
{
    struct pd_packet_logs *logs = context;

    atomic_fetch_add(&logs->turn, 1);
    for (unsigned i = 0; i < PD_PACKET_LOGS_MAX; i++) {
        struct pd_packet_log *log = atomic_load(&logs->active[i]);

        if (log && !pd_log_packet_log_finished(log)) {
            pd_log_packet_log_offer(log, packet, frame, captured, wire, time_ns);
        }
    }
    atomic_fetch_add(&logs->turn, 1);
}

int pd_log_packet_logs_new(const char *folder, struct pd_packet_logs **ret_logs)
{
    struct pd_packet_logs *logs = calloc(1, sizeof *logs);

    if (!logs) {
        return -ENOMEM;
    }
    snprintf(logs->folder, sizeof logs->folder, "%s", folder);
    pthread_mutex_init(&logs->lock, NULL);
    logs->tap = (struct pd_intake_tap){.context = logs, .wanted = &logs->wanted, .frame = give};
    *ret_logs = logs;
    return 0;
}

/* Under the lock. */
static void drop(struct pd_packet_logs *logs, unsigned i)
{
    uint64_t turn;
    bool any = false;

    atomic_store(&logs->active[i], NULL);
    turn = atomic_load(&logs->turn);
    while (turn & 1 && atomic_load(&logs->turn) == turn) {
        sched_yield();
    }
    pd_log_packet_log_free(logs->logs[i]);
    logs->logs[i] = NULL;
    for (unsigned j = 0; j < PD_PACKET_LOGS_MAX; j++) {
        any = any || logs->logs[j];
    }
    atomic_store_explicit(&logs->wanted, any, memory_order_relaxed);
}

void pd_log_packet_logs_free(struct pd_packet_logs *logs)
{
    if (!logs) {
        return;
    }
    for (unsigned i = 0; i < PD_PACKET_LOGS_MAX; i++) {
        drop(logs, i);
    }
    pd_agent_model_free(logs->model);
    pthread_mutex_destroy(&logs->lock);
    free(logs);
}

const struct pd_intake_tap *pd_log_packet_logs_tap(struct pd_packet_logs *logs)
{
    return &logs->tap;
}

void pd_log_packet_logs_model(struct pd_packet_logs *logs, struct pd_model *model)
{
    struct pd_model *before;

    pthread_mutex_lock(&logs->lock);
    before = logs->model;
    logs->model = pd_agent_model_hold(model);
    pthread_mutex_unlock(&logs->lock);
    pd_agent_model_free(before);
}

/* ---- under the lock ---- */

static int find(const struct pd_packet_logs *logs, uint64_t id)
{
    for (int i = 0; i < PD_PACKET_LOGS_MAX; i++) {
        if (logs->logs[i] && pd_log_packet_log_id(logs->logs[i]) == id) {
            return i;
        }
    }
    return -PD_E_NOT_FOUND;
}

/* A free place, if need be that of the oldest log that has finished. */
static int make_room(struct pd_packet_logs *logs)
{
    int oldest = -PD_E_TOO_MANY;

    for (int i = 0; i < PD_PACKET_LOGS_MAX; i++) {
        if (!logs->logs[i]) {
            return i;
        }
        if (pd_log_packet_log_finished(logs->logs[i]) &&
            (oldest < 0 || logs->added[i] < logs->added[oldest])) {
            oldest = i;
        }
    }
    if (oldest >= 0) {
        drop(logs, (unsigned)oldest);
    }
    return oldest;
}

static int add(struct pd_packet_logs *logs, struct pd_packet_request *request,
               struct pd_error *error)
{
    int at, err;

    if (!logs->model) {
        return pd_fail(error, -PD_E_CONFLICT, "not supported here: there is no topology");
    }
    if (request->id && find(logs, request->id) >= 0) {
        return pd_fail(error, -PD_E_CONFLICT, "id: there is a log with this one already");
    }
    at = make_room(logs);
    if (at < 0) {
        return pd_fail(error, at, "%d packet logs are running already", PD_PACKET_LOGS_MAX);
    }
    while (!request->id || (request->id == logs->added_len && find(logs, request->id) >= 0)) {
        request->id = ++logs->added_len;
    }
    err = pd_log_packet_log_new(request, logs->folder, logs->model, &logs->logs[at], error);
    if (err) {
        return err;
    }
    logs->added[at] = ++logs->added_len;
    atomic_store_explicit(&logs->wanted, true, memory_order_relaxed);
    atomic_store(&logs->active[at], logs->logs[at]);
    return 0;
}

/* ---- for all ---- */

int pd_log_packet_logs_add(struct pd_packet_logs *logs, const struct pd_packet_request *request,
                           uint64_t *ret_id, struct pd_error *error)
{
    struct pd_packet_request mine = *request;
    int err;

    pthread_mutex_lock(&logs->lock);
    err = add(logs, &mine, error);
    pthread_mutex_unlock(&logs->lock);
    if (!err) {
        *ret_id = mine.id;
    }
    return err;
}

json_t *pd_log_packet_logs_list(struct pd_packet_logs *logs)
{
    json_t *list = json_array();

    pthread_mutex_lock(&logs->lock);
    for (unsigned i = 0; list && i < PD_PACKET_LOGS_MAX; i++) {
        if (logs->logs[i]) {
            json_array_append_new(list, pd_log_packet_log_json(logs->logs[i]));
        }
    }
    pthread_mutex_unlock(&logs->lock);
    return list ? json_pack("{s:o}", "logs", list) : NULL;
}

int pd_log_packet_logs_remove(struct pd_packet_logs *logs, uint64_t id)
{
    int at;

    pthread_mutex_lock(&logs->lock);
    at = find(logs, id);
    if (at >= 0) {
        drop(logs, (unsigned)at);
    }
    pthread_mutex_unlock(&logs->lock);
    return at < 0 ? at : 0;
}

int pd_log_packet_logs_rows(struct pd_packet_logs *logs, uint64_t id, json_t **ret_rows)
{
    json_t *rows = NULL;
    int at;

    pthread_mutex_lock(&logs->lock);
    at = find(logs, id);
    if (at >= 0) {
        rows = pd_log_packet_log_rows(logs->logs[at]);
    }
    pthread_mutex_unlock(&logs->lock);
    if (at < 0) {
        return at;
    }
    *ret_rows = rows;
    return rows ? 0 : -ENOMEM;
}

static int copy(int fd, uint64_t bytes, struct pd_answer *answer)
{
    char buffer[16384];

    for (uint64_t at = 0; at < bytes;) {
        const size_t most = bytes - at < sizeof buffer ? (size_t)(bytes - at) : sizeof buffer;
        const ssize_t got = pread(fd, buffer, most, (off_t)at);
        int err = got > 0 ? pd_http_answer_write(answer, buffer, (size_t)got) : -EIO;

        if (err) {
            return err;
        }
        at += (uint64_t)got;
    }
    return 0;
}

int pd_log_packet_logs_file(struct pd_packet_logs *logs, uint64_t id, struct pd_answer *answer)
{
    uint64_t bytes = 0;
    int fd = -1, at, err;

    pthread_mutex_lock(&logs->lock);
    at = find(logs, id);
    err = at < 0 ? at : pd_log_packet_log_file(logs->logs[at], &fd, &bytes);
    pthread_mutex_unlock(&logs->lock);
    if (err) {
        return err;
    }
    err = copy(fd, bytes, answer);
    close(fd);
    return err;
}
