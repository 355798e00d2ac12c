/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: what its parts share: flows that suffer, the paths that they miss, and the links under
 * suspicion. */
#ifndef PD_APPS_BLACKHOLE_H
#define PD_APPS_BLACKHOLE_H

#include "apps/apps.h"
#include "apps/traces.h"
#include "base/path.h"

/* Internal to the folder. One thread. */

#define BH_FLOWS_MAX   64   /* looked at in one run */
#define BH_PATHS_MAX   2048 /* shortest paths between two racks */
#define BH_MISSES_MAX  4096
#define BH_CHANCE      1e-4 /* below it, a path without packets did not stay empty by chance */
#define BH_CHANCE_LATE 1e-3 /* for all flows together, when no more packets came in time */
/* The same for paths behind one link: there are fewer links than paths. */
#define BH_TOGETHER_LATE 2e-3
/* That any of these works: in all flows together, when no more packets came in time. */
#define BH_DOUBT_LATE 0.05
#define BH_DOUBT                                                                                  \
    0.01              /* above it, a path that had packets works; between the two nobody can tell \
                       */
#define BH_QUIET 0.25 /* below it, a path is quiet enough to wait for its next packet */

struct bh_path {
    struct pd_path path;
    uint64_t pkts;
    uint64_t first_us, last_us; /* the receiver's clock; 0: no packet came this way */
    double start_pkts;          /* that came by others since its last, at the first look */
    uint64_t base_pkts; /* of all paths, when this one was first seen to have all of its packets */
    double chance;      /* of being empty since its last packet without a fault */
    bool missing;       /* it lost packets */
    /* it works: it carried packets of the flow to the end, or of others since the flow suffers */
    bool healthy;
};

struct bh_flow {
    struct pd_flow_id id;
    uint64_t alarmed_us; /* first alarm in the time looked at; the sender's clock */
    unsigned alarms;
    uint32_t src_tor, dst_tor;   /* indexes */
    uint32_t src_host, dst_host; /* IDs; 0: unknown */
    struct bh_path *paths;       /* all shortest ones between the racks */
    size_t paths_len;
    size_t seen_len; /* of these, with packets of the flow */
    size_t other;    /* longer paths that packets of the flow took */
    uint64_t pkts;   /* over all of them */
    uint64_t bytes;
    double sent_pkts; /* by what its sender knew just before; 0: not known */
    uint64_t mss_bytes;
    bool asked; /* the receiver has answered */
};

/* What one blackhole explains: one path that misses packets, or one flow of which nothing arrived,
 * whose path is one of several. */
struct bh_miss {
    const struct bh_flow *flow;
    struct pd_link_match *links; /* that may be the cause */
    size_t links_len, links_room;
    double chance;  /* of being empty without a fault; < 0: the path is not known */
    bool traced;    /* its links are those behind the end of a trace */
    unsigned fault; /* number of the blackhole that explains it */
};

struct bh_case {
    const struct pd_app_call *call;
    struct pd_report *report;
    uint64_t now_us, back_us, slack_us;
    uint64_t since_us; /* what is asked for begins then: `back_us` and `slack_us` before now */
    struct bh_flow flows[BH_FLOWS_MAX];
    size_t flows_len;
    bool spray;
    bool late; /* has waited for packets as long as a verdict within a second allows */
    struct bh_miss *misses;
    size_t misses_len, misses_room;
    struct pd_app_traces traces; /* where nothing is tagged */
    bool *answers;               /* by index of a switch: it answered a probe; NULL: no traces */
};

/* flows.c: the flows to look at, from arguments or alarms, with their paths and what their
 * receivers saw of them. */
int pd_blackhole_collect(struct bh_case *c, struct pd_error *error);
int pd_blackhole_look(struct bh_case *c, struct pd_error *error);

/* The same once more for one flow: packets may have come since. */
int pd_blackhole_look_again(struct bh_case *c, struct bh_flow *flow, struct pd_error *error);

/* losses.c: what its sender sent, to be asked before what arrived, so that what is on its way is
 * not taken for lost; and what got lost of that, at least. */
int pd_blackhole_ask_sent(struct bh_case *c, struct bh_flow *flow, struct pd_error *error);
double pd_blackhole_lost_pkts(const struct bh_flow *flow);

/* misses.c: what each flow misses. */
/* After the first look at a flow. */
void pd_blackhole_start(struct bh_flow *flow);
/* Whether more packets may tell more: a path may be missing, and too few packets of the flow came
 * to say so. */
bool pd_blackhole_is_open(const struct bh_case *c, struct bh_flow *flow);
int pd_blackhole_judge(struct bh_case *c, struct pd_error *error);

/* Room for so many links; NULL: no memory. */
struct bh_miss *pd_blackhole_add_miss(struct bh_case *c, const struct bh_flow *flow, double chance,
                                      size_t links_room);
/* Those that no path with packets crosses. */
void pd_blackhole_add_links(struct bh_miss *miss, const struct pd_path *path);
void pd_blackhole_add_link(struct bh_miss *miss, const struct pd_path *path, unsigned step);

/* stuck.c: a flow that takes one path. */
int pd_blackhole_judge_single(struct bh_case *c, struct bh_flow *flow, struct pd_error *error);

/* trails.c: traces of flows that do not get through (paper 003, section 4), asked for once, where
 * nothing is tagged. */
int pd_blackhole_ask_traces(struct bh_case *c, struct pd_error *error);

enum bh_trail {
    BH_TRAIL_NONE,    /* nobody traced it, or no switch answered */
    BH_TRAIL_ENDS,    /* a switch answered, and none behind it */
    BH_TRAIL_THROUGH, /* probes came to its destination's rack while it suffered */
    BH_TRAIL_WAY,     /* they did before: its way is known */
};
/* *ret_end: ID of the last switch that answered. */
enum bh_trail pd_blackhole_trail(const struct bh_case *c, const struct bh_flow *flow,
                                 uint32_t *ret_end);
/* Links that a trace which ends, or the way that it tells, leaves to its flow. False: it fits no
 * path between the racks. */
bool pd_blackhole_add_trail(const struct bh_case *c, struct bh_miss *miss);

/* suspects.c: joins the misses over paths and flows, and reports what is left. */
int pd_blackhole_conclude(struct bh_case *c, struct pd_error *error);

#endif
