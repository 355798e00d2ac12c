/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: the link that fell silent, where flows take one path each. */
#ifndef PD_APPS_BLACKHOLE_SILENCE_H
#define PD_APPS_BLACKHOLE_SILENCE_H

#include "apps/apps.h"
#include "base/path.h"
#include "localise/network.h"

/* Of a flow that takes one path and of which nothing arrives nobody knows the path. But ECMP draws
 * a path for each flow that begins, and hosts count these flows by path. So two things are known
 * of each link: how many flows it was offered (the chance that ECMP gives it, of each flow that
 * began, whatever way it took), and how many came over it. A link that swallows packets is offered
 * as many as before and passes none, while flows are stuck that it was offered, too.
 *
 * Causes are weighed against each other (posterior.c): each swallows all that crosses it, or
 * some flows; each is that probable beforehand, makes flows stuck where its share of the traffic
 * is, and leaves links silent that otherwise are so by chance. Links between switches only.
 *
 * Chance is that of a number of flows with a known mean: of e flows expected by the topology a link
 * got a in the past, and since then none of r expected ones; that no fault does so is (e / (e +
 * r))^(a + 1/2) of the cases (Poisson, its mean gamma distributed after a flows). Whether traffic
 * comes evenly in time does not matter: each flow is drawn for itself.
 *
 * For each rack that flows go to a link is asked the same, in networks of at most BH_PAIRS_MAX
 * pairs. Internal to the folder. One thread. */

#define BH_PAIRS_MAX (1u << 17) /* 5 MiB; a 12-ary fat-tree has 124,416 */
#define BH_STUCK_MAX 256        /* flows that are stuck: the oldest goes */
#define BH_KEPT_US   30000000u  /* since a flow was seen to be stuck */
#define BH_HOMES_MAX 8
#define BH_EPSILONS  3
#define BH_HOPS_MAX  (PD_PATH_MAX - 1)

/* Flows that began, as expected by the topology (`offered`) or as seen. */
struct bh_link {
    double crossed, offered;           /* up to the last period in which it carried packets */
    double run;                        /* offered since then */
    double now_crossed, now_offered;   /* of the period at hand */
    double late_crossed, late_offered; /* since flows are stuck that it may have swallowed */
    uint64_t last_from_us, last_us;    /* that period; 0: there was none */
    bool carried;                      /* packets, in the period at hand */
    bool is_late;
};

/* A link and a rack that its packets go to. */
struct bh_pair {
    double offered, run, now_offered;
    uint64_t last_from_us, last_us;
    bool carried;
};

/* A flow that sends again while nothing of it arrives. */
struct bh_stuck {
    struct pd_flow_id flow;
    /* Indexes of the switches that its hosts hang at, the first so many of them. */
    uint32_t srcs[BH_HOMES_MAX], dsts[BH_HOMES_MAX];
    uint32_t srcs_len, dsts_len;
    uint32_t src_host, dst_host;
    uint64_t first_us, seen_us;  /* ends of the first and the last such period */
    uint32_t links[BH_HOPS_MAX]; /* between switches, where its way is known */
    uint32_t links_len;          /* 0: it is not */
    bool resumed;                /* something came after all */
};

enum bh_kind { BH_LINK, BH_PAIR, BH_CABLE, BH_SWITCH, BH_SOME, BH_HOST };

/* What explains all. */
struct bh_cause {
    enum bh_kind kind; /* BH_SOME: a link that swallows some of its flows */
    uint32_t of;       /* number of a link (of a cable the even one), index of a switch or host */
    uint32_t rack;     /* BH_PAIR: index of the switch */
    double weight;     /* logarithm, beside that nothing is wrong; then its probability */
    double silence;    /* log of one over the chance of the silence that it explains */
    double stuck;      /* flows that it explains */
    uint64_t since_us; /* it is silent since */
};

struct bh_causes {
    struct bh_cause *list; /* most probable first */
    size_t len, room;
    size_t stuck; /* flows that are stuck */
};

struct bh_silence {
    const struct pd_topology *topology; /* that all below is of */
    struct pd_localise_network *network;
    struct bh_link *links; /* directed, between switches */
    struct bh_pair *pairs; /* by link, then by index of the rack's switch; NULL: too many */
    uint32_t links_len;
    double began; /* flows, in all */
    struct bh_stuck stuck[BH_STUCK_MAX];
    size_t stuck_len;
    uint64_t slack_us;       /* by which clocks may differ */
    uint64_t begun_us;       /* begin of the first period */
    uint64_t from_us, to_us; /* of the period at hand */
    bool is_known;           /* what is given now was given before */
    /* What was concluded at the end of that period: many alarms come at one moment. */
    struct bh_causes causes;
    double least; /* < 0: not worked out */
    uint64_t weighed_us;
    uint64_t seen_us; /* all up to here has been looked at; 0: nothing was */
};

/* ---- traffic.c ---- */

/* Looks at what is new, `back_us` back at first. 0, or a negative error in words. */
int pd_blackhole_silence_look(struct bh_silence *silence, const struct pd_app_call *call,
                              uint64_t back_us, struct pd_report *report, struct pd_error *error);
/* The period at hand is over. */
void pd_blackhole_silence_settle(struct bh_silence *silence);
void pd_blackhole_silence_done(struct bh_silence *silence); /* works on zeroed memory */

/* ---- posterior.c ---- */

/* Causes with their probabilities, most probable first; flows that `without` sends (index of a
 * host, PD_NONE: none) are taken for lies. *ret_causes is to be freed. 0 or -ENOMEM. */
int pd_blackhole_silence_weigh(struct bh_silence *silence, uint32_t without,
                               struct bh_causes *ret_causes);
void pd_blackhole_causes_done(struct bh_causes *causes);

/* ---- silence.c ---- */

/* Into the report, if something swallows the flows that are stuck; *ret_found: it does. 0 or
 * -ENOMEM. */
int pd_blackhole_silence_conclude(struct bh_silence *silence, struct pd_report *report,
                                  bool *ret_found);

#endif
