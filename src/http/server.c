/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that knows libmicrohttpd. */
#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/role.h"
#include "http/slots.h"
#include "http/tls.h"
#include "http/who.h"

#define MODULE           "http"
#define STACK_BYTES      (256 * 1024)

#define DISCARD_QUIET_MS 100
#define STREAM_BYTES     (16 * 1024)

struct pd_http {
    struct MHD_Daemon *daemon;
    struct pd_http_service service;
    bool tls;
    unsigned streams_max, stream_take_s;
    atomic_bool stopping;               /* relaxed: streams end within a second */
    struct pd_credentials *credentials; /* NULL: nobody needs any */
    struct pd_http_slots *slots;
    pthread_mutex_t mutex; /* over what follows */
    unsigned streams;
    struct pd_log_limit refusals; /* lines about those who may not */
};

/* One request, from its first line to the end of its answer. */
struct exchange {
    bool begun;          /* the headers were seen */
    size_t wanted_bytes; /* most that the body may have and be kept; 0: it is read and forgotten */
    char *body;          /* NULL: none so far */
    size_t body_bytes;
    struct pd_who who;
    size_t target_bytes;
    char target[];
};

/* ---- connections ---- */

/* Asked by the thread that accepts, for each connection: so nobody has to wake up for those that
 * are too slow. */
static enum MHD_Result admit(void *context, const struct sockaddr *peer, socklen_t peer_bytes)
{
    struct pd_http *http = context;
    unsigned ended;
    bool room = pd_http_slots_admit(http->slots, &ended);

    (void)peer;
    (void)peer_bytes;
    while (ended--) {
        http->service.count(http->service.context, PD_HTTP_ENDED);
    }
    if (!room) {
        http->service.count(http->service.context, PD_HTTP_REFUSED);
    }
    return room ? MHD_YES : MHD_NO;
}

/* NULL without TLS. */
static gnutls_session_t session_of(const struct pd_http *http, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        http->tls ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;

    return info ? info->tls_session : NULL;
}

/* The certificate that the handshake shows stays while the connection does, whatever is reloaded
 * meanwhile. */
static struct pd_http_slot *come(struct pd_http *http, struct MHD_Connection *connection)
{
    struct pd_http_slot *slot = pd_http_slots_take(
        http->slots,
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        pd_clock_monotonic_ns() + PD_HTTP_HEAD_S * PD_NS_PER_S);
    gnutls_session_t session = session_of(http, connection);

    if (session) {
        slot->set = pd_credentials_hold(http->credentials);
        gnutls_session_set_ptr(session, &slot->set->tls);
    }
    return slot;
}

static void come_or_go(void *context, struct MHD_Connection *connection, void **slot,
                       enum MHD_ConnectionNotificationCode what)
{
    struct pd_http *http = context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *slot = come(http, connection);
        return;
    }
    pd_credentials_drop(((struct pd_http_slot *)*slot)->set);
    pd_http_slots_give(http->slots, *slot);
}

static struct pd_http_slot *slot_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void keep_until(struct pd_http *http, struct MHD_Connection *connection, uint64_t until_ns)
{
    pd_http_slots_keep(http->slots, slot_of(connection), until_ns);
}

static void keep_for(struct pd_http *http, struct MHD_Connection *connection, uint64_t seconds)
{
    keep_until(http, connection, pd_clock_monotonic_ns() + seconds * PD_NS_PER_S);
}

/* ---- streams ---- */

struct streaming {
    struct pd_http *http;
    struct MHD_Connection *connection;
    struct pd_answer_stream source;
    uint64_t taken_by_ns; /* what was read last; 0: nothing was */
};

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

/* The library asks for more when all that it has is taken. It never waits, so its thread waits
 * here. */
