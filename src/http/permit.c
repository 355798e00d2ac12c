/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests are taken: as HTTP demands them, to a name of this server, from whom, and with how
 * long a body. */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "http/host.h"
#include "http/private.h"
#include "http/role.h"
#include "http/sessions.h"

/* ---- the header ---- */

/* How often a field stands there; the library keeps all of them. */
struct field {
    const char *name;
    unsigned times;
};

static enum MHD_Result count_field(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct field *field = context;

    (void)kind;
    (void)value;
    field->times += !strcasecmp(name, field->name);
    return MHD_YES;
}

static unsigned times(struct MHD_Connection *connection, const char *name)
{
    struct field field = {.name = name};

    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_field, &field);
    return field.times;
}

static const char *value(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Where two readers could take a request's end or its server for different ones (RFC 9112, 3.2 and
 * 6.3), it is none. */
static int check_fields(struct MHD_Connection *connection, const char *version,
                        struct pd_error *error)
{
    const char *coding = value(connection, "Transfer-Encoding");
    unsigned hosts = times(connection, "Host"), lengths = times(connection, "Content-Length");

    if (hosts > 1 || (!hosts && !strcmp(version, MHD_HTTP_VERSION_1_1))) {
        return pd_fail(error, -PD_E_SYNTAX, "HTTP/1.1 demands one header Host, not %u", hosts);
    }
    if (lengths > 1 || (lengths && coding)) {
        return pd_fail(error, -PD_E_SYNTAX,
                       "the body's length is told twice: one Content-Length, or Transfer-Encoding");
    }
    if (lengths) {
        const char *length = value(connection, "Content-Length");

        if (!*length || strspn(length, "0123456789") != strlen(length)) {
            return pd_fail(error, -PD_E_SYNTAX, "Content-Length is no number");
        }
    }
    return coding && (times(connection, "Transfer-Encoding") > 1 ||
                      strcasecmp(coding, "chunked") != 0)
               ? pd_fail(error, -PD_E_UNSUPPORTED, "Transfer-Encoding: only chunked is taken")
               : 0;
}

/* Web pages of a browser on this host could ask as whoever sits before it, where nobody needs
 * credentials: under the page's own name, which points here, or openly under another's. */
static int distrust_pages(const struct pd_http *http, struct MHD_Connection *connection,
                          struct pd_error *error)
{
    const char *host = value(connection, "Host");

    /* None at all: HTTP/1.0, which no browser speaks. */
    return !http->local && host && !pd_http_host_known(host, http->allowed_hosts)
               ? pd_fail(error, -PD_E_MISDIRECTED,
                         "Host \"%.100s\" is no name of this server: expects a loopback address, "
                         "localhost or one of --allowed-host",
                         host)
               : 0;
}

static bool is_own(const struct pd_http *http, const char *origin, const char *host)
{
    const char *scheme = http->tls ? "https://" : "http://";

    return host && !strncmp(origin, scheme, strlen(scheme)) &&
           !strcasecmp(origin + strlen(scheme), host);
}

/* A browser adds by itself what it knows its user by: a cookie, a certificate, that it runs on this
 * machine. So who asks in its name is told by Origin: the own page may, no other. A token is added
 * by whoever wrote the request. */
static int check_origin(const struct pd_http *http, struct MHD_Connection *connection,
                        struct pd_error *error)
{
    const char *origin = value(connection, "Origin");

    return origin && !value(connection, "Authorization") &&
                   !is_own(http, origin, value(connection, "Host"))
               ? pd_fail(error, -PD_E_UNAUTHORIZED,
                         "requests of other web pages (header Origin) need a bearer token")
               : 0;
}

/* ---- bodies ---- */

size_t pd_http_body_max(const struct pd_http *http, const struct pd_http_exchange *exchange)
{
    return exchange->wanted_bytes ? exchange->wanted_bytes : http->service.body_max_bytes;
}

void pd_http_refuse_body(struct pd_http *http, struct pd_http_exchange *exchange)
{
    if (!exchange->problem.error.code) {
        http->service.count(http->service.context, PD_HTTP_TOO_LARGE);
        pd_fail(&exchange->problem.error, -PD_E_TOO_LARGE,
                "the request's body is longer than %zu bytes", pd_http_body_max(http, exchange));
    }
}

