/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: what is wrong with a topology, one line each, with the place in the file. */
#ifndef PD_TOPOLOGY_FINDINGS_H
#define PD_TOPOLOGY_FINDINGS_H

#include <stdint.h>

#include "base/error.h"

/* Checks add findings and go on, so that one run names all that is wrong. Zero-initialised it only
 * counts and keeps the first. Belongs to one thread. */

#define PD_FINDINGS_MAX 100 /* reported; those above are counted */

struct pd_draft;

struct pd_findings {
    const char *file; /* goes in front of each; NULL: nothing does */
    void (*report)(void *context, const char *finding); /* may be NULL */
    void *context;
    const struct pd_draft *draft; /* tells places of switches and links; NULL: there is no file */
    unsigned len;                 /* all of them, also those above PD_FINDINGS_MAX */
    char first[400];
};

void pd_topology_findings_add(struct pd_findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with "nodes[…]: " or "links[…]: " of switches given by their index in the topology. */
void pd_topology_findings_switch(struct pd_findings *findings, uint32_t sw, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void pd_topology_findings_link(struct pd_findings *findings, uint32_t a, uint32_t b,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* 0 when there is none. Else reports how many were too many and returns -PD_E_TOPOLOGY with the
 * first. */
int pd_topology_findings_end(struct pd_findings *findings, struct pd_error *error);

#endif
