/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing keys and certificates, whole or not at all. */
#include "cli/ca_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int pd_cli_ca_fail(struct pd_error *error, const char *what, int result)
{
    return pd_fail(error, result == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -PD_E_VALUE, "%s: %s", what,
                   gnutls_strerror(result));
}

void pd_cli_ca_path(const struct pd_ca *ca, const char *file, const char *suffix,
                    char path[PD_CA_PATH_BYTES])
{
    snprintf(path, PD_CA_PATH_BYTES, "%s/%.200s%s", ca->folder, file, suffix);
}

static int write_all(int fd, const gnutls_datum_t *text)
{
    for (unsigned at = 0; at < text->size;) {
        ssize_t n = write(fd, text->data + at, text->size - at);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        at += n > 0 ? (unsigned)n : 0;
    }
    return fsync(fd) ? -errno : 0;
}

/* Under another name first. */
int pd_cli_ca_write_file(const char *path, mode_t mode, const gnutls_datum_t *text,
                         struct pd_error *error)
{
    char draft[PD_CA_PATH_BYTES + 8];
    snprintf(draft, sizeof draft, "%s.new", path);
    unlink(draft);
    int fd = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, mode);
    int err = fd < 0 ? -errno : write_all(fd, text);
    if (fd >= 0 && close(fd) && !err) {
        err = -errno;
    }
    if (!err && rename(draft, path)) {
        err = -errno;
    }
    if (err) {
        unlink(draft);
        return pd_fail(error, err, "%.300s: %s", path, pd_error_text(err));
    }
    return 0;
}

/* -ENOENT without words when there is none. */
int pd_cli_ca_read_file(const char *path, gnutls_datum_t *ret_text, struct pd_error *error)
{
    int result;
    if (access(path, F_OK)) {
        return -ENOENT;
    }
    result = gnutls_load_file(path, ret_text);
    return result < 0 ? pd_fail(error, -EIO, "%.300s: cannot be read", path) : 0;
}

int pd_cli_ca_write_key(struct pd_ca *ca, const char *file, gnutls_x509_privkey_t key,
                        struct pd_error *error)
{
    char path[PD_CA_PATH_BYTES];
    gnutls_datum_t text;
    int result =
        gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &text);
    if (result < 0) {
        return pd_cli_ca_fail(error, file, result);
    }
    pd_cli_ca_path(ca, file, ".key", path);
    int err = pd_cli_ca_write_file(path, 0600, &text, error);
    gnutls_memset(text.data, 0, text.size);
    gnutls_free(text.data);
    return err;
}

int pd_cli_ca_write_crt(struct pd_ca *ca, const char *file, gnutls_x509_crt_t crt,
                        struct pd_error *error)
{
    char path[PD_CA_PATH_BYTES];
    gnutls_datum_t text;
    int result = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &text);
    if (result < 0) {
        return pd_cli_ca_fail(error, file, result);
    }
    pd_cli_ca_path(ca, file, ".pem", path);
    int err = pd_cli_ca_write_file(path, 0644, &text, error);
    gnutls_free(text.data);
    return err;
}

int pd_cli_ca_read_crt(struct pd_ca *ca, const char *file, gnutls_x509_crt_t *ret_crt,
                       struct pd_error *error)
{
    char path[PD_CA_PATH_BYTES];
    gnutls_datum_t text;
    pd_cli_ca_path(ca, file, ".pem", path);
    int err = pd_cli_ca_read_file(path, &text, error);
    if (err) {
        return err;
    }
    int result = gnutls_x509_crt_init(ret_crt);
    if (result >= 0 &&
        (result = gnutls_x509_crt_import(*ret_crt, &text, GNUTLS_X509_FMT_PEM)) < 0) {
        gnutls_x509_crt_deinit(*ret_crt);
    }
    gnutls_free(text.data);
    return result < 0 ? pd_cli_ca_fail(error, path, result) : 0;
}

int pd_cli_ca_read_key(struct pd_ca *ca, const char *file, gnutls_x509_privkey_t *ret_key,
                       struct pd_error *error)
{
    char path[PD_CA_PATH_BYTES];
    gnutls_datum_t text;
    pd_cli_ca_path(ca, file, ".key", path);
    int err = pd_cli_ca_read_file(path, &text, error);
    if (err) {
        return err;
    }
    int result = gnutls_x509_privkey_init(ret_key);
    if (result >= 0 &&
        (result = gnutls_x509_privkey_import(*ret_key, &text, GNUTLS_X509_FMT_PEM)) < 0) {
        gnutls_x509_privkey_deinit(*ret_key);
    }
    gnutls_memset(text.data, 0, text.size);
    gnutls_free(text.data);
    return result < 0 ? pd_cli_ca_fail(error, path, result) : 0;
}
