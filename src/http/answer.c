/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that spill into a temporary file, and problem documents. */
#include "http/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "http/text.h"

void pd_http_answer_init(struct pd_answer *answer)
{
    *answer = (struct pd_answer){.http_status = 200, .type = "application/json", .fd = -1};
}

static void drop_body(struct pd_answer *answer)
{
    free(answer->bytes);
    if (answer->fd >= 0) {
        close(answer->fd);
    }
    answer->bytes = NULL;
    if (answer->stream.read) {
        answer->stream.close(answer->stream.context);
    }
    answer->len = answer->size = 0;
    answer->fd = -1;
    answer->file_bytes = 0;
    answer->stream = (struct pd_answer_stream){0};
    if (answer->taken_bytes) {
        answer->outlet->give(answer->outlet->context, answer->taken_bytes);
        answer->taken_bytes = 0;
    }
}

void pd_http_answer_done(struct pd_answer *answer)
{
    drop_body(answer);
}

const char *pd_http_answer_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && *folder ? folder : "/var/tmp";
}

/* A file without a name goes away with its last descriptor, however the process ends. */
static int open_file(void)
{
    int fd = open(pd_http_answer_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : -errno;
}

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -errno;
        }
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

/* ---- answers that flow ---- */

static int flow(struct pd_answer *answer, const char *bytes, size_t len)
{
    return answer->outlet->flow(answer->outlet->context, answer, bytes, len);
}

static int flow_file(struct pd_answer *answer)
{
    char bytes[16384];
    uint64_t at = 0;
    int err = 0;

    while (!err && at < answer->file_bytes) {
        ssize_t n = pread(answer->fd, bytes, sizeof bytes, (off_t)at);

        if (n <= 0) {
            return n < 0 && errno == EINTR ? 0 : -PD_E_FULL;
        }
        err = flow(answer, bytes, (size_t)n);
        at += (uint64_t)n;
    }
    return err;
}

/* What was kept goes out first, then nothing is kept any more. */
static int begin_flow(struct pd_answer *answer)
{
    int err;

    answer->flowing = true;
    err = answer->fd >= 0 ? flow_file(answer) : 0;
    if (answer->fd >= 0) {
        close(answer->fd);
    }
    answer->fd = -1;
    answer->file_bytes = 0;
    answer->outlet->give(answer->outlet->context, answer->taken_bytes);
    answer->taken_bytes = 0;
    return err;
}

static int flow_on(struct pd_answer *answer)
{
    int err = answer->flowing ? 0 : begin_flow(answer);

    if (!err) {
        err = flow(answer, answer->bytes, answer->len);
    }
    answer->len = 0;
    return err;
}

static bool take(struct pd_answer *answer, uint64_t bytes, bool on_disk)
{
    if (answer->outlet && !answer->outlet->take(answer->outlet->context, bytes, on_disk)) {
        return false;
    }
    answer->taken_bytes += answer->outlet ? bytes : 0;
    return true;
}

bool pd_http_answer_take(struct pd_answer *answer)
{
    return answer->flowing || take(answer, answer->len, false);
}

/* ---- answers that are kept ---- */

static int spill(struct pd_answer *answer)
{
    int err;

    if (answer->flowing || !take(answer, answer->len, true)) {
        return flow_on(answer);
    }
    if (answer->fd < 0) {
        answer->fd = open_file();
    }
    err = answer->fd < 0 ? answer->fd : write_all(answer->fd, answer->bytes, answer->len);
    if (err) {
        return -PD_E_FULL; /* whatever the file system says, here is no room for the answer */
    }
    answer->file_bytes += answer->len;
    answer->len = 0;
    return 0;
}

static int grow(struct pd_answer *answer, size_t wanted)
{
    return PD_GROW(answer->bytes, answer->size, wanted < 4096 ? 4096 : wanted);
}

