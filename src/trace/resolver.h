/* SPDX-License-Identifier: Apache-2.0 */
/* Resolvers: which server answers a flow to a virtual address. */
#ifndef PD_TRACE_RESOLVER_H
#define PD_TRACE_RESOLVER_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/flow_id.h"

/* Paper 003, section 4: packets to a VIP are rewritten to the address of a server (DIP), and only a
 * packet to that one goes the whole way. Who knows it is a matter of the site: "none", "file:F",
 * "http:URL", "conntrack". What they say is not believed: an address of no rack is not traced.
 *
 * Thread safety: one call at a time. A call takes 50 ms at most. */

#define PD_TRACE_RESOLVE_MS 50

struct pd_trace_end {
    struct pd_addr addr; /* of the flow's family */
    uint16_t port;
};

struct pd_trace_resolver_ops {
    const char *name;
    const char *value; /* what follows the colon, in words; NULL: nothing may */
    const char *help;
    /* 0, or a negative error in words. */
    int (*open)(const char *value, void **ret_state, struct pd_error *error);
    /* -PD_E_NOT_FOUND: nobody serves the flow; other errors: that is not known now. */
    int (*resolve)(void *state, const struct pd_flow_id *flow, struct pd_trace_end *ret_end);
    void (*close)(void *state);
};

extern const struct pd_trace_resolver_ops *const pd_trace_resolvers[]; /* ends with NULL */

struct pd_trace_resolver {
    const struct pd_trace_resolver_ops *ops;
    void *state;
};

/* "file:/etc/dips.json". -PD_E_VALUE … in words. */
int pd_trace_resolver_open(const char *spec, struct pd_trace_resolver *ret_resolver,
                           struct pd_error *error);
void pd_trace_resolver_close(struct pd_trace_resolver *resolver);

/* {"dip":"10.1.1.2","dip_port":80}, the port only where it differs from the flow's: the form that
 * file and http share. -PD_E_VALUE. */
int pd_trace_end_read(const json_t *object, const struct pd_flow_id *flow,
                      struct pd_trace_end *ret_end);

#endif
