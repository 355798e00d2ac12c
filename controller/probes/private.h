/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef PD_CONTROLLER_PROBES_PRIVATE_H
#define PD_CONTROLLER_PROBES_PRIVATE_H

#include <pthread.h>

#include "controller/probes/probes.h"
#include "fleet/fanout.h"
#include "probe/order.h"
#include "probe/report.h"
#include "probe/watch.h"
#include "json/cursor.h"

#define PD_PROBES_LEASE_MS 30000u
#define PD_PROBES_RENEW_NS (UINT64_C(10) * 1000000000)
#define PD_PROBES_AGAIN_NS \
    (UINT64_C(10) * 1000000000)                       /* hosts that could not take part are asked */
#define PD_PROBES_PERIOD_NS (UINT64_C(100) * 1000000) /* of evidence */
#define PD_PROBES_DEAD_NS   (UINT64_C(3) * 1000000000) /* a host that does not report so long */
#define PD_PROBES_SLACK_NS  (UINT64_C(25) * 1000000)   /* a probe is under way no longer */
#define PD_PROBES_KEPT      600u                       /* periods of evidence: a minute */
#define PD_PROBES_ROWS_MAX  200000u                    /* of evidence, in all of them */

/* A host of the inventory that is in the topology. */
struct pd_probes_host {
    uint32_t id, index; /* in the topology */
    const char *url;    /* the inventory's */
    bool able;          /* it sends and collects */
    uint64_t heard_ns;  /* monotonic: its last report, or when it got its first order */
    uint64_t told;      /* hash of the ways it was ordered; 0: none */
    bool overruled;     /* it said that another plan is higher */
    uint32_t refusals;  /* of orders, one after the other */
    uint64_t again_ns;  /* monotonic: until then it is not asked again */
    char reason[120];   /* why it is not able, or "" */
};

/* What is known of a directed link. */
struct pd_probes_link {
    uint64_t seen_ns; /* a probe crossed it, monotonic; 0: never */
    bool measured;
    int64_t hop_latency_ns, residence_ns, queue_bytes, queue_max_bytes;
    int64_t least[2];   /* of hop latency less residence, of this half minute and the one before */
    uint64_t least_end; /* monotonic: of this half minute */
};

/* Evidence of one period: rows with their nodes. */
struct pd_probes_period {
    uint64_t from_us, to_us;
    bool anew;
    struct pd_evidence_row *rows;
    struct pd_evidence_way *ways;
    uint32_t *nodes;
    size_t len;
};

struct pd_probes {
    struct pd_controller *controller;
    struct pd_fanout *fanout;
    char *file;
    double share;      /* of a link that probes may take */
    bool synchronised; /* switches' clocks */
    pthread_t thread;
    bool started;
    atomic_bool cancelled;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;
    bool stopping, on, replan, orders, overruled;
    uint32_t plan, order, ordered; /* ordered: numbers below it have been given to collectors */
    const struct pd_probe_carrier *carrier;
    uint32_t rate_hz, wanted_hz, max_hops;
    uint8_t key[PD_SIPHASH_KEY_BYTES];
    struct pd_inventory *inventory; /* held while on */
    struct pd_probe_watch *watch;   /* NULL: not planned yet */
    struct pd_probes_host *hosts;
    size_t hosts_len;
    struct pd_probes_link *links; /* by directed number, between switches */
    uint32_t links_len;
    struct pd_probes_period periods[PD_PROBES_KEPT]; /* a ring */
    uint64_t periods_len;                            /* ever */
    size_t rows_len;                                 /* in the ring */
    uint64_t period_us;                              /* wall: begin of the one at hand */
};

extern struct pd_probes pd_probes;

/* Counted since the start. */
struct pd_probes_counts {
    _Atomic uint64_t reports, reports_stale, reports_refused, orders, orders_failed, plans,
        isolations, rows_dropped, claims_refused, unknown;
};
extern struct pd_probes_counts pd_probes_counts;

/* ---- probes.c: with the lock ---- */

/* What is wanted, to the file. 0 or a negative error in words. */
int pd_probes_save(struct pd_error *error);
/* The members of POST /v1/probes, also as they lie in the file; in words. */
int pd_probes_read_wish(const struct pd_json_cursor *at);
void pd_probes_drop_plan(void);

/* ---- rest.c ---- */

extern const struct pd_part_route pd_probes_routes[];

/* ---- give.c: without the lock, in the thread ---- */

/* IDs of the switches of a way. */
json_t *pd_probes_path_json(const struct pd_probe_way *way);
/* Finds out which hosts can take part; *ret_changed: others than before. */
int pd_probes_ask_hosts(bool all, bool *ret_changed);
/* Gives the hosts whose part has changed theirs, and all of them now and then: those who collect
 * come first. */
int pd_probes_give_orders(bool all);
/* Ends probes at the hosts. */
void pd_probes_end_all(void);

/* ---- take.c ---- */

int pd_probes_take_report(void *daemon, struct pd_call *call, struct pd_answer *answer,
                          struct pd_problem *problem);

/* ---- keep.c: with the lock ---- */

void pd_probes_close_period(void);
void pd_probes_forget_periods(void);
void pd_probes_note_hop(uint32_t link, const struct pd_probe_hop *hop, uint64_t now_ns);

#endif
