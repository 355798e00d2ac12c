/* SPDX-License-Identifier: Apache-2.0 */
/* The list of TIB backends. */
#include "pd_extensions.h"
#include "tib/lmdb/lmdb.h"
#include "tib/mongodb/load.h"
#include "tib/tib.h"

#define X(symbol) extern const struct pd_tib_ops symbol;
PD_EXTENSION_STORE(X)
#undef X

const struct pd_tib_ops *const pd_tib_backends[] = {
    &pd_lmdb_store_ops,
    &pd_mongodb_loader_ops,
#define X(symbol) &(symbol),
    PD_EXTENSION_STORE(X)
#undef X
        NULL,
};
