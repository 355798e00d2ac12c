/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: names links by a likelihood test that flows without losses take part
 * in. */
#ifndef PD_LOCALISE_EVIDENCE_PRIVATE_H
#define PD_LOCALISE_EVIDENCE_PRIVATE_H

#include "localise/evidence/loads.h"
#include "localise/evidence/losses.h"
#include "localise/evidence/verdict.h"
#include "localise/links.h"
#include "localise/localise.h"

/* Paper 000, section 4.3, with another algorithm than its MAX-COVERAGE:
 * - flows that did *not* suffer count: a link that many packets passed without a loss is cleared
 * (losses.h);
 * - the number of retransmissions counts, not only that there were some;
 * - an observation is left aside where a link of its path carried more than PD_EVIDENCE_LOAD_MAX of
 * what it can in the period: full queues drop packets as well, and no number of such losses tells
 * them from a faulty interface. A host's link up does not count here: a stack holds its senders
 * back and drops nothing;
 * - access links explain losses (a slow host, incast) but are never named;
 * - a link is named when its estimated rate is over PD_EVIDENCE_FLOOR and D = 2 (log likelihood at
 * the estimate − the greatest one with this link's rate held at the floor) / dispersion reaches
 * PD_EVIDENCE_NAME; for certain from PD_EVIDENCE_CERTAIN on;
 * - a link is cleared when the same D against PD_EVIDENCE_CEILING, from below, reaches
 * PD_EVIDENCE_CLEAR, in this model or in a simpler count: all packets of flows that cross no link
 * named so far, congested or not, and all their retransmissions, as if this link had to answer for
 * each of them. That needs no model, since noise can only add to it;
 * - the verdict is certain when every named link is, and every other one of the topology is
 * cleared: a link that nothing crossed is not;
 * - counts of many seconds clear a link long after it broke: one that lost more than the ceiling
 * lately (PD_EVIDENCE_FRESH_S), in the simpler count, is not cleared;
 * - a flow that retransmits and of which nothing arrives has no path: such flows are left aside,
 * but as soon as there are more of them than losses at the rates found explain, some link swallows
 * packets unseen, and nothing is certain;
 * - retransmissions of a flow that is sprayed over several paths do not tell which of them lost
 * packets, and the path that lost some has fewer arrivals than its siblings, so that the likelihood
 * leans towards these: what such flows lost makes suspects, and nothing certain;
 * - a signature all of whose links are cleared is contradicted: it speaks for none of them any
 * more;
 * - what is older than some half-lives (PD_EVIDENCE_HALF_LIFE_S) has faded.
 *
 * A link that explains less than 1/200 of all losses stays open without a test, and no more than
 * 128 links are tested in the model for being clear, which bounds the work of a verdict.
 *
 * What it cannot do: losses below the ceiling may go unnamed, those below the floor will; two links
 * that the same packets cross in the same shares cannot be told apart, so that neither is named for
 * certain; nor can a link that is loaded beyond the limit all the time.
 *
 * Internal to the folder. One thread. */

#define PD_EVIDENCE_FLOOR       0.003
#define PD_EVIDENCE_CEILING     0.005
#define PD_EVIDENCE_NAME        12.0
#define PD_EVIDENCE_CERTAIN     30.0
#define PD_EVIDENCE_CLEAR       16.0
#define PD_EVIDENCE_LOAD_MAX    0.80
#define PD_EVIDENCE_HALF_LIFE_S 30.0
#define PD_EVIDENCE_FRESH_S     0.5  /* half-life of what happened lately */
#define PD_EVIDENCE_SPREAD_MAX  0.02 /* share of all retransmissions */
#define PD_EVIDENCE_BROKEN      9.0  /* D from which what happened lately speaks against a link */
/* Half-life of flows without a path: a connection that gets nothing through tries more and more
 * seldom. */
#define PD_EVIDENCE_PATHLESS_S 5.0

enum pd_evidence_mark { PD_EVIDENCE_OPEN, PD_EVIDENCE_NAMED, PD_EVIDENCE_CLEARED };

/* Of flows that cross no named link. */
struct pd_evidence_count {
    double sent; /* packets */
    double lost; /* retransmissions */
};

struct pd_evidence {
    struct pd_localiser head;
    struct pd_links links;
    struct pd_loads loads;
    struct pd_losses losses;
    double *trial; /* rates with one link held at the floor */
    size_t trial_room;
    /* number + 1 of a link in the observation at hand; by link, zeroed after use */
    uint32_t *shares;
    struct pd_evidence_count *plain; /* per link */
    struct pd_evidence_count *fresh; /* per link: of the last moments, without congested flows */
    double spread;                   /* retransmissions of flows that took several paths */
    double pathless,
        /* flows that retransmitted, lately: those of which nothing arrived, all others */
        suffering;
    uint8_t *marks; /* per link: enum pd_evidence_mark, of the last verdict */
    size_t marks_room;
    uint64_t fabric_links; /* directed links between switches of the topology; 0: no topology */
    double fade_s;         /* seconds since the counts last faded */
    struct pd_verdict_link *named;   /* of the last verdict */
    struct pd_evidence_model *model; /* of evidence without a clock; NULL: none yet */
    struct pd_evidence_answer answer;
};

/* The verdict on all that was seen. 0 or -ENOMEM. */
int pd_evidence_judge(struct pd_evidence *evidence, struct pd_verdict *ret_verdict);

#endif
