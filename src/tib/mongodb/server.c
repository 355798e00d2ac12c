/* SPDX-License-Identifier: Apache-2.0 */
/* The connection: location, time limits, pool of clients, and errors in words that hold no secret.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tib/mongodb/store.h"

#define SELECTION_MS          3000 /* until a server is found to be away */
#define CONNECT_MS            3000
#define POOL_CLIENTS          32

#define CODE_UNAUTHORIZED     13
#define CODE_AUTHENTICATION   18
#define CODE_MAX_TIME_EXPIRED 50

/* What libmongoc would write to stderr is known here as an error, and may name the user. */
static void no_log(mongoc_log_level_t level, const char *domain, const char *message, void *context)
{
    (void)level;
    (void)domain;
    (void)message;
    (void)context;
}

/* libmongoc keeps counters in shared memory that a killed process would leave behind, and warns
 * about those that it finds. Nobody reads them: the name goes at once. */
static void init_once(void)
{
    char counters[32];
    snprintf(counters, sizeof counters, "/mongoc-%u", (unsigned)getpid());
    mongoc_log_set_handler(no_log, NULL);
    mongoc_init();
    shm_unlink(counters);
}

static void set_default(mongoc_uri_t *uri, const char *option, int32_t value)
{
    if (!mongoc_uri_has_option(uri, option)) {
        mongoc_uri_set_option_as_int32(uri, option, value);
    }
}

/* An answer within a time limit; an acknowledgement that outlives the server it came from. Records
 * are read where `hosts` is read: on the primary. */
static void set_options(mongoc_uri_t *uri)
{
    mongoc_read_prefs_t *primary = mongoc_read_prefs_new(MONGOC_READ_PRIMARY);
    set_default(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, SELECTION_MS);
    set_default(uri, MONGOC_URI_CONNECTTIMEOUTMS, CONNECT_MS);
    set_default(uri, MONGOC_URI_SOCKETTIMEOUTMS, PD_MONGO_QUERY_MS + 1000);
    set_default(uri, MONGOC_URI_MAXPOOLSIZE, POOL_CLIENTS);
    set_default(uri, MONGOC_URI_WAITQUEUETIMEOUTMS, SELECTION_MS);
    if (!mongoc_uri_has_option(uri, MONGOC_URI_W)) {
        mongoc_write_concern_t *majority = mongoc_write_concern_new();
        mongoc_write_concern_set_wmajority(majority, PD_MONGO_QUERY_MS);
        mongoc_write_concern_set_journal(majority, true);
        mongoc_uri_set_write_concern(uri, majority);
        mongoc_write_concern_destroy(majority);
    }
    mongoc_uri_set_read_prefs_t(uri, primary);
    mongoc_read_prefs_destroy(primary);
}

static char *place_of(const mongoc_uri_t *uri)
{
    char text[400] = "mongodb://";
    size_t len = strlen(text);
    const mongoc_host_list_t *host = mongoc_uri_get_hosts(uri);
    for (; host && len < 300; host = host->next) {
        len += (size_t)snprintf(text + len, 301 - len, "%.200s%s", host->host_and_port,
                                host->next ? "," : "");
    }
    len = len < 300 ? len : 300;
    snprintf(text + len, sizeof text - len, "/%.64s", mongoc_uri_get_database(uri));
    return strdup(text);
}

static char *copy(const char *text)
{
    return text && *text ? strdup(text) : NULL;
}

static int server_fill(struct pd_mongo_server *server, mongoc_uri_t *uri, struct pd_error *error)
{
    bson_error_t mongo;
    server->place = place_of(uri);
    server->database = strdup(mongoc_uri_get_database(uri));
    server->secrets[0] = copy(mongoc_uri_get_username(uri));
    server->secrets[1] = copy(mongoc_uri_get_password(uri));
    if (!server->place || !server->database) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    set_options(uri);
    server->pool = mongoc_client_pool_new_with_error(uri, &mongo);
    if (!server->pool) {
        pd_mongodb_fail(server, &mongo, error);
        return pd_fail_within(error, server->place);
    }
    mongoc_client_pool_set_error_api(server->pool, MONGOC_ERROR_API_VERSION_2);
    mongoc_client_pool_set_appname(server->pool, "pathdump");
    return 0;
}

