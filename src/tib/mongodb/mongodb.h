/* SPDX-License-Identifier: Apache-2.0 */
/* The backend for MongoDB and FerretDB: one collection of records for many hosts. */
#ifndef PD_TIB_MONGODB_MONGODB_H
#define PD_TIB_MONGODB_MONGODB_H

#include "tib/tib.h"

extern const struct pd_tib_ops pd_mongodb_ops;

#endif
