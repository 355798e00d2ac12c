/* SPDX-License-Identifier: Apache-2.0 */
/* A toy provider of switches: it has every switch from the start, or hangs when it is opened. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "controller/switches/provider.h"

struct options {
    bool run, hang;
};

static const struct pd_option rows[] = {
    {"toy", "toy-switches", PD_OPTION_FLAG, offsetof(struct options, run), 0, 0, NULL, NULL,
     "the toy has all switches", NULL},
    {"toy", "toy-switches-hang", PD_OPTION_FLAG, offsetof(struct options, hang), 0, 0, NULL, NULL,
     "and never opens", NULL},
    {0},
};

struct toy {
    const struct pd_topology *topology;
    _Atomic uint64_t packets;
};

static bool wanted(const struct pd_switch_provider_config *config)
{
    const struct options *options = config->options;

    return options && options->run;
}

static int toy_open(const struct pd_switch_provider_config *config, void **ret_provider,
                    struct pd_error *error)
{
    struct toy *toy = calloc(1, sizeof *toy);

    if (!toy) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    while (((const struct options *)config->options)->hang) {
        pause();
    }
    toy->topology = config->topology;
    *ret_provider = toy;
    return 0;
}

static void toy_status(void *provider, uint32_t index, struct pd_switch_status *ret_status)
{
    const struct toy *toy = provider;

    *ret_status = (struct pd_switch_status){
        .id = toy->topology->switches[index].id, .state = PD_SWITCH_INSTALLED, .connects = 1};
}

static int toy_packet_out(void *provider, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                          size_t bytes)
{
    (void)switch_id;
    (void)in_port;
    (void)data;
    (void)bytes;
    ((struct toy *)provider)->packets++;
    return 0;
}

extern const struct pd_switch_provider_ops toy_switches;
const struct pd_switch_provider_ops toy_switches = {
    .name = "toy",
    .options = rows,
    .options_bytes = sizeof(struct options),
    .wanted = wanted,
    .open = toy_open,
    .close = free,
    .status = toy_status,
    .packet_out = toy_packet_out,
};