int pd_mongodb_server_open(const char *location, struct pd_mongo_server *ret_server,
                           struct pd_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct pd_mongo_server server = {0};
    bson_error_t mongo;
    char shown[PD_TIB_SHOWN_BYTES];
    pthread_once(&once, init_once);
    mongoc_uri_t *uri = mongoc_uri_new_with_error(location, &mongo);
    const char *database = uri ? mongoc_uri_get_database(uri) : NULL;
    int err = 0;
    if (!database || !*database) { /* libmongoc's own words may quote the password */
        err = pd_fail(error, -PD_E_VALUE,
                      "%s: expected mongodb://[USER:PASSWORD@]HOST[:PORT]/DATABASE[?OPTIONS]",
                      pd_tib_shown(location, shown));
    }
    err = err ? err : server_fill(&server, uri, error);
    if (uri) {
        mongoc_uri_destroy(uri);
    }
    if (err) {
        pd_mongodb_server_close(&server);
    } else {
        *ret_server = server;
    }
    return err;
}

static void forget(char *secret)
{
    if (secret) {
        explicit_bzero(secret, strlen(secret));
    }
    free(secret);
}

void pd_mongodb_server_close(struct pd_mongo_server *server)
{
    if (server->pool) {
        mongoc_client_pool_destroy(server->pool);
    }
    free(server->database);
    free(server->place);
    forget(server->secrets[0]);
    forget(server->secrets[1]);
    *server = (struct pd_mongo_server){0};
}

int pd_mongodb_client_take(struct pd_mongo_server *server, struct pd_mongo_client *ret_client)
{
    mongoc_client_t *client = mongoc_client_pool_pop(server->pool);
    if (!client) {
        return -PD_E_BUSY;
    }
    *ret_client = (struct pd_mongo_client){
        .server = server,
        .client = client,
        .records = mongoc_client_get_collection(client, server->database, "records"),
        .hosts = mongoc_client_get_collection(client, server->database, "hosts"),
    };
    return 0;
}

void pd_mongodb_client_give(struct pd_mongo_client *client)
{
    mongoc_collection_destroy(client->records);
    mongoc_collection_destroy(client->hosts);
    mongoc_client_pool_push(client->server->pool, client->client);
}

/* ---- errors ---- */

static int code_of(const bson_error_t *mongo)
{
    switch (mongo->domain) {
    case MONGOC_ERROR_SERVER_SELECTION:
    case MONGOC_ERROR_STREAM: return -PD_E_UNAVAILABLE;
    case MONGOC_ERROR_CLIENT:
        return mongo->code == MONGOC_ERROR_CLIENT_AUTHENTICATE ? -PD_E_DENIED : -PD_E_UNAVAILABLE;
    case MONGOC_ERROR_SERVER:
    case MONGOC_ERROR_QUERY:
    case MONGOC_ERROR_COMMAND:
        if (mongo->code == CODE_UNAUTHORIZED || mongo->code == CODE_AUTHENTICATION) {
            return -PD_E_DENIED;
        }
        return -PD_E_UNAVAILABLE;
    default: return -PD_E_UNAVAILABLE;
    }
}

static void scrub(char *text, const char *secret)
{
    size_t len = secret ? strlen(secret) : 0;
    for (char *at = len ? strstr(text, secret) : NULL; at; at = strstr(at + len, secret)) {
        memset(at, '*', len);
    }
}

int pd_mongodb_fail(const struct pd_mongo_server *server, const bson_error_t *mongo,
                    struct pd_error *error)
{
    int err = code_of(mongo);
    if (error) {
        char text[sizeof mongo->message];
        snprintf(text, sizeof text, "%s", mongo->message);
        for (char *at = text; *at; at++) {
            if ((unsigned char)*at < ' ') {
                *at = ' ';
            }
        }
        scrub(text, server->secrets[1]);
        scrub(text, server->secrets[0]);
        pd_fail(error, err, "%s: %.300s",
                mongo->code == CODE_MAX_TIME_EXPIRED ? "took too long" : pd_error_text(err), text);
    }
    return err;
}
