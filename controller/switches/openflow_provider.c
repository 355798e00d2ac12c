/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenFlow endpoint as a provider of switches. */
#include "controller/switches/provider.h"

static bool wanted(const struct pd_switch_provider_config *config)
{
    return config->listen;
}

/* The endpoint copies its settings; its callbacks are the events. */
static int open_endpoint(const struct pd_switch_provider_config *config, void **ret_provider,
                         struct pd_error *error)
{
    const struct pd_switches_settings settings = {
        .listen = config->listen,
        .credentials = config->credentials,
        .depth = config->depth,
        .context = config->events.context,
        .on_unknown = config->events.unknown,
        .on_refused = config->events.refused,
        .on_state = config->events.state,
        .on_packet_in = config->events.packet_in,
    };
    struct pd_switches *switches;
    int err = pd_switches_open(config->codec, &settings, &switches, error);

    if (!err) {
        *ret_provider = switches;
    }
    return err;
}

static void close_endpoint(void *provider)
{
    pd_switches_close(provider);
}

static const char *address(const void *provider)
{
    return pd_switches_address(provider);
}

static void status(void *provider, uint32_t index, struct pd_switch_status *ret_status)
{
    pd_switches_status(provider, index, ret_status);
}

static int packet_out(void *provider, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                      size_t bytes)
{
    return pd_switches_packet_out(provider, switch_id, in_port, PD_SWITCHES_PORT_TABLE, data,
                                  bytes);
}

const struct pd_switch_provider_ops pd_switch_openflow = {
    .name = "openflow",
    .prompt = true,
    .wanted = wanted,
    .open = open_endpoint,
    .close = close_endpoint,
    .address = address,
    .status = status,
    .packet_out = packet_out,
};
