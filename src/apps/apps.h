/* SPDX-License-Identifier: Apache-2.0 */
/* Applications: what operators ask of a network, answered from records, alarms and packets of its
 * hosts and switches. */
#ifndef PD_APPS_APPS_H
#define PD_APPS_APPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/report.h"
#include "base/error.h"
#include "localise/localise.h"
#include "query/plan.h"
#include "topology/topology.h"

/* Paper 000, sections 2.3 and 4 and Table 2. An application has a folder of its own with a page of
 * documentation, and a line in registry.c. It knows neither hosts nor connections: it asks its
 * *world*, which is the controller's fleet or the simulator, so it runs on both unchanged. What it
 * finds is a report (report.h).
 *
 * An application runs once, by hand; or it is *watched*: opened once and run again and again, each
 * period or at each alarm that it is interested in. What it learns from one run to the next stands
 * in its state. By hand it is opened, run once and closed, or kept for a while (`keep_s`).
 *
 * Thread safety: one state is used by one thread at a time; different states, also of the same
 * application, by any. */

/* ---- the world ---- */

/* A packet that a switch sent here because it had a tag too many, or a rule said so. Valid during
 * the call. */
struct pd_app_packet {
    uint32_t switch_id;
    uint32_t in_port; /* 0: not known */
    const uint8_t *data;
    size_t bytes;
    uint64_t received_ns; /* monotonic */
    uint64_t limited;     /* others that this switch sent since, too many to be looked at */
};

/* Switches that face hosts, by what is known of their edge (codec/edge.h). */
struct pd_app_edges {
    uint32_t held, open, unknown;
    uint32_t first_open, first_unknown; /* IDs */
};

/* Evidence that a world has. */
enum pd_app_evidence {
    /* Paths of receivers joined with retransmissions of senders: flows that suffered are rows, all
     * others sums by path and host. */
    PD_APP_FLOWS = 1,
    PD_APP_EACH_FLOW = 2, /* the same, with a row for each flow */
    PD_APP_METERS = 4,    /* what stretches of paths lost, counted at both ends */
    PD_APP_PROBES = 8,    /* what became of packets sent to find out */
};

struct pd_pint_plan;
struct pd_app_world_ops {
    uint64_t (*now_us)(
        void *context); /* wall time; in the simulator: simulated, from its start on */

    /* Asks hosts: `document` is the body of POST /v1/execute
     * ({"query":…|"program":…,"args":{…},"hosts":"all"|[21,…],"deadline_ms":N}) and stays the
     * caller's; *ret_answer is the body of its answer and becomes the caller's. Its "complete" and
     * "hosts":{"missing"} say what it lacks. Programs: see docs/programs.md.
     * {"query":"getPoorTCPFlows"} is a question like any other. -PD_E_UNSUPPORTED: this world has
     * nothing to ask that way; the rows of queries over records are had of `rows` where there is
     * one. */
    int (*ask)(void *context, json_t *document, json_t **ret_answer, struct pd_error *error);

    /* The same for a query over records, whose rows go to `items` as they are (query/plan.h), in
     * order, from this call; nothing may be asked from there. *ret_answer has the other members. A
     * non-zero return of theirs ends it with that value. NULL: this world has them in JSON, from
     * `ask`. */
    int (*rows)(void *context, json_t *document, const struct pd_items *items, json_t **ret_answer,
                struct pd_error *error);

    /* Alarms of this reason (NULL: any) whose time lies in [from_us, to_us], oldest first, at most
     * `most`, the newest of them: an array of objects as in GET /v1/alarms. Clocks of hosts may
     * differ: allow for it. */
    int (*alarms)(void *context, const char *reason, uint64_t from_us, uint64_t to_us, size_t most,
                  json_t **ret_alarms, struct pd_error *error);

    /* Evidence of [from_us, to_us] (evidence/evidence.h) of the kinds `wanted`: bits of enum
     * pd_app_evidence. The sink is called once, or once for each of several periods. What is
     * missing is said in `report`. */
    int (*observe)(void *context, uint64_t from_us, uint64_t to_us, unsigned wanted,
                   const struct pd_evidence_sink *sink, struct pd_report *report,
                   struct pd_error *error);

    /* Sends a frame through the tables of a switch. NULL: this world has no switches. */
    int (*packet_out)(void *context, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                      size_t bytes);

    /* The telemetry plan that switches write by (codec/pint/plan.h): where its number is not
     * *number, *plan is given up for the one of now (NULL: none, also without memory) and *number
     * is its number. NULL: in this world there is none. */
    void (*telemetry_plan)(void *context, uint64_t *number, struct pd_pint_plan **plan);

