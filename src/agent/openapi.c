/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of docs/api/openapi.json; CMake rebuilds this file when they change. */
#include "agent/openapi.h"

#include <string.h>

#include "daemon/embed.h"

PD_EMBED("pd_openapi", PD_OPENAPI_FILE);

size_t pd_agent_openapi_bytes(void)
{
    return strlen(pd_openapi);
}
