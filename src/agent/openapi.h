/* SPDX-License-Identifier: Apache-2.0 */
/* docs/api/openapi.json, built into the program. */
#ifndef PD_AGENT_OPENAPI_H
#define PD_AGENT_OPENAPI_H

#include <stddef.h>

extern const char pd_openapi[];      /* ends with a NUL */
size_t pd_agent_openapi_bytes(void); /* without the NUL */

#endif