int pd_http_answer_write(void *context, const char *bytes, size_t len)
{
    struct pd_answer *answer = context;

    if (answer->failed) {
        return -PD_E_EOF;
    }
    if (answer->file_bytes + answer->len + len > PD_ANSWER_MAX_BYTES) {
        return -PD_E_TOO_LARGE;
    }
    while (len) {
        size_t room = PD_ANSWER_MEMORY_BYTES - answer->len, n = len < room ? len : room;
        int err = n ? grow(answer, answer->len + n) : spill(answer);

        if (err) {
            return err;
        }
        memcpy(answer->bytes + answer->len, bytes, n);
        answer->len += n;
        bytes += n;
        len -= n;
    }
    return 0;
}

int pd_http_answer_flow(struct pd_answer *answer)
{
    if (answer->failed) {
        return -PD_E_EOF;
    }
    return answer->outlet && answer->len ? flow_on(answer) : 0;
}

void pd_http_answer_stream(struct pd_answer *answer, const char *type,
                           const struct pd_answer_stream *stream)
{
    drop_body(answer);
    answer->http_status = 200;
    answer->type = type;
    answer->stream = *stream;
}

int pd_http_answer_finish(struct pd_answer *answer)
{
    return answer->flowing || answer->fd >= 0 ? spill(answer) : 0;
}

/* Files are read by place (pread, sendfile with an offset), so one can be sent to many at once. */
int pd_http_answer_copy_body(const struct pd_answer *from, struct pd_answer *to)
{
    if (from->fd >= 0) {
        int fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);

        if (fd < 0) {
            return -errno;
        }
        to->fd = fd;
        to->file_bytes = from->file_bytes;
        return 0;
    }
    return pd_http_answer_write(to, from->bytes, from->len);
}

void pd_http_answer_json(struct pd_answer *answer, int http_status, const char *type,
                         json_t *document)
{
    if (answer->flowing) { /* its client has a part of another one already, and sees it cut off */
        answer->failed = true;
        json_decref(document);
        return;
    }
    drop_body(answer);
    answer->http_status = http_status;
    answer->type = type;
    answer->bytes = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    /* No memory for the words: the status alone has to do. */
    if (!answer->bytes && answer->http_status < 400) {
        answer->http_status = 503;
    }
    answer->len = answer->size = answer->bytes ? strlen(answer->bytes) : 0;
}

/* The words that RFC 9110 gives to the statuses of the error table. */
static const char *title(int http_status)
{
    switch (http_status) {
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return "Internal Server Error";
    }
}

void pd_http_problem_name_parameter(struct pd_problem *problem)
{
    size_t len = strcspn(problem->error.text, ": ");
    int err = problem->error.code;

    if ((err == -PD_E_VALUE || err == -PD_E_UNKNOWN_KEY || err == -PD_E_CONFLICT) &&
        !problem->parameter[0] && problem->error.text[len] == ':') {
        snprintf(problem->parameter, sizeof problem->parameter, "%.*s", (int)len,
                 problem->error.text);
    }
}

void pd_http_answer_problem(struct pd_answer *answer, const struct pd_problem *problem)
{
    int http_status = pd_error_http(problem->error.code);
    const char *detail =
        problem->error.text[0] ? problem->error.text : pd_error_text(problem->error.code);
    json_t *document =
        json_pack("{s:s, s:s, s:i, s:o}", "type", "about:blank", "title", title(http_status),
                  "status", http_status, "detail", pd_http_text_json(detail));

    if (problem->parameter[0]) {
        json_object_set_new(document, "parameter", pd_http_text_json(problem->parameter));
    }
    answer->allow[0] = answer->etag[0] = answer->cookie[0] = '\0';
    answer->encoding = answer->location = NULL;
    if (problem->error.code == -PD_E_METHOD) {
        snprintf(answer->allow, sizeof answer->allow, "%s",
                 problem->allow[0] ? problem->allow : "GET, HEAD");
    }
    pd_http_answer_json(answer, http_status, "application/problem+json", document);
}
