/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the files of credentials, and changing them under those who use them. */
#include "http/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/listen.h"
#include "http/principal.h"
#include "http/tls.h"

#define FILE_MAX_BYTES ((off_t)16 << 20)

struct pd_credentials {
    pthread_mutex_t lock; /* over `set` and the numbers of holders */
    struct pd_credentials_set *set;
    uint64_t generation;
};

/* ---- files ---- */

static int read_all(int fd, char *text, size_t bytes)
{
    size_t at = 0;

    while (at < bytes) {
        ssize_t n = read(fd, text + at, bytes - at);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n ? -errno : -PD_E_TRUNCATED;
        }
        at += (size_t)n;
    }
    text[bytes] = '\0';
    return memchr(text, '\0', bytes) ? -PD_E_SYNTAX : 0;
}

static int check_file(int fd, bool secret, struct stat *ret_stat, struct pd_error *error)
{
    if (fstat(fd, ret_stat)) {
        return pd_fail(error, -errno, "%s", strerror(errno));
    }
    if (!S_ISREG(ret_stat->st_mode) || ret_stat->st_size > FILE_MAX_BYTES) {
        return pd_fail(error, -PD_E_VALUE, "is no file, or a file of more than 16 MiB");
    }
    if (secret && ret_stat->st_mode & (S_IRWXO | S_IWGRP | S_IXGRP)) {
        return pd_fail(error, -PD_E_VALUE,
                       "others can get at it (mode %03o): it has to be 0600 or 0640",
                       (unsigned)ret_stat->st_mode & 0777);
    }
    return 0;
}

/* A whole text file; a secret one only when nobody else can read it. NULL stays NULL. */
static int load(const char *file, bool secret, char **ret_text, struct pd_error *error)
{
    struct stat stat_now = {0};
    char *text = NULL;
    int fd, err;

    if (!file) {
        return 0;
    }
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return pd_fail(error, -errno, "%.200s: %s", file, strerror(errno));
    }
    err = check_file(fd, secret, &stat_now, error);
    if (!err) {
        text = malloc((size_t)stat_now.st_size + 1);
        err = text ? read_all(fd, text, (size_t)stat_now.st_size) : -ENOMEM;
        if (err) {
            pd_fail(error, err, "%s", pd_error_text(err));
        }
    }
    close(fd);
    if (err) {
        free(text);
        pd_fail_within(error, file);
    } else {
        *ret_text = text;
    }
    return err;
}

static void wipe(char *text)
{
    if (text) {
        gnutls_memset(text, 0, strlen(text));
    }
    free(text);
}

/* ---- one set ---- */

static int load_tokens(struct pd_credentials_set *set, const char *file, struct pd_error *error)
{
    char *text = NULL;
    int err = load(file, true, &text, error);

    if (err || !text) {
        return err;
    }
    err = pd_http_tokens_parse(text, &set->tokens, error);
    set->has_tokens = !err;
    wipe(text);
    if (err) {
        pd_fail_within(error, file);
    }
    return err;
}

static int load_token_out(struct pd_credentials_set *set, const char *file, struct pd_error *error)
{
    int err = load(file, true, &set->token_out, error);
    size_t bytes;

    if (err || !set->token_out) {
        return err;
    }
    bytes = strcspn(set->token_out, "\r\n");
    if (set->token_out[bytes + strspn(set->token_out + bytes, "\r\n")]) {
        bytes = 0; /* further lines */
    }
    set->token_out[bytes] = '\0';
    for (const char *c = set->token_out; *c; c++) {
        bytes = *c > ' ' && *c <= '~' ? bytes : 0;
    }
    return bytes >= PD_TOKEN_MIN_BYTES && bytes <= PD_TOKEN_MAX_BYTES
               ? 0
               : pd_fail(error, -PD_E_VALUE,
                         "%.200s: expects one line: a token of %d to %d visible ASCII characters",
                         file, PD_TOKEN_MIN_BYTES, PD_TOKEN_MAX_BYTES);
}

/* Its text for clients lies in memory that has a name, for libcurl takes the name of a file. */
static int load_crl(struct pd_credentials_set *set, const struct pd_credentials_files *files,
                    struct pd_error *error)
{
    char *text = NULL;
    int err;

    if (!set->ca) {
        return pd_fail(error, -PD_E_VALUE, "tls-crl: needs --tls-ca, whose lists these are");
    }
    err = load(files->crl, false, &text, error);
    if (!err && (err = pd_http_tls_load_crl(&set->tls, set->ca, text, error))) {
        pd_fail_within(error, files->crl);
    }
    if (!err) {
        set->crl_fd = memfd_create("pathdump-crl", MFD_CLOEXEC);
        if (set->crl_fd < 0 || write(set->crl_fd, text, strlen(text)) != (ssize_t)strlen(text)) {
            err = pd_fail(error, -ENOMEM, "no memory");
        }
        snprintf(set->crl, sizeof set->crl, "/proc/self/fd/%d", set->crl_fd);
    }
    free(text);
    return err;
}

static int load_tls(struct pd_credentials_set *set, const struct pd_credentials_files *files,
                    struct pd_error *error)
{
    int err = 0;

