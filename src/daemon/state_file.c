/* SPDX-License-Identifier: Apache-2.0 */
/* Reading with suspicion, writing through a rename. */
#include "daemon/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

static int fail_file(struct pd_error *error, const char *file, const char *verb)
{
    int err = -errno;

    return pd_fail(error, err, "%.200s: cannot be %s: %s", file, verb, strerror(-err));
}

static int read_all(int fd, const char *file, size_t max_bytes, char **ret_bytes, size_t *ret_len,
                    struct pd_error *error)
{
    struct stat about;
    size_t len = 0;
    char *bytes;

    if (fstat(fd, &about)) {
        return fail_file(error, file, "read");
    }
    if (!S_ISREG(about.st_mode) || (uint64_t)about.st_size > max_bytes) {
        return pd_fail(error, -PD_E_CORRUPT, "%.200s: no file of at most %zu bytes", file,
                       max_bytes);
    }
    bytes = malloc((size_t)about.st_size + 1);
    if (!bytes) {
        return pd_fail(error, -ENOMEM, "%.200s: no memory", file);
    }
    while (len < (size_t)about.st_size) {
        ssize_t n = read(fd, bytes + len, (size_t)about.st_size - len);

        if (n < 0 && errno != EINTR) {
            free(bytes);
            return fail_file(error, file, "read");
        }
        if (n == 0) {
            break;
        }
        len += n > 0 ? (size_t)n : 0;
    }
    *ret_bytes = bytes;
    *ret_len = len;
    return 0;
}

static int parse(const char *file, int version, const char *bytes, size_t len,
                 json_t **ret_document, struct pd_error *error)
{
    json_error_t where;
    json_t *document = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &where), *found;

    if (!document) {
        return pd_fail(error, -PD_E_CORRUPT, "%.200s: line %d: %.100s", file, where.line,
                       where.text);
    }
    found = json_object_get(document, "version");
    if (!json_is_integer(found) || json_integer_value(found) != version) {
        json_decref(document);
        return pd_fail(error, -PD_E_CORRUPT, "%.200s: no document of version %d", file, version);
    }
    *ret_document = document;
    return 0;
}

static void set_aside(const char *file, struct pd_error *error)
{
    char aside[PATH_MAX], words[sizeof error->text];

    if (snprintf(aside, sizeof aside, "%s.damaged", file) >= (int)sizeof aside ||
        rename(file, aside)) {
        return;
    }
    snprintf(words, sizeof words, "%.400s; kept as %.80s", error->text,
             strrchr(aside, '/') ? strrchr(aside, '/') + 1 : aside);
    memcpy(error->text, words, sizeof error->text);
}

int pd_daemon_state_read(const char *file, int version, size_t max_bytes, json_t **ret_document,
                         struct pd_error *error)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), e;
    struct pd_error why = {0};
    size_t len = 0;
    char *bytes = NULL;

    if (fd < 0 && errno == ENOENT) {
        *ret_document = NULL;
        return 0;
    }
    if (fd < 0) {
        return fail_file(error, file, "read");
    }
    e = read_all(fd, file, max_bytes, &bytes, &len, &why);
    if (!e) {
        e = parse(file, version, bytes, len, ret_document, &why);
    }
    if (e == -PD_E_CORRUPT) {
        set_aside(file, &why);
    }
    free(bytes);
    close(fd);
    return e ? pd_fail(error, e, "%s", why.text) : 0;
}

/* ---- writing ---- */

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) ? -errno : 0;
}

/* The rename itself lies in the folder. */
static int sync_folder(const char *file)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    int fd, err;

    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file + 1) : 1,
             slash ? file : ".");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    err = fsync(fd) ? -errno : 0;
    close(fd);
    return err;
}

static int replace(const char *file, const char *bytes, size_t len)
{
    char fresh[PATH_MAX];
    int fd, err;

    if (snprintf(fresh, sizeof fresh, "%s.new", file) >= (int)sizeof fresh) {
        return -ENAMETOOLONG;
    }
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    err = write_all(fd, bytes, len);
    close(fd);
    if (!err && rename(fresh, file)) {
        err = -errno;
    }
    if (err) {
        unlink(fresh);
        return err;
    }
    return sync_folder(file);
}

int pd_daemon_state_write(const char *file, const json_t *document, struct pd_error *error)
{
    char *bytes = json_dumps(document, JSON_INDENT(1));
    int err = bytes ? replace(file, bytes, strlen(bytes)) : -ENOMEM;

    free(bytes);
    return err ? pd_fail(error, err, "%.200s: cannot be written: %s", file, pd_error_text(err)) : 0;
}
