/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump simulate --serve`: a controller whose world is the simulator. */
#ifndef PD_CLI_SERVE_H
#define PD_CLI_SERVE_H

#include "sim/live.h"

struct pd_cli_serve {
    const struct pd_sim_scenario *scenario;
    uint64_t seed, speed;
    const char *address;          /* "127.0.0.1:7412", "unix:/PATH" */
    const struct pd_app_ops *app; /* is watched; NULL: none */
    const json_t *args;           /* of it, as given; NULL: none */
};

/* The controller's routes that only read, its events and its page, until a signal ends it. Leaves
 * no file behind. 0, or a negative error in words. Main thread alone. */
int pd_cli_serve(const struct pd_cli_serve *serve, struct pd_error *error);

#endif
