/* SPDX-License-Identifier: Apache-2.0 */
/* Files out of a table or a folder, with their versions. */
#include "http/files.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_BYTES 16 /* of SHA-256 */
#define VERSION_TEXT  (2 * VERSION_BYTES + 1)

struct pd_files {
    const struct pd_file *table;
    size_t len;
    int folder; /* -1: the table */
    char (*versions)[VERSION_TEXT];
};

/* ---- names ---- */

static const char *type_of(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {.ending = ".html", .type = "text/html; charset=utf-8"},
        {.ending = ".js", .type = "text/javascript; charset=utf-8"},
        {.ending = ".css", .type = "text/css; charset=utf-8"},
        {.ending = ".svg", .type = "image/svg+xml"},
    };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++) {
        if (!strcmp(dot, types[i].ending)) {
            return types[i].type;
        }
    }
    return NULL;
}

static bool is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

    for (int words = 0; words < 2; words++) {
        size_t len = strspn(name, letters);

        if (!len || *name == '.') {
            return false;
        }
        if (!name[len]) {
            return true;
        }
        if (name[len] != '/') {
            return false;
        }
        name += len + 1;
    }
    return false;
}

/* ---- versions ---- */

static int make_version(const char *bytes, size_t len, char ret_version[VERSION_TEXT])
{
    uint8_t digest[32];

    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes, len, digest)) {
        return -EIO;
    }
    for (int i = 0; i < VERSION_BYTES; i++) {
        sprintf(ret_version + 2 * i, "%02x", digest[i]);
    }
    return 0;
}

/* ---- opening ---- */

static int version_table(struct pd_files *files)
{
    int err = 0;

    while (files->table[files->len].name) {
        files->len++;
    }
    files->versions = calloc(files->len + 1, sizeof *files->versions);
    if (!files->versions) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < files->len && !err; i++) {
        const struct pd_file *file = &files->table[i];

        err = make_version(file->bytes, (size_t)(file->end - file->bytes), files->versions[i]);
    }
    return err;
}

int pd_http_files_open(const struct pd_file *table, const char *folder, struct pd_files **ret_files,
                       struct pd_error *error)
{
    struct pd_files *files = calloc(1, sizeof *files);
    int err = 0;

    if (!files) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    files->table = table;
    files->folder = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder && files->folder < 0) {
        err = -errno;
        pd_fail(error, err, "%s: %s", folder, pd_error_text(err));
    } else if ((err = version_table(files))) {
        pd_fail(error, err, "%s", pd_error_text(err));
    }
    if (err) {
        pd_http_files_close(files);
        return err;
    }
    *ret_files = files;
    return 0;
}

void pd_http_files_close(struct pd_files *files)
{
    if (files) {
        if (files->folder >= 0) {
            close(files->folder);
        }
        free(files->versions);
        free(files);
    }
}

/* ---- answering ---- */

static int answer_row(const struct pd_files *files, size_t row,
                      const struct pd_http_request *request, struct pd_answer *answer)
{
    const struct pd_file *file = &files->table[row];
    bool packed = pd_http_answer_gzip_accepted(request->accept_encoding);

    if (pd_http_answer_version(answer, files->versions[row], request->if_none_match)) {
        return 0;
    }
    if (!packed) {
        return pd_http_answer_write(answer, file->bytes, (size_t)(file->end - file->bytes));
    }
    answer->encoding = "gzip";
    return pd_http_answer_write(answer, file->packed, (size_t)(file->packed_end - file->packed));
}

/* Reads all of it. A link is not followed: it could lead anywhere. */
static int read_file(int folder, const char *name, char **ret_bytes, size_t *ret_len)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat stat;
    char *bytes = NULL;
    ssize_t len = -1;
    int err = 0;

    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? -PD_E_NOT_FOUND : -errno;
    }
    if (fstat(fd, &stat) || !S_ISREG(stat.st_mode)) {
        err = -PD_E_NOT_FOUND;
    } else if ((uint64_t)stat.st_size > PD_FILE_MAX_BYTES) {
        err = -PD_E_TOO_LARGE;
    } else if (!(bytes = malloc((size_t)stat.st_size + 1))) {
        err = -ENOMEM;
    } else if ((len = read(fd, bytes, (size_t)stat.st_size)) < 0) {
        err = -errno;
    }
    close(fd);
    if (err) {
        free(bytes);
        return err;
    }
    *ret_bytes = bytes;
    *ret_len = (size_t)len;
    return 0;
}

static int answer_from_folder(const struct pd_files *files, const char *name,
                              const struct pd_http_request *request, struct pd_answer *answer)
{
    char version[VERSION_TEXT];
    char *bytes = NULL;
    size_t len = 0;
    int err = read_file(files->folder, name, &bytes, &len);

    if (err) {
        return err;
    }
    err = make_version(bytes, len, version);
    if (!err && !pd_http_answer_version(answer, version, request->if_none_match)) {
        err = pd_http_answer_write(answer, bytes, len);
    }
    free(bytes);
    return err;
}

static size_t find_row(const struct pd_files *files, const char *name)
{
    size_t row = 0;

    while (row < files->len && strcmp(files->table[row].name, name) != 0) {
        row++;
    }
    return row;
}

int pd_http_files_answer(const struct pd_files *files, const char *name,
                         const struct pd_http_request *request, struct pd_answer *answer,
                         struct pd_problem *problem)
{
    const char *type = is_name(name) ? type_of(name) : NULL;
    size_t row = find_row(files, name);
    int err = -PD_E_NOT_FOUND;

    if (type) {
        answer->type = type;
        if (files->folder >= 0) {
            err = answer_from_folder(files, name, request, answer);
        } else if (row < files->len) {
            err = answer_row(files, row, request, answer);
        }
    }
    return err == -PD_E_NOT_FOUND ? pd_fail(&problem->error, err, "there is no such file") : err;
}