static ssize_t stream_more(void *context, uint64_t at, char *buffer, size_t size)
{
    struct streaming *streaming = context;
    ssize_t n = 0;

    (void)at;
    if (streaming->taken_by_ns && pd_clock_monotonic_ns() > streaming->taken_by_ns) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    keep_until(streaming->http, streaming->connection, UINT64_MAX);
    while (!n && !atomic_load_explicit(&streaming->http->stopping, memory_order_relaxed)) {
        n = streaming->source.read(streaming->source.context, buffer, size);
    }
    if (n <= 0) {
        return !n || n == -PD_E_EOF ? MHD_CONTENT_READER_END_OF_STREAM
                                    : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    streaming->taken_by_ns = pd_clock_monotonic_ns() + streaming->http->stream_take_s * PD_NS_PER_S;
    keep_until(streaming->http, streaming->connection, streaming->taken_by_ns);
    return n;
}

static void stream_end(void *context)
{
    struct streaming *streaming = context;

    streaming->source.close(streaming->source.context);
    give_stream(streaming->http);
    free(streaming);
}

/* The stream's context becomes the library's. NULL without memory. */
static struct MHD_Response *make_stream(struct pd_http *http, struct MHD_Connection *connection,
                                        struct pd_answer *answer)
{
    struct streaming *streaming = calloc(1, sizeof *streaming);
    struct MHD_Response *response;

    if (!streaming) {
        return NULL;
    }
    streaming->http = http;
    streaming->connection = connection;
    streaming->source = answer->stream;
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, stream_more,
                                                 streaming, stream_end);
    if (!response) {
        free(streaming);
        return NULL;
    }
    answer->stream = (struct pd_answer_stream){0};
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, http->stream_take_s);
    return response;
}

/* ---- requests ---- */

/* Called with the request line's target before anything is taken apart: the reader of requests
 * wants it whole. */
static void *begin(void *context, const char *target, struct MHD_Connection *connection)
{
    size_t bytes = strlen(target);
    struct exchange *exchange = malloc(sizeof *exchange + bytes + 1);

    keep_for(context, connection, PD_HTTP_HEAD_S);
    if (!exchange) {
        return NULL;
    }
    exchange->begun = false;
    exchange->body = NULL;
    exchange->wanted_bytes = 0;
    exchange->body_bytes = 0;
    exchange->target_bytes = bytes;
    memcpy(exchange->target, target, bytes + 1);
    return exchange;
}

static void end(void *context, struct MHD_Connection *connection, void **exchange,
                enum MHD_RequestTerminationCode reason)
{
    (void)reason;
    keep_for(context, connection, PD_HTTP_IDLE_S);
    if (*exchange) {
        free(((struct exchange *)*exchange)->body);
    }
    free(*exchange);
    *exchange = NULL;
}

/* The body becomes the library's. */
static struct MHD_Response *make_response(struct pd_http *http, struct MHD_Connection *connection,
                                          struct pd_answer *answer)
{
    struct MHD_Response *response;

    if (answer->stream.read) {
        response = make_stream(http, connection, answer);
        if (!response) {
            give_stream(http);
        }
        return response;
    }
    if (answer->fd >= 0) {
        response = MHD_create_response_from_fd64(answer->file_bytes, answer->fd);
        if (response) {
            answer->fd = -1;
        }
        return response;
    }
    response = MHD_create_response_from_buffer(
        answer->len, answer->bytes ? answer->bytes : (void *)"",
        answer->bytes ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response) {
        answer->bytes = NULL;
    }
    return response;
}

static void refuse_stream(struct pd_http *http, struct pd_answer *answer)
{
    struct pd_problem problem = {0};

    http->service.count(http->service.context, PD_HTTP_REFUSED);
    pd_fail(&problem.error, -PD_E_BUSY, "%u streams are open already; try again",
            http->streams_max);
    pd_answer_problem(answer, &problem);
}

static enum MHD_Result send_answer(struct pd_http *http, struct MHD_Connection *connection,
                                   struct pd_answer *answer)
{
    uint64_t bytes = answer->len + answer->file_bytes;
    struct MHD_Response *response = make_response(http, connection, answer);
    enum MHD_Result result;

    if (!response) {
        pd_answer_done(answer);
        return MHD_NO;
    }
    keep_for(http, connection, PD_HTTP_TIMEOUT_S + bytes / PD_HTTP_ANSWER_BYTES_PER_S);
    MHD_add_response_header(response, "Content-Type", answer->type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
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
    pd_answer_done(answer);
    return result;
}

/* Most that the body may have. */
static size_t body_max_bytes(const struct pd_http *http, const struct exchange *exchange)
{
    return exchange->wanted_bytes ? exchange->wanted_bytes : http->service.body_max_bytes;
}

static size_t ask_wanted_bytes(const struct pd_http *http, const char *method, const char *target)
{
    const struct pd_http_service *service = &http->service;

    return service->wanted_bytes ? service->wanted_bytes(service->context, method, target)
                                 : service->body_max_bytes;
}

/* Or may be: once a body has begun to come the library takes no answer before its end, which nobody
 * knows when chunked. */
static bool body_announced_too_long(const struct pd_http *http, const struct exchange *exchange,
                                    struct MHD_Connection *connection)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

