/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of chance. */
#include "apps/load_imbalance/chance.h"

#include <math.h>

double pd_load_imbalance_chance_of_load(double away, double squares, double choices)
{
    double bound = squares > 0 ? 2 * choices * exp(-2 * away * away / squares) : 1;

    return bound < 1 ? bound : 1;
}

double pd_load_imbalance_chance_of_run(uint64_t run, uint64_t links, double groups)
{
    double bound =
        run && links ? groups * pow((double)links, 1 - (double)run) : 1; /* the link may be any */

    return bound < 1 ? bound : 1;
}
