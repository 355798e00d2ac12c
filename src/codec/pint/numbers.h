/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of known paths: what stands in a record's mark once its digests are folded. */
#ifndef PD_CODEC_PINT_NUMBERS_H
#define PD_CODEC_PINT_NUMBERS_H

#include "codec/pint/search.h"

/* A flow's digests become a path once; from then on its records carry the path's number, which
 * any thread turns back into switch IDs. Numbers are given once per process and stay, also when
 * another topology is taken over.
 *
 * Thread safety: any thread; one lock inside, held for a look-up. */

#define PD_PINT_NUMBERS_MAX (1u << 20)

/* The path's number, from 1; 0: no room for another path. */
uint32_t pd_pint_number_of(const struct pd_pint_path *path);

/* False: no path has this number. */
bool pd_pint_number_path(uint64_t number, struct pd_pint_path *ret_path);

#endif
