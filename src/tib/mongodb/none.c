/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the MongoDB backend where libmongoc was not there at build time. */
#include "tib/mongodb/mongodb.h"

static int refuse(const char *location, enum pd_tib_mode mode, const struct pd_tib_config *config,
                  struct pd_tib **ret_tib, struct pd_error *error)
{
    (void)location;
    (void)mode;
    (void)config;
    (void)ret_tib;
    return pd_fail(error, -PD_E_UNSUPPORTED,
                   "mongodb://: built without libmongoc (Debian: libmongoc-dev)");
}

const struct pd_tib_ops pd_mongo_ops = {.scheme = "mongodb", .open = refuse};
