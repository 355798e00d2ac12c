/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that tests made. */
#ifndef PD_TESTS_SHARED_FOLDER_H
#define PD_TESTS_SHARED_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static inline int folder_remove_one(const char *path, const struct stat *of, int flag,
                                    struct FTW *at)
{
    (void)of;
    (void)flag;
    (void)at;
    return remove(path);
}

/* With all that is in it. 0, or what nftw() says. */
static inline int folder_remove(const char *folder)
{
    return nftw(folder, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
