/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for bpf.c where libbpf or clang was missing when this was built. */
#include <stddef.h>

#include "monitor/source.h"

static int open_source(const struct pd_monitor_config *config, void **ret_source,
                       struct pd_error *error)
{
    (void)config;
    (void)ret_source;
    return pd_fail(error, -PD_E_UNSUPPORTED, "this build has none (built without libbpf or clang)");
}

const struct pd_monitor_source_ops pd_monitor_bpf = {.id = PD_MONITOR_BPF, .open = open_source};
