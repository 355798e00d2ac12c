/* SPDX-License-Identifier: Apache-2.0 */
/* Any document as an earlier plan, kept in both modes. */
#include <stdlib.h>

#include "probe/plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void keep(const struct pd_topology *topology, const struct pd_plan_paths *paths,
                 enum pd_plan_mode mode)
{
    struct pd_plan_request request = {
        .topology = topology, .mode = mode, .max_hops = 12, .keep = paths};
    struct pd_plan plan;
    if (pd_plan_make(&request, &plan)) {
        abort();
    }
    pd_plan_done(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pd_topology *topology;
    struct pd_plan_paths paths;
    if (!topology && pd_topology_fat_tree(4, &topology, NULL)) {
        abort();
    }
    json_t *document = json_loadb((const char *)data, size, 0, NULL);
    if (document && !pd_plan_read(document, topology, &paths, NULL)) {
        keep(topology, &paths, PD_PLAN_DIRECTIONS);
        keep(topology, &paths, PD_PLAN_LINKS);
        pd_plan_paths_done(&paths);
    }
    json_decref(document);
    return 0;
}
