/* SPDX-License-Identifier: Apache-2.0 */
/* What all answers together may take that wait for their readers. */
#ifndef PD_HTTP_BUDGET_H
#define PD_HTTP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Answers in files and in memory count alike. Nothing goes to the disk beyond a twentieth of what
 * is free there, looked at again every second.
 *
 * Thread safety: all functions may be called from any thread. */

struct pd_http_budget;

#define PD_HTTP_BUDGET_BYTES (UINT64_C(256) << 20) /* when nothing else is said */

struct pd_http_budget *pd_http_budget_new(uint64_t bytes); /* NULL without memory */
void pd_http_budget_free(struct pd_http_budget *budget);   /* NULL is fine */

/* All of it, or false; on the disk, or in memory. */
bool pd_http_budget_take(struct pd_http_budget *budget, uint64_t bytes, bool on_disk);
void pd_http_budget_give(struct pd_http_budget *budget, uint64_t bytes);

uint64_t pd_http_budget_taken(struct pd_http_budget *budget);

#endif
