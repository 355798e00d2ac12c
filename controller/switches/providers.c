/* SPDX-License-Identifier: Apache-2.0 */
/* The providers of switches that there are. */
#include "controller/switches/provider.h"
#include "pd_extensions.h"

#define X(symbol) extern const struct pd_switch_provider_ops symbol;
PD_EXTENSION_SWITCHES(X)
#undef X

const struct pd_switch_provider_ops *const pd_switch_providers[] = {
    &pd_switch_openflow,
    &pd_switch_p4,
#define X(symbol) &(symbol),
    PD_EXTENSION_SWITCHES(X)
#undef X
        NULL,
};
_Static_assert(sizeof pd_switch_providers / sizeof(void *) <= PD_SWITCH_PROVIDERS_MAX + 1,
               "the service has room for each");
