/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the module of the MongoDB backend. */
#include "tib/mongodb/load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MODULE "pathdump-mongodb.so"

/* Folder of the running program, with the final slash; "" when it is not known. */
static void find_folder(char folder[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    char *slash = len > 0 ? memrchr(folder, '/', (size_t)len) : NULL;
    *(slash ? slash + 1 : folder) = '\0';
}

static void *load(void)
{
    char folder[PATH_MAX], places[3][PATH_MAX + 32];
    void *module = NULL;
    find_folder(folder);
    snprintf(places[0], sizeof places[0], "%s%s", folder, MODULE);
    snprintf(places[1], sizeof places[1], "%s../%s", folder, MODULE);
    snprintf(places[2], sizeof places[2], "%s/%s", PD_MODULES_DIR, MODULE);
    for (unsigned i = *folder ? 0 : 2; i < 3 && !module; i++) {
        if (!access(places[i], R_OK)) {
            module = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
        }
    }
    return module;
}

static int load_and_open(const char *location, enum pd_tib_mode mode,
                         const struct pd_tib_config *config, struct pd_tib **ret_tib,
                         struct pd_error *error)
{
    void *module = load();
    const struct pd_tib_ops *ops = module ? dlsym(module, "pd_mongodb_ops") : NULL;
    const char *why = ops ? NULL : dlerror();
    if (!ops) {
        return pd_fail(error, -PD_E_UNSUPPORTED,
                       "mongodb://: %s is not to be had (built without libmongoc?)%s%.300s", MODULE,
                       why ? ": " : "", why ? why : "");
    }
    return ops->open(location, mode, config, ret_tib, error);
}

const struct pd_tib_ops pd_mongodb_loader_ops = {.scheme = "mongodb", .open = load_and_open};
