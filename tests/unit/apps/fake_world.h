/* SPDX-License-Identifier: Apache-2.0 */
/* A world for tests of applications: records given by hand that the real queries run over, and
 * answers as bad as a test likes. */
#ifndef PD_TESTS_APPS_FAKE_WORLD_H
#define PD_TESTS_APPS_FAKE_WORLD_H

#include <jansson.h>

#include "apps/apps.h"
#include "tib/tib.h"

/* A record lies at the host of its destination address. Failures of set-up fail the test. One
 * thread. */

enum { FAKE_RECORDS_MAX = 20000, FAKE_MISSING_MAX = 16, FAKE_CANNED_MAX = 8 };

struct fake_world {
    struct pd_app_world world; /* what applications get; link_mbps and the like may be set */
    struct pd_topology *topology;
    uint64_t now_us;
    struct pd_tib_record records[FAKE_RECORDS_MAX];
    struct pd_path paths[FAKE_RECORDS_MAX];
    size_t records_len;
    json_t *alarms; /* all there are, oldest first */
    json_t *poor;   /* rows of getPoorTCPFlows */
    struct {
        uint32_t host;
        const char *reason;
    } missing[FAKE_MISSING_MAX];
    size_t missing_len;
    struct {
        const char *query;
        json_t *answer;
    } canned[FAKE_CANNED_MAX];
    size_t canned_len;
    unsigned asked;            /* questions so far */
    struct pd_app_edges edges; /* none is open unless a test says so */
    /* As of the world; NULL: there is nothing to observe. */
    int (*observe)(struct fake_world *world, uint64_t from_us, uint64_t to_us,
                   const struct pd_evidence_sink *sink, struct pd_report *report,
                   struct pd_error *error);
    void *observe_context;
};

/* A fat-tree of k; it is FAKE_NOW_US. */
#define FAKE_NOW_US UINT64_C(1700000000000000)
struct fake_world *fake_world_new(uint32_t k);
void fake_world_free(struct fake_world *world);

/* Protocol 6; `path`: "1,9,17,11,3", "" is infeasible. Times: microseconds before now. */
struct pd_tib_record *fake_world_record(struct fake_world *world, const char *src,
                                        uint16_t src_port, const char *dst, uint16_t dst_port,
                                        const char *path, uint64_t began_us_ago,
                                        uint64_t ended_us_ago, uint64_t bytes, uint64_t pkts);
/* An alarm of `host` now; the flow is a copy. */
void fake_world_alarm(struct fake_world *world, uint32_t host, const char *reason,
                      const struct pd_flow_id *flow);
/* A row of getPoorTCPFlows: established, throughput as given. */
void fake_world_poor(struct fake_world *world, uint32_t host, const struct pd_flow_id *flow,
                     uint64_t retransmissions, uint64_t throughput_bps);
/* This host does not answer. */
void fake_world_missing(struct fake_world *world, uint32_t host, const char *reason);
/* What every question of this query is answered with; {"a": 1}-like text. */
void fake_world_canned(struct fake_world *world, const char *query, const char *json);

/* Opens, runs once and closes an application; `args` as JSON text, NULL: none. The report's JSON,
 * the caller's. */
json_t *fake_world_run(struct fake_world *world, const char *app, const char *args);
/* The same where it has to fail: its error. */
int fake_world_fails(struct fake_world *world, const char *app, const char *args);

/* ---- looking into reports ---- */

const char *report_verdict(const json_t *report);
bool report_certain(const json_t *report);
bool report_has(const json_t *report, const char *list,
                const char *words);                                /* "evidence", "lacks" */
const json_t *report_rows(const json_t *report, const char *name); /* results.NAME; may be NULL */

#endif
