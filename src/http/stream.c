/* SPDX-License-Identifier: Apache-2.0 */
/* Answers without end: from their source into a pipe, by the thread that had the request. */
#include <errno.h>

#include "base/clock.h"
#include "http/private.h"

#define STREAM_BYTES (16 * 1024)

static bool take_stream(struct pd_http *http)
{
    bool room;

    pthread_mutex_lock(&http->mutex);
    room = http->streams < http->streams_max;
    http->streams += room;
    pthread_mutex_unlock(&http->mutex);
    return room;
}

static void give_stream(struct pd_http *http)
{
    pthread_mutex_lock(&http->mutex);
    http->streams--;
    pthread_mutex_unlock(&http->mutex);
}

static void refuse_stream(struct pd_http *http, struct pd_answer *answer, int err)
{
    struct pd_problem problem = {0};

    http->service.count(http->service.context, PD_HTTP_REFUSED);
    if (err == -ENOMEM) {
        pd_fail(&problem.error, err, "no memory");
    } else {
        pd_fail(&problem.error, err, "%u streams are open already; try again", http->streams_max);
    }
    pd_http_answer_problem(answer, &problem);
}

bool pd_http_stream_begin(struct pd_http *http, struct pd_http_exchange *exchange,
                          struct pd_answer *answer, struct pd_answer_stream *ret_source)
{
    if (!answer->stream.read) {
        return false;
    }
    if (!take_stream(http)) {
        refuse_stream(http, answer, -PD_E_BUSY);
        return false;
    }
    exchange->pipe =
        pd_http_pipe_new(exchange->connection, http->slots, pd_http_slot_of(exchange->connection));
    if (!exchange->pipe) {
        give_stream(http);
        refuse_stream(http, answer, -ENOMEM);
        return false;
    }
    *ret_source = answer->stream;
    answer->stream = (struct pd_answer_stream){0};
    return true;
}

static bool patience_over(void *context, uint64_t waited_ns)
{
    const struct pd_http *http = context;

    return waited_ns >= http->stream_take_s * (uint64_t)PD_NS_PER_S;
}

/* The source waits for a second at most: so the end of the server, and of the client, is seen. */
static int pump(struct pd_http *http, struct pd_http_pipe *pipe,
                const struct pd_answer_stream *source)
{
    const struct pd_http_patience patience = {patience_over, http};
    char buffer[STREAM_BYTES];
    ssize_t n = 0;
    int err = 0;

    while (!err && !pd_http_pipe_gone(pipe)) {
        if (atomic_load_explicit(&http->stopping, memory_order_relaxed)) {
            return -PD_E_EOF;
        }
        n = source->read(source->context, buffer, sizeof buffer);
        err = n < 0 ? (int)n : pd_http_pipe_write(pipe, buffer, (size_t)n, &patience);
    }
    return err;
}

void pd_http_stream_run(struct pd_http *http, struct pd_http_pipe *pipe,
                        const struct pd_answer_stream *source)
{
    int err = pump(http, pipe, source);

    source->close(source->context);
    give_stream(http);
    pd_http_pipe_end(pipe, err == -PD_E_EOF);
}
