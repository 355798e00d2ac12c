/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's start and end, and its connections. */
#include "http/server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "http/private.h"
#include "http/tls.h"

/* ---- connections ---- */

/* Asked for each connection that comes. */
static enum MHD_Result admit(void *context, const struct sockaddr *peer, socklen_t peer_bytes)
{
    struct pd_http *http = context;
    bool ended, room = pd_http_slots_admit(http->slots, peer, &ended);

    (void)peer_bytes;
    if (ended || !room) {
        http->service.count(http->service.context, ended ? PD_HTTP_ENDED : PD_HTTP_REFUSED);
    }
    return room ? MHD_YES : MHD_NO;
}

gnutls_session_t pd_http_session(const struct pd_http *http, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        http->tls ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;

    return info ? info->tls_session : NULL;
}

static const union MHD_ConnectionInfo *info(struct MHD_Connection *connection,
                                            enum MHD_ConnectionInfoType what)
{
    return MHD_get_connection_info(connection, what);
}

/* The certificate that the handshake shows stays while the connection does, whatever is reloaded
 * meanwhile. */
static struct pd_http_slot *come(struct pd_http *http, struct MHD_Connection *connection)
{
    struct pd_http_slot *slot = pd_http_slots_take(
        http->slots, info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
    gnutls_session_t session = pd_http_session(http, connection);

    if (session && slot) {
        slot->client->set = pd_http_credentials_hold(http->credentials);
        gnutls_session_set_ptr(session, &slot->client->set->tls);
    }
    return slot;
}

static void come_or_go(void *context, struct MHD_Connection *connection, void **slot,
                       enum MHD_ConnectionNotificationCode what)
{
    struct pd_http *http = context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *slot = come(http, connection);
    } else if (*slot) {
        pd_http_slots_give(http->slots, *slot);
    }
}

struct pd_http_slot *pd_http_slot_of(struct MHD_Connection *connection)
{
    return info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void pd_http_phase(struct pd_http *http, struct MHD_Connection *connection,
                   enum pd_http_phase phase)
{
    struct pd_http_slot *slot = pd_http_slot_of(connection);

    if (slot) {
        pd_http_slots_phase(http->slots, slot, phase, 0);
    }
}

/* ---- start and end ---- */

/* Peers that go away or talk nonsense are their own problem: seen at debug level only. */
__attribute__((format(printf, 2, 0))) static void log_line(void *context, const char *format,
                                                           va_list args)
{
    char text[300];

    (void)context;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    pd_log(PD_LOG_DEBUG, PD_HTTP_MODULE, NULL, "%s", text);
}

/* Half of the files that may be open, twice over: for those that are being closed. */
static unsigned room_for_connections(void)
{
    struct rlimit files;
    rlim_t wanted = 4 * PD_HTTP_CONNECTIONS_MAX;

    if (getrlimit(RLIMIT_NOFILE, &files)) {
        return PD_HTTP_REQUESTS_MAX;
    }
    if (files.rlim_cur < wanted) {
        files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    return (unsigned)(files.rlim_cur < wanted ? files.rlim_cur / 4 : PD_HTTP_CONNECTIONS_MAX);
}

static struct MHD_Daemon *start(struct pd_http *http, int fd)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            (http->tls ? MHD_USE_TLS : 0),
        0, admit, http, pd_http_handle, http, MHD_OPTION_EXTERNAL_LOGGER, log_line, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, pd_http_slots_len(http->slots),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PD_HTTP_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PD_HTTP_HEADER_BYTES,
        MHD_OPTION_URI_LOG_CALLBACK, pd_http_begin, http, MHD_OPTION_NOTIFY_COMPLETED, pd_http_end,
        http, MHD_OPTION_NOTIFY_CONNECTION, come_or_go, http,
        http->tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, PD_TLS_PRIORITIES,
        MHD_OPTION_HTTPS_CERT_CALLBACK2, pd_http_tls_show, MHD_OPTION_END);
}

static void free_http(struct pd_http *http)
{
    pthread_mutex_destroy(&http->mutex);
    pd_http_crew_free(http->crew);
    pd_http_slots_free(http->slots);
    pd_http_budget_free(http->budget);
    free(http->allowed_hosts);
    free(http);
}

int pd_http_start(const struct pd_http_service *service, struct pd_listener *listener,
                  struct pd_http **ret_http)
{
    unsigned most = service->requests_max ? service->requests_max : PD_HTTP_REQUESTS_MAX;
    struct pd_http *http = calloc(1, sizeof *http);

    if (!http) {
        return -ENOMEM;
    }
    pthread_mutex_init(&http->mutex, NULL);
    http->service = *service;
    http->streams_max = service->streams_max ? service->streams_max : most / 4;
    http->stream_take_s = service->stream_take_s ? service->stream_take_s : PD_HTTP_TIMEOUT_S;
    http->credentials = listener->path[0] ? NULL : service->credentials;
    http->local = listener->path[0];
    http->tls = pd_http_credentials_tls(http->credentials);
    http->requests_max = most;
    http->slots = pd_http_slots_new(room_for_connections());
    http->crew = pd_http_crew_new(most);
    http->budget = pd_http_budget_new(service->answer_budget_bytes ? service->answer_budget_bytes
                                                                   : PD_HTTP_BUDGET_BYTES);
    http->allowed_hosts = service->allowed_hosts ? strdup(service->allowed_hosts) : NULL;
    if (!http->slots || !http->crew || !http->budget ||
        (service->allowed_hosts && !http->allowed_hosts)) {
        free_http(http);
        return -ENOMEM;
    }
    errno = 0;
    http->daemon = start(http, listener->fd);
    if (!http->daemon) {
        int err = errno ? -errno : -EIO;

        free_http(http);
        return err;
    }
    listener->fd = -1;
    *ret_http = http;
    return 0;
}

void pd_http_reload(struct pd_http *http)
{
    struct pd_credentials_set *set = http ? pd_http_credentials_hold(http->credentials) : NULL;
    unsigned ended = set ? pd_http_slots_revoke(http->slots, &set->tls) : 0;

    if (ended) {
        pd_log(PD_LOG_INFO, PD_HTTP_MODULE, NULL,
               "%u connections ended: their certificates are revoked", ended);
    }
    while (ended--) {
        http->service.count(http->service.context, PD_HTTP_ENDED);
    }
    pd_http_credentials_drop(set);
}

void pd_http_stop(struct pd_http *http)
{
    if (!http) {
        return;
    }
    atomic_store_explicit(&http->stopping, true, memory_order_relaxed);
    pd_http_crew_stop(http->crew); /* whatever was set aside is taken up again then */
    MHD_stop_daemon(http->daemon);
    free_http(http);
}
