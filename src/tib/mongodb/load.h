/* SPDX-License-Identifier: Apache-2.0 */
/* The MongoDB backend as the list of backends has it: its module is loaded when a location asks for
 * it. */
#ifndef PD_TIB_MONGODB_LOAD_H
#define PD_TIB_MONGODB_LOAD_H

#include "tib/tib.h"

/* libmongoc makes a file of shared memory in every process that starts with it, and complains when
 * an ended process of that number has left one. So programs are not linked with it:
 * pathdump-mongodb.so is looked for beside the program, one folder above it, and where it was
 * installed. Without it, opening fails with -PD_E_UNSUPPORTED and says so. It stays loaded. Any
 * thread may open. */
extern const struct pd_tib_ops pd_mongodb_loader_ops;

#endif
