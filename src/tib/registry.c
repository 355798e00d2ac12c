/* SPDX-License-Identifier: Apache-2.0 */
/* The list of TIB backends. */
#include "tib/lmdb/lmdb.h"
#include "tib/mongodb/load.h"
#include "tib/tib.h"

const struct pd_tib_ops *const pd_tib_backends[] = {&pd_store_ops, &pd_mongo_loader_ops, NULL};
