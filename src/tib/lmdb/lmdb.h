/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB + columnar segments backend, for registry.c. */
#ifndef PD_TIB_LMDB_LMDB_H
#define PD_TIB_LMDB_LMDB_H

#include "tib/tib.h"

extern const struct pd_tib_ops pd_lmdb_store_ops;

#endif
