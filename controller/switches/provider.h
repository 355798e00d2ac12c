/* SPDX-License-Identifier: Apache-2.0 */
/* A provider of switches: how the controller reaches some of them, whatever protocol they speak. */
#ifndef PD_CONTROLLER_SWITCHES_PROVIDER_H
#define PD_CONTROLLER_SWITCHES_PROVIDER_H

#include "base/options.h"
#include "controller/switches/switches.h"

/* A provider connects to switches of the topology, keeps the codec's rows on them
 * (pd_codec_rows_make), says in what state they are, hands on packets that they send, sends packets
 * out through them, and reads their meters. OpenFlow is the first (openflow_provider.c), compiled
 * P4 programs the second (p4/); a new one is a folder and a line in providers.c.
 *
 * One that hangs holds nothing up: open, packet_out, meters and close are called in a thread of its
 * own (runner.h), and who waits for them waits for a bounded time. `status` and `address` only read
 * what is known and return at once; they are called from any thread, between open and close.
 *
 * Events may be called from any of the provider's threads between the beginning of open and the end
 * of close, and return soon. */

struct pd_switch_events {
    void *context;
    /* A switch that the topology does not know. */
    void (*unknown)(void *context, uint64_t datapath_id, const char *peer);
    /* Who says that it is this switch, and has another's certificate. */
    void (*refused)(void *context, uint32_t switch_id, const char *peer);
    void (*state)(void *context, const struct pd_switch_status *status); /* it has changed */
    void (*packet_in)(void *context, const struct pd_switches_packet_in *packet);
};

struct pd_switch_provider_config {
    const struct pd_topology *topology; /* both outlive the provider */
    const struct pd_codec *codec;       /* NULL: the topology names none */
    const char *listen;                 /* --openflow, with commas; NULL: not given */
    struct pd_credentials *credentials; /* for TLS */
    enum pd_depth depth;
    const void *options; /* its own; NULL: it has none */
    struct pd_switch_events events;
};

/* What a switch counted on a port, from when on it likes. */
struct pd_switch_meter {
    uint32_t switch_id, port;
    uint64_t rx_pkts, tx_pkts, rx_bytes, tx_bytes, dropped;
};

struct pd_switch_provider_ops {
    const char *name; /* "openflow" */
    /* Options that only it has (daemon/own.h). NULL: none. */
    const struct pd_option *options;
    size_t options_bytes;
    bool prompt; /* packet_out and meters never block: they are called directly */
    /* Whether it shall run with these settings. */
    bool (*wanted)(const struct pd_switch_provider_config *config);
    /* 0, or a negative error in words: then there is nothing to close. */
    int (*open)(const struct pd_switch_provider_config *config, void **ret_provider,
                struct pd_error *error);
    void (*close)(void *provider);
    const char *(*address)(const void *provider); /* where switches find it; NULL: nowhere */
    /* `index`: of the switch in the topology. AWAY: it is none of this provider's now. */
    void (*status)(void *provider, uint32_t index, struct pd_switch_status *ret_status);
    /* 0; -PD_E_NOT_FOUND: it is not connected; -PD_E_FULL, … */
    int (*packet_out)(void *provider, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                      size_t bytes);
    /* Meters of a switch, one after the other; non-zero ends it. NULL: it cannot. */
    int (*meters)(void *provider, uint32_t switch_id,
                  int (*visit)(void *context, const struct pd_switch_meter *meter), void *context);
};

extern const struct pd_switch_provider_ops *const pd_switch_providers[]; /* ends with NULL */
extern const struct pd_switch_provider_ops pd_switch_openflow, pd_switch_p4;

#define PD_SWITCH_PROVIDERS_MAX 8u

#endif