    return (length && strtoull(length, NULL, 10) > body_max_bytes(http, exchange)) ||
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

/* A socket that is closed with bytes unread resets the connection, and the client may never see its
 * answer: what is on its way is read first, past the library, until nothing has come for a moment.
 */
static void discard_rest(struct MHD_Connection *connection)
{
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    uint64_t until_ns = pd_clock_monotonic_ns() + PD_NS_PER_S;
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    char bytes[16384];

    while (pd_clock_monotonic_ns() < until_ns && poll(&waiting, 1, DISCARD_QUIET_MS) > 0) {
        if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) {
            return;
        }
    }
}

static enum MHD_Result refuse_body(struct pd_http *http, const struct exchange *exchange,
                                   struct MHD_Connection *connection)
{
    struct pd_problem problem = {0};
    struct pd_answer answer;

    http->service.count(http->service.context, PD_HTTP_TOO_LARGE);
    pd_fail(&problem.error, -PD_E_TOO_LARGE,
            "the request's body is longer than %zu bytes, or of unknown length",
            body_max_bytes(http, exchange));
    discard_rest(connection);
    pd_answer_init(&answer);
    pd_answer_problem(&answer, &problem);
    return send_answer(http, connection, &answer);
}

/* ---- who may ---- */

static void name_peer(struct MHD_Connection *connection, char *name, size_t size)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    socklen_t bytes = address && address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                : sizeof(struct sockaddr_in);

    if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
        getnameinfo(address, bytes, name, (socklen_t)size, NULL, 0, NI_NUMERICHOST)) {
        snprintf(name, size, "somebody");
    }
}

/* Counted each time, said once a second. */
static void refused(struct pd_http *http, struct MHD_Connection *connection,
                    enum pd_http_event event, const char *name, const struct pd_error *why)
{
    char address[64], text[sizeof why->text];

    http->service.count(http->service.context, event);
    name_peer(connection, address, sizeof address);
    memcpy(text, why->text, sizeof text);
    pd_printable(text);
    pthread_mutex_lock(&http->mutex);
    pd_log_limited(&http->refusals, PD_LOG_WARN, MODULE, "refused %s%s%s: %s", address,
                   *name ? ", " : "", name, text);
    pthread_mutex_unlock(&http->mutex);
}

/* Web pages of a browser on this host could ask as whoever sits before it, where nobody needs
 * credentials. */
static void distrust_pages(struct MHD_Connection *connection, struct pd_who *who)
{
    if (!MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin")) {
        return;
    }
    who->role = PD_ROLE_NONE;
    pd_fail(&who->why, -PD_E_UNAUTHORIZED,
            "requests of web pages (header Origin) need credentials, and none are set up here");
}

/* Before any of the body is taken. */
static bool find_out_who(struct pd_http *http, struct MHD_Connection *connection,
                         struct pd_who *who)
{
    struct pd_credentials_set *set = pd_credentials_hold(http->credentials);

    pd_who(set, session_of(http, connection),
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"),
           &slot_of(connection)->who, who);
    if (pd_credentials_open(set)) {
        distrust_pages(connection, who);
    }
    pd_credentials_drop(set);
    if (who->role == PD_ROLE_NONE) {
        refused(http, connection, PD_HTTP_UNAUTHORIZED, "", &who->why);
    }
    return who->role != PD_ROLE_NONE;
}

static enum MHD_Result refuse_stranger(struct pd_http *http, struct MHD_Connection *connection,
                                       const struct pd_who *who)
{
    struct pd_problem problem = {.error = who->why};
    struct pd_answer answer;

    if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length") ||
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding")) {
        discard_rest(connection);
    }
    pd_answer_init(&answer);
    pd_answer_problem(&answer, &problem);
    return send_answer(http, connection, &answer);
}

/* False without memory, and when it is longer than was announced. */
static bool take_body(const struct pd_http *http, struct exchange *exchange, const char *bytes,
                      size_t len)
{
    if (len > body_max_bytes(http, exchange) - exchange->body_bytes) {
        return false;
    }
    if (!exchange->wanted_bytes) {
        exchange->body_bytes += len;
        return true;
    }
    char *grown = realloc(exchange->body, exchange->body_bytes + len + 1);
    if (!grown) {
        return false;
    }
    memcpy(grown + exchange->body_bytes, bytes, len);
    exchange->body = grown;
    exchange->body_bytes += len;
    grown[exchange->body_bytes] = '\0';
    return true;
}

