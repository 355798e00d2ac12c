/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a request: route, role, parameters, body, handler. */
#ifndef PD_DAEMON_REST_H
#define PD_DAEMON_REST_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/routes.h"
#include "http/answer.h"
#include "http/server.h"
#include "http/target.h"

/* A daemon adds its own rows, then those of its parts, before the first request; afterwards nothing
 * changes. Thread safety: then pure. */

/* A request that has found its route and may take it. */
struct pd_call {
    const struct pd_http_request *http;
    char id[PD_ROUTE_ID_BYTES];  /* of a path with "{id}" */
    struct pd_target parameters; /* for pd_http_target_next, of a route that takes some */
    json_t *body;                /* of a POST or PUT: an object; else NULL */
};

/* Fills the answer (initialised by the caller) and returns 0; or fills the problem and returns its
 * negative error: what the answer holds by then is dropped. Called from any thread; may block. */
typedef int pd_call_handler(void *daemon, struct pd_call *call, struct pd_answer *answer,
                            struct pd_problem *problem);

struct pd_part_route {
    struct pd_route route;
    bool parameters; /* it takes some; else there must be none */
    pd_call_handler *handler;
    bool bytes;        /* the body of a POST or PUT is no JSON: the handler reads it as it came */
    size_t body_bytes; /* the most of a body; 0: as the daemon likes it */
};

/* Hears of each request that has found its route. */
struct pd_rest_witness {
    /* Before the handler, of one whose role is enough: non-zero, with the problem, refuses it. */
    int (*before)(void *daemon, const struct pd_route *route, const struct pd_call *call,
                  struct pd_problem *problem);
    /* When it is over, also of one that was refused. */
    void (*after)(void *daemon, const struct pd_route *route, const struct pd_call *call, int err,
                  const struct pd_problem *problem);
};

#define PD_REST_ROUTES_MAX 128u

struct pd_rest {
    struct pd_route routes[PD_REST_ROUTES_MAX];
    struct {
        pd_call_handler *handler;
        bool parameters, bytes;
        size_t body_bytes;
    } works[PD_REST_ROUTES_MAX];
    const struct pd_rest_witness *witness; /* NULL: nobody */
    size_t len, own_len; /* own: of the daemon itself, which its openapi.json describes */
};

/* More than there is room for is a mistake in the program: it ends. */
void pd_daemon_rest_add(struct pd_rest *rest, const struct pd_part_route *row);

/* 0, or a negative error with the problem filled. */
int pd_daemon_rest_call(const struct pd_rest *rest, void *daemon,
                        const struct pd_http_request *http, struct pd_answer *answer,
                        struct pd_problem *problem);

/* Whether the body of such a request is read. */
bool pd_daemon_rest_wants_body(const struct pd_rest *rest, const char *method, const char *target);
/* The most of it: `usual`, or what the route says; 0: it is not read. */
size_t pd_daemon_rest_body_bytes(const struct pd_rest *rest, const char *method, const char *target,
                                 size_t usual);

/* May anybody ask for this, who has shown nothing? */
bool pd_daemon_rest_is_open(const struct pd_rest *rest, const char *method, const char *target);

/* The description of an API with the routes that are not in there: those behind `own_len`. NULL:
 * there are none, or no memory; the caller's. */
json_t *pd_daemon_rest_described(const struct pd_rest *rest, const char *openapi);

#endif
