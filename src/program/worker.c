/* SPDX-License-Identifier: Apache-2.0 */
/* pathdump-program: the process that runs programs. Its standard input is the socket to the agent,
 * and all that it has. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "program/jail.h"
#include "program/sandbox.h"
#include "program/wire.h"

#define AGENT 0 /* file descriptor */

/* What cannot be sent ends the process; the agent finds the socket closed. */
static void answer(enum pd_program_wire_kind kind, const void *head, size_t head_len,
                   const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (pd_program_wire_send(AGENT, PD_WIRE_FOREVER, kind, head, head_len, text, len)) {
        exit(EXIT_FAILURE);
    }
}

static void run(const struct pd_program_wire_message *message)
{
    struct pd_sandbox_end end;
    pd_program_sandbox_run(AGENT, message->bytes, message->len, &end);
    unsigned char failure = (unsigned char)end.failure;
    if (failure) {
        answer(PD_WIRE_FAILED, &failure, 1, end.text);
    } else {
        answer(PD_WIRE_RESULT, NULL, 0, end.text);
    }
    free(end.text);
}

int main(void)
{
    struct pd_program_wire_message message;
    json_object_seed(0); /* reads /dev/urandom, which is out of reach afterwards */
    if (pd_program_jail_enter()) {
        return EXIT_FAILURE;
    }
    while (!pd_program_wire_receive(AGENT, PD_WIRE_FOREVER, &message)) {
        if (message.kind != PD_WIRE_RUN) {
            return EXIT_FAILURE;
        }
        run(&message);
        free(message.bytes);
    }
    return EXIT_SUCCESS;
}