/* ---- who ---- */

void pd_http_name_peer(struct MHD_Connection *connection, char *name, size_t size)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    socklen_t bytes = address && address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                : sizeof(struct sockaddr_in);

    if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
        getnameinfo(address, bytes, name, (socklen_t)size, NULL, 0, NI_NUMERICHOST)) {
        snprintf(name, size, "%s", address && address->sa_family == AF_UNIX ? "unix" : "somebody");
    }
}

/* Counted each time, said once a second. */
void pd_http_say_refused(struct pd_http *http, struct MHD_Connection *connection,
                         enum pd_http_event event, const char *name, const struct pd_error *why)
{
    char address[64], text[sizeof why->text];

    http->service.count(http->service.context, event);
    pd_http_name_peer(connection, address, sizeof address);
    memcpy(text, why->text, sizeof text);
    pd_printable(text);
    pthread_mutex_lock(&http->mutex);
    pd_log_limited(&http->refusals, PD_LOG_WARN, PD_HTTP_MODULE, "refused %s%s%s: %s", address,
                   *name ? ", " : "", name, text);
    pthread_mutex_unlock(&http->mutex);
}

/* The own page reads in the name of whoever sits before it, whatever else he may. */
static void narrow(struct MHD_Connection *connection, struct pd_http_principal *principal)
{
    if (value(connection, "Origin") && !value(connection, "Authorization")) {
        principal->page = true;
        principal->role =
            pd_http_role_may(principal->role, PD_ROLE_READ) ? PD_ROLE_READ : principal->role;
    }
}

/* With nothing else to be known by: the cookie of a session. */
static void find_session(struct pd_http *http, const struct pd_credentials_set *set,
                         struct MHD_Connection *connection, struct pd_http_principal *principal)
{
    const char *cookies = value(connection, "Cookie");

    if (http->service.sessions && cookies && !value(connection, "Authorization") &&
        pd_http_sessions_find(http->service.sessions, set, cookies, principal) ==
            -PD_E_UNAUTHORIZED) {
        pd_fail(&principal->why, -PD_E_UNAUTHORIZED, "this session is over");
    }
}

static bool is_open(const struct pd_http *http, const char *method, const char *target)
{
    return http->service.open && http->service.open(http->service.context, method, target);
}

static int find_principal(struct pd_http *http, struct MHD_Connection *connection,
                          const char *method, struct pd_http_exchange *exchange)
{
    struct pd_credentials_set *set = pd_http_credentials_hold(http->credentials);
    struct pd_error *error = &exchange->problem.error;
    int err = pd_http_credentials_open(set) ? distrust_pages(http, connection, error) : 0;

    if (!err) {
        err = check_origin(http, connection, error);
    }
    if (!err) {
        gnutls_session_t session = pd_http_session(http, connection);
        struct pd_http_slot *slot = pd_http_slot_of(connection);

        if (session && !slot->client->leaf) {
            pd_http_slots_show(http->slots, slot, pd_http_tls_leaf(session));
        }
        pd_http_principal_find(set, session, value(connection, "Authorization"),
                               &slot->client->principal, &exchange->principal);
        if (slot->client->leaf && exchange->principal.role != PD_ROLE_NONE &&
            pd_http_slots_know(http->slots, slot)) {
            http->service.count(http->service.context, PD_HTTP_ENDED);
        }
        if (exchange->principal.role == PD_ROLE_NONE) {
            find_session(http, set, connection, &exchange->principal);
        }
        narrow(connection, &exchange->principal);
        if (exchange->principal.role == PD_ROLE_NONE && !is_open(http, method, exchange->target)) {
            *error = exchange->principal.why;
            err = error->code;
        }
    }
    pd_http_credentials_drop(set);
    return err;
}

void pd_http_permit(struct pd_http *http, struct MHD_Connection *connection, const char *method,
                    const char *version, struct pd_http_exchange *exchange)
{
    struct pd_error *error = &exchange->problem.error;
    int err = check_fields(connection, version, error);

    if (!err) {
        err = find_principal(http, connection, method, exchange);
    }
    if (err) {
        pd_http_say_refused(http, connection,
                            err == -PD_E_UNAUTHORIZED ? PD_HTTP_UNAUTHORIZED : PD_HTTP_MALFORMED,
                            "", error);
    }
}
