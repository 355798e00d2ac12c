/* SPDX-License-Identifier: Apache-2.0 */
/* A whole agent without HTTP, in a folder of its own, on a capture that it writes first. */
#ifndef PD_TESTS_FIXTURE_H
#define PD_TESTS_FIXTURE_H

#include "agent/agent.h"
#include "http/answer.h"

struct fixture {
    char folder[64];
    char topology[96];
    char capture[96];
    char tib[96];
    struct pd_agent agent;
};

/* Packets of 100 bytes between two hosts of one rack: `pkts` of them, 1 ms apart, over `flows`
 * source ports, of which every `odd`th (0: none) carries a link tag that fits no path. */
void fixture_init(struct fixture *fixture, unsigned pkts, unsigned flows, unsigned odd);
void fixture_start(struct fixture *fixture);
void fixture_wait_end(struct fixture *fixture);
/* Answers a request of an administrator without a body, as over HTTP; to be ended by
 * pd_http_answer_done. */
void fixture_ask(struct pd_agent *agent, const char *method, const char *target,
                 struct pd_answer *answer);
void fixture_done(struct fixture *fixture);

#endif
