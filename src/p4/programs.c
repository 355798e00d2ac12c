/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the manifest of compiled programs. */
#include "p4/programs.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHA256_BYTES 32
#define MANIFEST     "compiled/manifest.json"

/* ---- where they are */

static bool try_folder(const char *folder, char *ret_folder, size_t room)
{
    char file[PATH_MAX];
    int len = snprintf(file, sizeof file, "%s/" MANIFEST, folder);
    if ((size_t)len >= sizeof file || access(file, R_OK)) {
        return false;
    }
    snprintf(ret_folder, room, "%s", folder);
    return true;
}

/* The folder p4 beside which the program was built, or to which it was installed. */
static int find_folder(char *ret_folder, size_t room, struct pd_error *error)
{
    const char *named = getenv("PATHDUMP_P4");
    if (named) {
        return try_folder(named, ret_folder, room)
                   ? 0
                   : pd_fail(error, -PD_E_NOT_FOUND, "PATHDUMP_P4: %.300s/" MANIFEST ": %s", named,
                             strerror(errno));
    }
    if (try_folder(PD_P4_SOURCES, ret_folder, room) ||
        try_folder(PD_P4_INSTALLED, ret_folder, room)) {
        return 0;
    }
    return pd_fail(error, -PD_E_NOT_FOUND,
                   "no compiled programs in " PD_P4_INSTALLED " (PATHDUMP_P4 names a folder)");
}

/* ---- what has changed */

static bool hash_file(const char *file, char ret_text[2 * SHA256_BYTES + 1])
{
    gnutls_hash_hd_t hash;
    uint8_t block[65536], digest[SHA256_BYTES];
    FILE *in = fopen(file, "re");
    size_t got;
    if (!in) {
        return false;
    }
    if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA256)) {
        fclose(in);
        return false;
    }
    while ((got = fread(block, 1, sizeof block, in))) {
        gnutls_hash(hash, block, got);
    }
    gnutls_hash_deinit(hash, digest);
    fclose(in);
    for (int i = 0; i < SHA256_BYTES; i++) {
        snprintf(ret_text + 2 * i, 3, "%02x", digest[i]);
    }
    return true;
}

/* Files are named from the folder above. */
static bool differs(const char *folder, const char *file, const char *sha256, bool needed)
{
    char path[PATH_MAX], text[2 * SHA256_BYTES + 1];
    int len = snprintf(path, sizeof path, "%s/../%s", folder, file);
    if ((size_t)len >= sizeof path || !hash_file(path, text)) {
        return needed;
    }
    return !sha256 || strcmp(text, sha256) != 0;
}

/* Where there are no sources, as behind an installation, they cannot be newer. */
static bool is_stale(const char *folder, const json_t *entry)
{
    json_t *sources = json_object_get(entry, "sources"), *value;
    const char *file = json_string_value(json_object_get(entry, "file")), *source;
    bool stale =
        file && differs(folder, file, json_string_value(json_object_get(entry, "sha256")), true);
    json_object_foreach(sources, source, value)
    {
        stale |= differs(folder, source, json_string_value(value), false);
    }
    return stale;
}

/* ---- the list */

static int read_entry(struct pd_p4_programs *programs, const json_t *entry, struct pd_error *error)
{
    struct pd_p4_program program = {
        .name = json_string_value(json_object_get(entry, "name")),
        .target = json_string_value(json_object_get(entry, "target")),
        .file = json_string_value(json_object_get(entry, "file")),
        .sha256 = json_string_value(json_object_get(entry, "sha256")),
        .compiler = json_string_value(json_object_get(entry, "compiler")),
        .sets = json_object_get(entry, "sets"),
    };
    if (!program.name || !program.target || !program.file || !program.sha256) {
        return pd_fail(error, -PD_E_VALUE,
                       "%.300s/" MANIFEST ": programs[%zu]: expects name, target, file and sha256",
                       programs->folder, programs->len);
    }
    program.stale = is_stale(programs->folder, entry);
    programs->programs[programs->len++] = program;
    return 0;
}

int pd_p4_programs_read(struct pd_p4_programs *ret_programs, struct pd_error *error)
{
    struct pd_p4_programs programs = {.len = 0};
    char file[PATH_MAX];
    json_error_t words;
    int err = find_folder(programs.folder, sizeof programs.folder, error);
    if (err) {
        return err;
    }
    snprintf(file, sizeof file, "%.4000s/" MANIFEST, programs.folder);
    programs.manifest = json_load_file(file, JSON_REJECT_DUPLICATES, &words);
    const json_t *list = json_object_get(programs.manifest, "programs");
    if (!json_is_array(list)) {
        json_decref(programs.manifest);
        return pd_fail(error, -PD_E_SYNTAX, "%.300s: no manifest: %s", file, words.text);
    }
    programs.programs = calloc(json_array_size(list) + 1, sizeof *programs.programs);
    err = programs.programs ? 0 : pd_fail(error, -ENOMEM, "no memory");
    for (size_t i = 0; i < json_array_size(list) && !err; i++) {
        err = read_entry(&programs, json_array_get(list, i), error);
    }
    if (err) {
        pd_p4_programs_done(&programs);
        return err;
    }
    *ret_programs = programs;
    return 0;
}

void pd_p4_programs_done(struct pd_p4_programs *programs)
{
    free(programs->programs);
    json_decref(programs->manifest);
    programs->programs = NULL;
    programs->manifest = NULL;
}

static int find(const struct pd_p4_programs *programs, const char *set, const char *target,
                char *file, size_t room, struct pd_error *error)
{
    char known[300] = "";
    size_t len = 0;
    for (size_t i = 0; i < programs->len; i++) {
        const struct pd_p4_program *program = &programs->programs[i];
        if (strcmp(program->target, target) != 0) {
            continue;
        }
        if (!strcmp(program->name, set)) {
            snprintf(file, room, "%s/../%s", programs->folder, program->file);
            return 0;
        }
        if (len < sizeof known) {
            len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", len ? ", " : "",
                                    program->name);
        }
    }
    return pd_fail(error, -PD_E_NOT_FOUND, "no program \"%.60s\" for %s; there are: %s", set,
                   target, known);
}

int pd_p4_program_file(const char *set, const char *target, char *file, size_t room,
                       struct pd_error *error)
{
    struct pd_p4_programs programs;
    int err = pd_p4_programs_read(&programs, error);
    if (err) {
        return err;
    }
    err = find(&programs, set, target, file, room, error);
    pd_p4_programs_done(&programs);
    return err;
}
