/* SPDX-License-Identifier: Apache-2.0 */
/* What makes the backend a module: the name that load.c asks for, taken out of the library. */
#include "tib/mongodb/mongodb.h"

const void *pd_mongodb_module(void);

const void *pd_mongodb_module(void)
{
    return &pd_mongodb_ops;
}
