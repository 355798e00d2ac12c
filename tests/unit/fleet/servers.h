/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts for tests of executions: each a server of its own on loopback, with records of its own and
 * a way to misbehave. */
#ifndef PD_TESTS_SERVERS_H
#define PD_TESTS_SERVERS_H

#include "fleet/execute.h"

/* What a host does with a question. */
enum manner {
    HONEST,
    DEAD,      /* nobody listens */
    LATE,      /* long after the deadline */
    TRUNCATED, /* half of its answer */
    GARBAGE,   /* bytes of no form */
    OTHER,     /* a true answer to another query */
    HUGE,      /* without end */
    LIAR,      /* says that a host is missing which it was not asked about */
    GREEDY,    /* claims to have asked more hosts than it was given */
    MUTE,      /* leaves out those below it without a word */
    FAILING,   /* problem document, 503 */
    REFUSING   /* problem document, 422 */
};

enum { SERVERS = 8, FLOWS_EACH = 40, BYTES_EACH = 1000 };
#define SERVER_LATE_MS 7000

/* Host i + 1 has FLOWS_EACH flows of BYTES_EACH * (i + 1) bytes and one packet each. */
void servers_start(void);
void servers_stop(void);
void servers_behave(unsigned host, enum manner manner); /* until told otherwise */
unsigned servers_asked(unsigned host);                  /* questions since servers_start */

/* A node of a tree; `children` must outlive it. */
struct pd_tree server(unsigned host, struct pd_tree *children, size_t children_len);

#endif
