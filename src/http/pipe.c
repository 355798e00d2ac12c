/* SPDX-License-Identifier: Apache-2.0 */
/* A ring in memory with a lock, and who is set aside or waits for it. */
#include "http/pipe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/wait.h"

#define SLICE_NS (100 * PD_NS_PER_MS)

struct pd_http_pipe {
    pthread_mutex_t mutex; /* over all that changes */
    pthread_cond_t taken;  /* the client took something, or has gone */
    struct MHD_Connection *connection;
    struct pd_http_slots *slots;
    struct pd_http_slot *slot;
    uint64_t serial;        /* of the slot's connection */
    uint64_t written, read; /* bytes, since the beginning */
    unsigned holders;
    bool aside;        /* the connection waits for more */
    bool ended, whole; /* by the maker */
    bool gone;         /* the response */
    char ring[PD_HTTP_PIPE_BYTES];
};

struct pd_http_pipe *pd_http_pipe_new(struct MHD_Connection *connection,
                                      struct pd_http_slots *slots, struct pd_http_slot *slot)
{
    struct pd_http_pipe *pipe = malloc(sizeof *pipe);

    if (!pipe) {
        return NULL;
    }
    memset(pipe, 0, offsetof(struct pd_http_pipe, ring));
    pthread_mutex_init(&pipe->mutex, NULL);
    pd_wait_init(&pipe->taken);
    pipe->connection = connection;
    pipe->slots = slots;
    pipe->slot = slot;
    pipe->serial = slot->serial;
    pipe->holders = 2;
    return pipe;
}

/* With the lock, which is gone then. */
static void let_go(struct pd_http_pipe *pipe)
{
    bool last = !--pipe->holders;

    pthread_mutex_unlock(&pipe->mutex);
    if (last) {
        pthread_cond_destroy(&pipe->taken);
        pthread_mutex_destroy(&pipe->mutex);
        free(pipe);
    }
}

static void wake(struct pd_http_pipe *pipe)
{
    if (pipe->aside) {
        pipe->aside = false;
        MHD_resume_connection(pipe->connection);
    }
}

/* ---- the maker ---- */

static bool is_full(const struct pd_http_pipe *pipe)
{
    return pipe->written - pipe->read == sizeof pipe->ring;
}

/* Until there is room, or for a slice of time. */
static void wait_a_slice(struct pd_http_pipe *pipe)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + SLICE_NS;
    int late = 0;

    while (is_full(pipe) && !pipe->gone && !late) {
        late = !pd_wait_until(&pipe->taken, &pipe->mutex, until_ns);
    }
}

static int wait_for_room(struct pd_http_pipe *pipe, const struct pd_http_patience *patience)
{
    uint64_t begun_ns = pd_clock_monotonic_ns();

    while (is_full(pipe) && !pipe->gone) {
        wait_a_slice(pipe);
        if (is_full(pipe) && !pipe->gone &&
            patience->over(patience->context, pd_clock_monotonic_ns() - begun_ns)) {
            pd_http_slots_end(pipe->slots, pipe->slot, pipe->serial);
            return -PD_E_SILENT;
        }
    }
    return pipe->gone ? -PD_E_EOF : 0;
}

static size_t put(struct pd_http_pipe *pipe, const char *bytes, size_t len)
{
    size_t at = pipe->written % sizeof pipe->ring;
    size_t room = sizeof pipe->ring - (size_t)(pipe->written - pipe->read);
    size_t straight = sizeof pipe->ring - at;

    len = len < room ? len : room;
    len = len < straight ? len : straight;
    memcpy(pipe->ring + at, bytes, len);
    pipe->written += len;
    return len;
}

int pd_http_pipe_write(struct pd_http_pipe *pipe, const char *bytes, size_t len,
                       const struct pd_http_patience *patience)
{
    int err = 0;

    pthread_mutex_lock(&pipe->mutex);
    while (len && !(err = wait_for_room(pipe, patience))) {
        size_t n = put(pipe, bytes, len);

        bytes += n;
        len -= n;
        wake(pipe);
    }
    pthread_mutex_unlock(&pipe->mutex);
    return err;
}

bool pd_http_pipe_gone(struct pd_http_pipe *pipe)
{
    pthread_mutex_lock(&pipe->mutex);
    bool gone = pipe->gone;
    pthread_mutex_unlock(&pipe->mutex);
    return gone;
}

void pd_http_pipe_end(struct pd_http_pipe *pipe, bool whole)
{
    pthread_mutex_lock(&pipe->mutex);
    pipe->ended = true;
    pipe->whole = whole;
    wake(pipe);
    let_go(pipe);
}

/* ---- the response ---- */

static size_t get(struct pd_http_pipe *pipe, char *buffer, size_t size)
{
    size_t at = pipe->read % sizeof pipe->ring, there = (size_t)(pipe->written - pipe->read);
    size_t straight = sizeof pipe->ring - at;

    size = size < there ? size : there;
    size = size < straight ? size : straight;
    memcpy(buffer, pipe->ring + at, size);
    pipe->read += size;
    return size;
}

ssize_t pd_http_pipe_read(void *context, uint64_t at, char *buffer, size_t size)
{
    struct pd_http_pipe *pipe = context;
    ssize_t n;

    (void)at;
    pthread_mutex_lock(&pipe->mutex);
    n = (ssize_t)get(pipe, buffer, size);
    if (n) {
        pthread_cond_signal(&pipe->taken);
    } else if (pipe->ended) {
        n = pipe->whole ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
    } else {
        pipe->aside = true;
        MHD_suspend_connection(pipe->connection);
    }
    pthread_mutex_unlock(&pipe->mutex);
    return n;
}

void pd_http_pipe_close(void *context)
{
    struct pd_http_pipe *pipe = context;

    pthread_mutex_lock(&pipe->mutex);
    pipe->gone = true;
    pipe->aside = false;
    pthread_cond_signal(&pipe->taken);
    let_go(pipe);
}
