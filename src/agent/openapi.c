/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of docs/api/openapi.json, taken in by the assembler; CMake rebuilds this file when they change. */
#include "agent/openapi.h"

#include <string.h>

__asm__(".pushsection .rodata\n"
        ".global pd_openapi\n"
        ".type pd_openapi, %object\n"
        "pd_openapi:\n"
        ".incbin \"" PD_OPENAPI_FILE "\"\n"
        ".byte 0\n"
        ".size pd_openapi, . - pd_openapi\n"
        ".popsection\n");

size_t pd_openapi_bytes(void)
{
    return strlen(pd_openapi);
}
