/* SPDX-License-Identifier: Apache-2.0 */
/* A body on its way from the thread that makes it to a client that may be slow. */
#ifndef PD_HTTP_PIPE_H
#define PD_HTTP_PIPE_H

#include <microhttpd.h>

#include "http/answer.h"
#include "http/slots.h"

/* The server's thread never waits: when the pipe is empty it sets the connection aside, and the
 * maker wakes it. The maker waits while the pipe is full, for as long as the client takes something
 * now and then; a client that takes nothing for that time is shut down.
 *
 * Two hold it, the maker and the response; the last one frees it. Lock order: the pipe's lock, then
 * those of the library and of the slots. */

struct pd_http_pipe;

#define PD_HTTP_PIPE_BYTES ((size_t)64 * 1024)

/* Of this connection. NULL without memory. */
struct pd_http_pipe *pd_http_pipe_new(struct MHD_Connection *connection,
                                      struct pd_http_slots *slots, struct pd_http_slot *slot);

/* ---- the maker ---- */

/* How long the maker waits for a client that takes nothing: asked a few times a second. */
struct pd_http_patience {
    bool (*over)(void *context, uint64_t waited_ns);
    void *context;
};

/* All of it. -PD_E_EOF: the client has gone; -PD_E_SILENT: it took nothing for too long, and was
 * shut down. */
int pd_http_pipe_write(struct pd_http_pipe *pipe, const char *bytes, size_t len,
                       const struct pd_http_patience *patience);

/* Has the client gone? */
bool pd_http_pipe_gone(struct pd_http_pipe *pipe);

/* The body is over; not whole: the client shall see that it was cut off. Lets the pipe go. */
void pd_http_pipe_end(struct pd_http_pipe *pipe, bool whole);

/* ---- the response ---- */

/* For MHD_create_response_from_callback, with the pipe as their context. */
ssize_t pd_http_pipe_read(void *pipe, uint64_t at, char *buffer, size_t size);
void pd_http_pipe_close(void *pipe);

#endif
