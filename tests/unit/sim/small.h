/* SPDX-License-Identifier: Apache-2.0 */
/* A small scenario for tests: a fat-tree of 4 and whatever else is asked for. */
#ifndef PD_TESTS_SIM_SMALL_H
#define PD_TESTS_SIM_SMALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"

/* `members`: more of the scenario's, as JSON. Fails the test where it is none. */
static inline void small_scenario(const char *members, unsigned seconds,
                                  struct pd_sim_scenario *ret_scenario)
{
    char json[500];
    struct pd_error error = {0};

    snprintf(json, sizeof json, "{\"topology\":{\"fat_tree\":4},\"duration_s\":%u,%s}", seconds,
             members);
    if (pd_sim_scenario_parse(json, strlen(json), "test", false, ret_scenario, &error)) {
        fail_msg("%s", error.text);
    }
}

#endif
