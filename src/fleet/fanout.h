/* SPDX-License-Identifier: Apache-2.0 */
/* Fan-out: one request to each of many servers at once, answers taken as they come, each end told
 * with its reason. */
#ifndef PD_FLEET_FANOUT_H
#define PD_FLEET_FANOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "http/credentials.h"

/* What an agent does for the children that a tree names, and the controller for all hosts. All
 * transfers share the caller's thread; nothing is kept of an answer but what the caller keeps. A
 * server that is slow, dead or hostile costs its own answer only: nothing is redirected, no proxy
 * is asked, at most `max_bytes` are taken from each, and at the deadline what has not come is over.
 * Where that is wanted a server that is silent for longer than it was lately is asked for a sign of
 * life, and given up when it gives none: hung servers cost about a second, not the whole time.
 *
 * Thread safety: pd_fanout works on the caller's memory; any number of threads may each run one.
 * pd_fleet_fanout_new and _free: once each. */

#define PD_FANOUT_SILENT "silent: " /* the words of -PD_E_SILENT begin with this */

struct pd_fanout_peer {
    const char *url;  /* "http://HOST:PORT", "https://…" or "unix:/SOCKET" */
    const char *body; /* of a POST or PUT */
    size_t body_bytes;
    const char *route;    /* where it is not that of all; else NULL */
    const char *order;    /* header Pathdump-Order; NULL: none. Not kept after the begin */
    uint64_t deadline_ns; /* monotonic, where it is earlier than that of all; else 0 */
};

/* Peers one after the other, numbered as they come: asked for the next one whenever there is room
 * for it, and again after each end, which may bring new ones. Its body and route must last until
 * its end. */
struct pd_fanout_source {
    void *context;
    bool (*next)(void *context, struct pd_fanout_peer *ret_peer); /* false: none for now */
};

struct pd_fanout_request {
    const char *method;   /* "GET", "DELETE"; NULL: POST */
    const char *route;    /* "/v1/query" */
    const char *type;     /* of the bodies */
    const char *accept;   /* of the answers */
    uint64_t deadline_ns; /* monotonic */
    uint64_t max_bytes;   /* of an answer */
    /* Servers answer GET /v1/status, and the silent ones are asked for it: hung ones end with
     * -PD_E_SILENT. */
    bool asks_signs;
    unsigned at_once; /* most connections open at a time; 0: no limit */
    /* becomes true: what is open ends within a second, -PD_E_BUSY; may be NULL */
    const atomic_bool *cancelled;
};

struct pd_fanout_sink {
    void *context;
    /* Bytes of peer i's answer, only when its status is 200. A non-zero return ends this peer with
     * that error. */
    int (*take)(void *context, size_t i, const char *bytes, size_t len);
    /* Peer i is done, once for each. 0; or an error with words: -PD_E_DEADLINE, -PD_E_SILENT,
     * -PD_E_TOO_LARGE, -PD_E_NOT_FOUND … (as its problem document says), -PD_E_UNREACHABLE, or what
     * `take` returned.
     */
    void (*end)(void *context, size_t i, const struct pd_error *error);
    /* Nothing has come just now. How soon to be called again at the latest; 0: no matter. May be
     * NULL. */
    uint64_t (*idle)(void *context);
};

/* Connections that are kept for the next time. */
struct pd_fanout;

struct pd_fanout *pd_fleet_fanout_new(void); /* NULL without memory */
void pd_fleet_fanout_free(struct pd_fanout *fanout);

/* Whom to trust and what to show from now on (http/client.h); must outlive the fan-out. Before
 * other threads use it. */
void pd_fleet_fanout_use(struct pd_fanout *fanout, struct pd_credentials *credentials);

/* Asks all that the source has and returns when each has ended. 0, or -ENOMEM when nothing was
 * asked. */
int pd_fleet_fanout_run(struct pd_fanout *fanout, const struct pd_fanout_request *request,
                        const struct pd_fanout_source *source, const struct pd_fanout_sink *sink);

/* The same for a list. */
int pd_fleet_fanout_ask(struct pd_fanout *fanout, const struct pd_fanout_request *request,
                        const struct pd_fanout_peer *peers, size_t peers_len,
                        const struct pd_fanout_sink *sink);

#endif