static void ask(struct pd_http *http, struct MHD_Connection *connection, const char *method,
                const struct exchange *exchange, struct pd_answer *answer)
{
    struct pd_http_request request = {
        .method = method,
        .target = exchange->target,
        .target_bytes = exchange->target_bytes,
        .accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"),
        .body = exchange->body ? exchange->body : "",
        .body_bytes = exchange->body ? exchange->body_bytes : 0,
        .role = exchange->who.role,
        .peer = exchange->who.name,
        .last_event_id = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Last-Event-ID"),
    };

    pd_answer_init(answer);
    http->service.answer(http->service.context, &request, answer);
    if (answer->stream.read && !take_stream(http)) {
        refuse_stream(http, answer);
    }
    if (answer->http_status == 403) {
        struct pd_error why = {0};

        pd_fail(&why, -PD_E_FORBIDDEN, "the role %s does not allow %s %.*s",
                pd_role_id(request.role), method, (int)strcspn(exchange->target, "?"),
                exchange->target);
        refused(http, connection, PD_HTTP_FORBIDDEN, exchange->who.name, &why);
    }
}

/* Called once for the headers, then for each piece of a body, then for the answer. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_bytes, void **slot)
{
    struct pd_http *http = context;
    struct exchange *exchange = *slot;
    struct pd_answer answer;

    (void)url;
    (void)version;
    if (!exchange) {
        return MHD_NO; /* no memory */
    }
    if (!exchange->begun) {
        exchange->begun = true;
        if (!find_out_who(http, connection, &exchange->who)) {
            return refuse_stranger(http, connection, &exchange->who);
        }
        exchange->wanted_bytes = ask_wanted_bytes(http, method, exchange->target);
        return body_announced_too_long(http, exchange, connection)
                   ? refuse_body(http, exchange, connection)
                   : MHD_YES;
    }
    if (*body_bytes) {
        bool taken = take_body(http, exchange, body, *body_bytes);

        *body_bytes = 0;
        return taken ? MHD_YES : MHD_NO;
    }
    keep_until(http, connection, UINT64_MAX);
    ask(http, connection, method, exchange, &answer);
    return send_answer(http, connection, &answer);
}

/* Peers that go away or talk nonsense are their own problem: seen at debug level only. */
__attribute__((format(printf, 2, 0))) static void log_line(void *context, const char *format,
                                                           va_list args)
{
    char text[300];

    (void)context;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    pd_log(PD_LOG_DEBUG, MODULE, NULL, "%s", text);
}

static struct MHD_Daemon *start(struct pd_http *http, int fd)
{
    return MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC |
            MHD_USE_ERROR_LOG | (http->tls ? MHD_USE_TLS : 0),
        0, admit, http, handle, http, MHD_OPTION_EXTERNAL_LOGGER, log_line, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, pd_http_slots_len(http->slots),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PD_HTTP_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PD_HTTP_HEADER_BYTES,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_URI_LOG_CALLBACK, begin, http,
        MHD_OPTION_NOTIFY_COMPLETED, end, http, MHD_OPTION_NOTIFY_CONNECTION, come_or_go, http,
        http->tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, PD_TLS_PRIORITIES,
        MHD_OPTION_HTTPS_CERT_CALLBACK2, pd_tls_show, MHD_OPTION_END);
}

static void free_http(struct pd_http *http)
{
    pthread_mutex_destroy(&http->mutex);
    pd_http_slots_free(http->slots);
    free(http);
}

int pd_http_start(const struct pd_http_service *service, struct pd_listener *listener,
                  struct pd_http **ret_http)
{
    unsigned most = service->connections_max ? service->connections_max : PD_HTTP_CONNECTIONS_MAX;
    struct pd_http *http = calloc(1, sizeof *http);

    if (!http) {
        return -ENOMEM;
    }
    pthread_mutex_init(&http->mutex, NULL);
    http->service = *service;
    http->streams_max = service->streams_max ? service->streams_max : most / 4;
    http->stream_take_s = service->stream_take_s ? service->stream_take_s : PD_HTTP_TIMEOUT_S;
    http->credentials = listener->path[0] ? NULL : service->credentials;
    http->tls = pd_credentials_tls(http->credentials);
    http->slots = pd_http_slots_new(most);
    if (!http->slots) {
        free_http(http);
        return -ENOMEM;
    }
    errno = 0;
    http->daemon = start(http, listener->fd);
    if (!http->daemon) {
        int e = errno ? -errno : -EIO;

        free_http(http);
        return e;
    }
    listener->fd = -1;
    *ret_http = http;
    return 0;
}

void pd_http_stop(struct pd_http *http)
{
    if (!http) {
        return;
    }
    atomic_store_explicit(&http->stopping, true, memory_order_relaxed);
    MHD_stop_daemon(http->daemon);
    free_http(http);
}
