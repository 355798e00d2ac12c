/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled switch programs: which there are, and whether their sources have changed since. */
#ifndef PD_P4_PROGRAMS_H
#define PD_P4_PROGRAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Compiled programs are part of the product, with a manifest that names compiler, options and the
 * SHA-256 of each source and result (docs/formats/switch-tables.md). They lie in p4/compiled of a
 * checkout and in share/pathdump/p4 where it is installed; PATHDUMP_P4 names another folder.
 *
 * Thread safety: a list belongs to whoever read it. */

struct pd_p4_program {
    const char *name;     /* the set: "cherrypick+sr-int" */
    const char *target;   /* "pna", "v1model", "tna" */
    const char *file;     /* its path, from the folder above p4/compiled */
    const char *sha256;   /* of that file, as the manifest says */
    const char *compiler; /* NULL: it is not compiled here */
    const json_t *sets;   /* the programs in it */
    bool stale;           /* a source, or the result, is not what the manifest says */
};

struct pd_p4_programs {
    json_t *manifest; /* holds all texts */
    char folder[4096];
    struct pd_p4_program *programs;
    size_t len;
};

/* 0 or a negative error in words. */
int pd_p4_programs_read(struct pd_p4_programs *ret_programs, struct pd_error *error);
void pd_p4_programs_done(struct pd_p4_programs *programs); /* works on a zeroed list, too */

/* The compiled file of a set for a target, into `file`. -PD_E_NOT_FOUND with the sets there are. */
int pd_p4_program_file(const char *set, const char *target, char *file, size_t room,
                       struct pd_error *error);

#endif
