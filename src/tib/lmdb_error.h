/* SPDX-License-Identifier: Apache-2.0 */
/* What LMDB returns, in the project's words; for whoever keeps something in it. */
#ifndef PD_TIB_LMDB_ERROR_H
#define PD_TIB_LMDB_ERROR_H

/* 0 or a negative error; what has to be there and is not: -PD_E_CORRUPT. Pure. */
int pd_tib_lmdb_error(int result);

#endif
