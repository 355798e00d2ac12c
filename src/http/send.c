/* SPDX-License-Identifier: Apache-2.0 */
/* From an answer to a response of the library. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/private.h"

#define PIECE_BYTES (64 * 1024)
#define LENIENT_S   10 /* before the least speed counts */

/* ---- a body that is kept ---- */

struct kept {
    struct pd_http *http;
    struct pd_http_slot *slot;
    char *bytes; /* NULL: they are in the file */
    int fd;
    uint64_t len, taken_bytes, begun_ns;
};

static bool is_slow(const struct kept *kept, uint64_t at)
{
    uint64_t seconds = (pd_clock_monotonic_ns() - kept->begun_ns) / PD_NS_PER_S;

    return seconds > LENIENT_S && at < seconds * PD_HTTP_ANSWER_BYTES_PER_S;
}

static ssize_t kept_read(void *context, uint64_t at, char *buffer, size_t size)
{
    struct kept *kept = context;

    if (is_slow(kept, at)) {
        kept->http->service.count(kept->http->service.context, PD_HTTP_SLOW);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    pd_http_slots_phase(kept->http->slots, kept->slot, PD_HTTP_HOLDING,
                        pd_clock_monotonic_ns() + PD_HTTP_TIMEOUT_S * (uint64_t)PD_NS_PER_S);
    size = kept->len - at < size ? (size_t)(kept->len - at) : size;
    if (!kept->bytes) {
        ssize_t n = pread(kept->fd, buffer, size, (off_t)at);

        return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    memcpy(buffer, kept->bytes + at, size);
    return (ssize_t)size;
}

static void kept_end(void *context)
{
    struct kept *kept = context;

    pd_http_budget_give(kept->http->budget, kept->taken_bytes);
    free(kept->bytes);
    if (kept->fd >= 0) {
        close(kept->fd);
    }
    free(kept);
}

static struct MHD_Response *make_kept(struct pd_http *http, struct MHD_Connection *connection,
                                      struct pd_answer *answer, uint64_t taken_bytes)
{
    struct kept *kept = malloc(sizeof *kept);
    struct MHD_Response *response;

    if (!kept) {
        pd_http_budget_give(http->budget, taken_bytes);
        return NULL;
    }
    *kept = (struct kept){.http = http,
                          .slot = pd_http_slot_of(connection),
                          .bytes = answer->fd < 0 ? answer->bytes : NULL,
                          .fd = answer->fd,
                          .len = answer->fd < 0 ? answer->len : answer->file_bytes,
                          .taken_bytes = taken_bytes,
                          .begun_ns = pd_clock_monotonic_ns()};
    if (answer->fd < 0) {
        answer->bytes = NULL;
    }
    answer->fd = -1;
    response = MHD_create_response_from_callback(kept->len, PIECE_BYTES, kept_read, kept, kept_end);
    if (!response) {
        kept_end(kept);
    }
    return response;
}

static struct MHD_Response *make_small(struct pd_answer *answer)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->len, answer->bytes ? answer->bytes : (void *)"",
        answer->bytes ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

    if (response) {
        answer->bytes = NULL;
    }
    return response;
}

static struct MHD_Response *make_flow(struct pd_http_pipe *pipe)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, PIECE_BYTES, pd_http_pipe_read, pipe, pd_http_pipe_close);

    if (!response) {
        pd_http_pipe_close(pipe);
    }
    return response;
}

/* ---- the response ---- */

/* What a browser may do with an answer that it shows as a page: load what this server has, and
 * nothing else. */
static const char page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

static void add(struct MHD_Response *response, const char *name, const char *value)
{
    if (value && *value) {
        MHD_add_response_header(response, name, value);
    }
}

static void add_head(struct MHD_Response *response, const struct pd_answer *answer)
{
    add(response, "Content-Type", answer->http_status == 304 ? NULL : answer->type);
    add(response, "Cache-Control", answer->etag[0] ? "no-cache" : "no-store");
    add(response, "X-Content-Type-Options", "nosniff");
    add(response, "Content-Security-Policy", page_policy);
    add(response, "Cross-Origin-Resource-Policy", "same-origin");
    add(response, "Referrer-Policy", "no-referrer");
    add(response, "ETag", answer->etag);
    add(response, "Vary", answer->etag[0] ? "Accept-Encoding" : NULL);
    add(response, "Content-Encoding", answer->encoding);
    add(response, "Location", answer->location);
    add(response, "Set-Cookie", answer->cookie);
}

/* Until then it is taken at the pace that is demanded of all. */
static uint64_t taken_by_ns(uint64_t bytes)
{
    return pd_clock_monotonic_ns() +
           (PD_HTTP_TIMEOUT_S + bytes / PD_HTTP_ANSWER_BYTES_PER_S) * (uint64_t)PD_NS_PER_S;
}

enum MHD_Result pd_http_send(struct pd_http *http, struct MHD_Connection *connection,
                             struct pd_answer *answer, uint64_t taken_bytes,
                             struct pd_http_pipe *pipe)
{
    bool small = answer->fd < 0 && answer->len <= PD_HTTP_SMALL_BYTES;
    struct MHD_Response *response = pipe    ? make_flow(pipe)
                                    : small ? make_small(answer)
                                            : make_kept(http, connection, answer, taken_bytes);
    enum MHD_Result result;

    if (!response) {
        pd_http_answer_done(answer);
        return MHD_NO;
    }
    pd_http_slots_phase(http->slots, pd_http_slot_of(connection), PD_HTTP_TAKING,
                        pipe ? UINT64_MAX : taken_by_ns(answer->len + answer->file_bytes));
    if (pipe) {
        MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, http->stream_take_s);
    }
    add_head(response, answer);
    if (answer->allow[0]) {
        MHD_add_response_header(response, "Allow", answer->allow);
    }
    if (answer->http_status == 401) {
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"pathdump\"");
    }
    if (answer->http_status == 503) {
        MHD_add_response_header(response, "Retry-After", "1");
    }
    result = MHD_queue_response(connection, (unsigned)answer->http_status, response);
    MHD_destroy_response(response);
    pd_http_answer_done(answer);
    return result;
}
