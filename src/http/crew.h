/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that have whole requests answered, one each. */
#ifndef PD_HTTP_CREW_H
#define PD_HTTP_CREW_H

#include <stdbool.h>

/* Threads are made as they are wanted, and go when nothing was there for them for some seconds: an
 * idle daemon has none.
 *
 * Thread safety: all functions may be called from any thread, but the last one. */

struct pd_http_crew;

/* So many pieces of work for each thread may wait for one: bursts of requests that take no time are
 * no reason to refuse any. */
#define PD_HTTP_CREW_WAITING 4u

struct pd_http_crew *pd_http_crew_new(unsigned threads_max); /* NULL without memory */

/* Has it done, in a thread of its own or the first that has time. False: as many wait as may. */
bool pd_http_crew_do(struct pd_http_crew *crew, void (*work)(void *context), void *context);

/* Does something wait for a thread? */
bool pd_http_crew_busy(struct pd_http_crew *crew);

/* Waits until all is done; nothing more is taken. NULL is fine, as below. */
void pd_http_crew_stop(struct pd_http_crew *crew);
void pd_http_crew_free(struct pd_http_crew *crew);

#endif
