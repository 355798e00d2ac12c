/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a program in an interpreter of its own: made, limited, called and thrown away. */
#ifndef PD_PROGRAM_SANDBOX_H
#define PD_PROGRAM_SANDBOX_H

#include <stddef.h>

#include "program/wire.h"

struct pd_sandbox_end {
    enum pd_program_failure failure; /* 0: none */
    char *text; /* the result as JSON, or words; the caller frees it; NULL: no memory */
};

/* `request` is the payload of a PD_WIRE_RUN; calls of the program go over `fd`. Sends none of the
 * ends itself. When its time is up the process ends by SIGALRM, a second after the agent has lost
 * patience. */
void pd_program_sandbox_run(int fd, const char *request, size_t len,
                            struct pd_sandbox_end *ret_end);

#endif