    if (!files->cert != !files->key) {
        return pd_fail(error, -PD_E_VALUE, "tls-cert and tls-key: one needs the other");
    }
    if (files->cert) {
        err = load(files->cert, false, &set->cert, error);
        if (!err) {
            err = load(files->key, true, &set->key, error);
        }
        if (!err && (err = pd_http_tls_load_own(&set->tls, set->cert, set->key, error))) {
            pd_fail_within(error, files->cert);
        }
    }
    if (!err && files->ca) {
        err = load(files->ca, false, &set->ca, error);
        if (!err && (err = pd_http_tls_load_ca(&set->tls, set->ca, error))) {
            pd_fail_within(error, files->ca);
        }
    }
    return err || !files->crl ? err : load_crl(set, files, error);
}

static void free_set(struct pd_credentials_set *set)
{
    pd_http_tls_done(&set->tls);
    pd_http_tokens_done(&set->tokens);
    free(set->cert);
    wipe(set->key);
    free(set->ca);
    if (set->crl_fd >= 0) {
        close(set->crl_fd);
    }
    wipe(set->token_out);
    free(set);
}

/* NULL after an error. */
static struct pd_credentials_set *load_set(const struct pd_credentials_files *files,
                                           struct pd_error *error, int *ret_error)
{
    struct pd_credentials_set *set = calloc(1, sizeof *set);
    int err;

    if (!set) {
        *ret_error = pd_fail(error, -ENOMEM, "no memory");
        return NULL;
    }
    set->crl_fd = -1;
    err = load_tls(set, files, error);
    if (!err) {
        err = load_tokens(set, files->tokens, error);
    }
    if (!err) {
        err = load_token_out(set, files->token_out, error);
    }
    if (!err) {
        return set;
    }
    free_set(set);
    *ret_error = err;
    return NULL;
}

/* ---- now and after ---- */

void pd_http_credentials_put(struct pd_credentials *credentials, struct pd_credentials_set *set)
{
    struct pd_credentials_set *old;

    pthread_mutex_lock(&credentials->lock);
    set->generation = ++credentials->generation;
    old = credentials->set;
    credentials->set = set;
    pthread_mutex_unlock(&credentials->lock);
    pd_http_credentials_drop(old);
}

/* NULL after an error. */
static struct pd_credentials_set *read_set(struct pd_credentials *credentials,
                                           const struct pd_credentials_files *files,
                                           struct pd_error *error, int *ret_error)
{
    struct pd_credentials_set *set = load_set(files, error, ret_error);

    if (set) {
        set->owner = credentials;
        set->holders = 1;
    }
    return set;
}

int pd_http_credentials_new(const struct pd_credentials_files *files,
                            struct pd_credentials **ret_credentials, struct pd_error *error)
{
    struct pd_credentials *credentials = calloc(1, sizeof *credentials);
    struct pd_credentials_set *set;
    int err;

    if (!credentials) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    set = read_set(credentials, files, error, &err);
    if (!set) {
        free(credentials);
        return err;
    }
    pthread_mutex_init(&credentials->lock, NULL);
    pd_http_credentials_put(credentials, set);
    *ret_credentials = credentials;
    return 0;
}

int pd_http_credentials_read(struct pd_credentials *credentials,
                             const struct pd_credentials_files *files,
                             struct pd_credentials_set **ret_set, struct pd_error *error)
{
    int err;
    struct pd_credentials_set *set = read_set(credentials, files, error, &err);

    if (!set) {
        return err;
    }
    if (!set->tls.chain_len != !pd_http_credentials_tls(credentials)) {
        pd_http_credentials_drop(set);
        return pd_fail(error, -PD_E_UNSUPPORTED,
                       "tls-cert: whether TLS is spoken is decided at the start");
    }
    *ret_set = set;
    return 0;
}

void pd_http_credentials_free(struct pd_credentials *credentials)
{
    if (!credentials) {
        return;
    }
    pd_http_credentials_drop(credentials->set);
    pthread_mutex_destroy(&credentials->lock);
    free(credentials);
}

struct pd_credentials_set *pd_http_credentials_hold(struct pd_credentials *credentials)
{
    struct pd_credentials_set *set;

    if (!credentials) {
        return NULL;
    }
    pthread_mutex_lock(&credentials->lock);
    set = credentials->set;
    set->holders++;
    pthread_mutex_unlock(&credentials->lock);
    return set;
}

void pd_http_credentials_drop(struct pd_credentials_set *set)
{
    bool last;

    if (!set) {
        return;
    }
    pthread_mutex_lock(&set->owner->lock);
    last = !--set->holders;
    pthread_mutex_unlock(&set->owner->lock);
    if (last) {
        free_set(set);
    }
}

/* ---- a server ---- */

bool pd_http_credentials_open(const struct pd_credentials_set *set)
{
    return !set || (!set->has_tokens && !set->tls.chain_len);
}

bool pd_http_credentials_tls(struct pd_credentials *credentials)
{
    struct pd_credentials_set *set = pd_http_credentials_hold(credentials);
    bool tls = set && set->tls.chain_len;

    pd_http_credentials_drop(set);
    return tls;
}

int pd_http_credentials_check_listen(const struct pd_credentials_files *files, const char *listen,
                                     struct pd_error *error)
{
    if (!files->cert) {
        return pd_http_listen_check(listen, error);
    }
    if (!files->ca && !files->tokens && strncmp(listen, "unix:", 5) != 0) {
        return pd_fail(error, -PD_E_VALUE,
                       "tls-cert: nobody could be let in: give --tls-ca for client certificates, "
                       "--token-file for tokens, or both");
    }
    return pd_http_listen_check_tls(listen, error);
}
