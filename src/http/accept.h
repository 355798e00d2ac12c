/* SPDX-License-Identifier: Apache-2.0 */
/* Content negotiation: which of the forms that there are a client would like best. */
#ifndef PD_HTTP_ACCEPT_H
#define PD_HTTP_ACCEPT_H

#include <stddef.h>

#include "base/error.h"

/* RFC 9110, 12.5.1: media ranges with weights; the most specific range that fits a type decides its
 * weight, of equal weights the first offer wins. Parameters other than q are read over.
 *
 * Thread safety: pure. */

/* `accept`: the header, or NULL: everything is welcome. 0, or -PD_E_NOT_ACCEPTABLE with the types
 * that there are. */
int pd_http_accept_choose(const char *accept, const char *const *types, size_t types_len,
                          size_t *ret_index, struct pd_error *error);

#endif