    /* A link metric of now (GET /v1/links/metrics) by directed number (topology/links.h), `len` of
     * them between switches; NAN: not known. 0, or -PD_E_NOT_FOUND in words: there is none of this
     * name that is known at once. NULL: in this world nobody measures links. */
    int (*links)(void *context, const char *metric, float *ret_values, uint32_t len,
                 struct pd_error *error);

    /* Whether hosts can put marks of their own on packets. NULL: in this world none does. */
    void (*edges)(void *context, struct pd_app_edges *ret_edges);

    /* The same request to the agents of `hosts` (an array of IDs; NULL: all that have one), for
     * what is no query. `body` is that of a POST or NULL. Both stay the caller's; *ret_answers is
     * [{"host":21,"answer":{…}} | {"host":21,"error":"…"}] and becomes the caller's. What an agent
     * says may be anything. NULL: this world has no agents. */
    int (*request)(void *context, const char *method, const char *route, const json_t *body,
                   const json_t *hosts, json_t **ret_answers, struct pd_error *error);
};

struct pd_app_world {
    const struct pd_app_world_ops *ops;
    void *context;
    const struct pd_topology *topology; /* valid during a call */
    uint64_t link_mbps;                 /* of every link; 0: not known */
    uint64_t period_us;                 /* of the simulator's monitors; 0: not fixed */
};

/* ---- an application ---- */

// clang-format off
/* id, how a value is given in JSON and on the command line, what the application gets */
#define PD_APP_KINDS(X)                                                             \
    X(TEXT, "a text", "json string, not empty, at most PD_APP_TEXT_MAX bytes")      \
    X(INTEGER, "a number", "json integer >= 0")                                     \
    X(NUMBER, "a number, also a fraction", "json real >= 0, finite")                \
    X(BOOL, "true or false", "json boolean")                                        \
    X(TIME, "epoch in seconds or RFC 3339", "json integer, microseconds")           \
    X(SECONDS, "seconds, also a fraction", "json real > 0")                         \
    X(LINK, "a link: 9-17", "json string \"9-17\" of two adjacent switches")        \
    X(LIST, "IDs: 17,18", "json array of integers >= 1")                            \
    X(PAIRS, "pairs of prefixes that may talk: SRC>DST,…", "json array of pairs of strings") \
    X(ADDRESS, "an IPv4 or IPv6 address", "json string, canonical")                 \
    X(LOCALISER, "a localiser: evidence", "json string, one that pd_localiser_find() finds")
// clang-format on

enum pd_app_kind {
#define X(id, given, got) PD_APP_##id,
    PD_APP_KINDS(X)
#undef X
        PD_APP_KIND_COUNT
};

#define PD_APP_TEXT_MAX 4096

/* One argument: "max_hops" in JSON, --max-hops on the command line. Ends with a NULL name. */
struct pd_app_param {
    const char *name; /* with underscores */
    enum pd_app_kind kind;
    const char *value;    /* placeholder in help: "N" */
    const char *fallback; /* as on the command line; NULL: may be missing */
    bool required;
    const char *help;
};

/* One run. */
struct pd_app_call {
    const struct pd_app_world *world;
    /* checked against the table, defaults filled in: what has no default and was not given is
     * missing */
    const json_t *args;
    const json_t *alarm; /* that started this run, as in GET /v1/alarms; NULL: by hand or by time */
};

/* An alarm that may start an application: its reason, and whose word it is (fleet/alarm_message.h):
 * what somebody's program says starts nothing that wants an agent's own observation. */
struct pd_app_trigger {
    const char *reason, *origin;
};

struct pd_app_ops {
    const char *name;                      /* "silent-drops" */
    const char *section;                   /* of the paper: "4.3", "Table 2" */
    const char *help;                      /* one line: the question that it answers */
    const struct pd_app_param *params;     /* NULL: none */
    const struct pd_app_trigger *triggers; /* alarms that may start it; ends with {0}; NULL: none */
    double period_s; /* of a watch that says nothing else; 0: it is started by alarms */
    /* A run by hand goes on in the state of one with the same arguments that ended no longer ago;
     * 0: each begins anew. */
    double keep_s;

    /* NULL: no state. 0 or a negative error in words. */
    int (*open)(const struct pd_app_call *call, void **ret_state, struct pd_error *error);
    /* Fills the report (initialised). May take seconds. 0, or a negative error in words: then there
     * is no report. */
    int (*run)(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error);
    void (*close)(void *state); /* NULL is fine */

    /* Packets of switches, for as long as the controller runs: one state is kept open for all of
     * them, with default arguments, and runs by hand use that one. Returns true when a run would
     * now find something new: it is made at once. Must be quick. */
    bool (*packet_in)(void *state, const struct pd_app_world *world,
                      const struct pd_app_packet *packet);
};

extern const struct pd_app_ops *const pd_apps[]; /* NULL-terminated */

/* NULL when there is none of this name. */
const struct pd_app_ops *pd_app_find(const char *name);

#endif
