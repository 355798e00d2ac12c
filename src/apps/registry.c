/* SPDX-License-Identifier: Apache-2.0 */
/* The applications that there are. */
#include <string.h>

#include "apps/apps.h"
#include "pd_extensions.h"

/* A line for each folder, by name. */
#define APPS(X)         \
    X(blackhole)        \
    X(congested_link)   \
    X(ddos)             \
    X(drop_causes)      \
    X(hot_links)        \
    X(incast)           \
    X(link_latency)     \
    X(load_imbalance)   \
    X(loop)             \
    X(miscabling)       \
    X(outcast)          \
    X(overlay_loop)     \
    X(path_change)      \
    X(path_conformance) \
    X(path_log)         \
    X(probe_faults)     \
    X(protocol_bugs)    \
    X(server_drops)     \
    X(silent_drops)     \
    X(tail_latency)     \
    X(top_flows)        \
    X(traffic_matrix)   \
    X(wrong_modification)

#define X(name) extern const struct pd_app_ops pd_app_##name;
APPS(X)
#undef X

#define X(symbol) extern const struct pd_app_ops symbol;
PD_EXTENSION_APPLICATION(X)
#undef X

const struct pd_app_ops *const pd_apps[] = {
#define X(name) &pd_app_##name,
    APPS(X)
#undef X
#define X(symbol) &(symbol),
        PD_EXTENSION_APPLICATION(X)
#undef X
            NULL};

const struct pd_app_ops *pd_app_find(const char *name)
{
    for (size_t i = 0; pd_apps[i]; i++) {
        if (!strcmp(pd_apps[i]->name, name)) {
            return pd_apps[i];
        }
    }
    return NULL;
}
