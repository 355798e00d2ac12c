/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the audit. */
#include "controller/audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/text.h"

#define MODULE    "audit"
#define DIRECTORY 0750
#define FILES     0640

struct pd_audit {
    char *directory;
    pthread_mutex_t lock; /* of what follows */
    int fd;               /* of the newest file */
    uint64_t bytes;       /* of it */
    bool broken;          /* the last line could not be written */
    uint64_t last_us;
};

/* ---- files ---- */

static void name_file(const struct pd_audit *audit, unsigned i, char *name, size_t size)
{
    if (i) {
        snprintf(name, size, "%s/audit.%u.jsonl", audit->directory, i);
    } else {
        snprintf(name, size, "%s/audit.jsonl", audit->directory);
    }
}

/* What is no file leads lines elsewhere, or keeps us waiting. The descriptor, or -errno. */
static int open_file(const char *name, int flags, struct stat *ret_now)
{
    int fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, FILES);
    int err = fd < 0 || fstat(fd, ret_now) ? -errno : 0;

    if (!err && !S_ISREG(ret_now->st_mode)) {
        err = -EINVAL;
    }
    if (err && fd >= 0) {
        close(fd);
    }
    return err ? err : fd;
}

static int open_newest(struct pd_audit *audit)
{
    char name[4096];
    struct stat now;

    name_file(audit, 0, name, sizeof name);
    audit->fd = open_file(name, O_WRONLY | O_APPEND | O_CREAT, &now);
    if (audit->fd < 0) {
        return audit->fd;
    }
    audit->bytes = (uint64_t)now.st_size;
    return 0;
}

/* What cannot be renamed goes on growing. */
static void rotate(struct pd_audit *audit)
{
    char from[4096], to[4096];

    for (unsigned i = PD_AUDIT_FILES - 1; i > 0; i--) {
        name_file(audit, i - 1, from, sizeof from);
        name_file(audit, i, to, sizeof to);
        (void)rename(from, to);
    }
    close(audit->fd);
    int err = open_newest(audit);
    if (err) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%s: %s", audit->directory, strerror(-err));
    }
}

/* Room that is kept for the next line, without growing the file. */
static int make_room(struct pd_audit *audit)
{
    int err = 0;

    if (audit->fd < 0) {
        err = open_newest(audit);
    }
    if (!err &&
        fallocate(audit->fd, FALLOC_FL_KEEP_SIZE, (off_t)audit->bytes, PD_AUDIT_LINE_BYTES)) {
        err = errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
    }
    return err;
}

int pd_audit_open(const char *directory, struct pd_audit **ret_audit, struct pd_error *error)
{
    struct pd_audit *audit = calloc(1, sizeof *audit);
    int err = audit && (audit->directory = strdup(directory)) ? 0 : -ENOMEM;

    if (!err) {
        audit->fd = -1;
        pthread_mutex_init(&audit->lock, NULL);
        err = mkdir(directory, DIRECTORY) && errno != EEXIST ? -errno : open_newest(audit);
    }
    if (!err) {
        *ret_audit = audit;
        return 0;
    }
    pd_audit_close(audit);
    return pd_fail(error, err, "%.300s: %s", directory, pd_error_text(err));
}

void pd_audit_close(struct pd_audit *audit)
{
    if (!audit) {
        return;
    }
    if (audit->directory) {
        if (audit->fd >= 0) {
            close(audit->fd);
        }
        pthread_mutex_destroy(&audit->lock);
    }
    free(audit->directory);
    free(audit);
}

/* ---- lines ---- */

static json_t *text_or_null(const char *text)
{
    return text ? pd_http_text_json(text) : json_null();
}

static char *make_line(const struct pd_audit_entry *entry, uint64_t time_us)
{
    json_t *object = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:O, s:O, s:o}", "time_us", (json_int_t)time_us, "who",
        text_or_null(entry->who), "role", text_or_null(entry->role), "address",
        text_or_null(entry->address), "what", text_or_null(entry->what), "detail",
        entry->detail ? entry->detail : json_null(), "hosts",
        entry->hosts ? entry->hosts : json_null(), "outcome", text_or_null(entry->outcome));
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;

    json_decref(object);
    return line;
}

static int append(struct pd_audit *audit, const char *line)
{
    size_t len = strlen(line);
    char *whole;
    int err = make_room(audit);

    if (err || asprintf(&whole, "%s\n", line) < 0) {
        return -PD_E_FULL;
    }
    ssize_t n = write(audit->fd, whole, len + 1);
    if (n != (ssize_t)(len + 1)) {
        err = n > 0 && ftruncate(audit->fd, (off_t)audit->bytes) ? -errno : -PD_E_FULL;
    }
    free(whole);
    if (err) {
        return -PD_E_FULL;
    }
    audit->bytes += len + 1;
    if (audit->bytes >= PD_AUDIT_FILE_BYTES) {
        rotate(audit);
    }
    return 0;
}

/* With the lock. */
static int write_locked(struct pd_audit *audit, const struct pd_audit_entry *entry)
{
    uint64_t now_us = pd_clock_wall_us();
    char *line;
    int err;

    audit->last_us = now_us > audit->last_us ? now_us : audit->last_us + 1;
    line = make_line(entry, audit->last_us);
    err = line ? append(audit, line) : -PD_E_FULL;
    audit->broken = err != 0;
    pd_log(err ? PD_LOG_ERROR : PD_LOG_INFO, MODULE, NULL, "%s%s", err ? "not written: " : "",
           line ? line : "no memory");
    free(line);
    return err;
}

int pd_audit_write(struct pd_audit *audit, const struct pd_audit_entry *entry)
{
    int err;

    pthread_mutex_lock(&audit->lock);
    err = write_locked(audit, entry);
    pthread_mutex_unlock(&audit->lock);
    return err;
}

/* After a line that was lost one that says so has to be written first. */
int pd_audit_reserve(struct pd_audit *audit, struct pd_error *error)
{
    static const struct pd_audit_entry gap = {.who = "controller",
                                              .role = "admin",
                                              .address = "",
                                              .what = "audit",
                                              .outcome = "lines before this one were lost"};
    int err;

    pthread_mutex_lock(&audit->lock);
    err = audit->broken ? write_locked(audit, &gap) : make_room(audit);
    pthread_mutex_unlock(&audit->lock);
    return err ? pd_fail(error, -PD_E_FULL,
                         "nothing is changed while the audit cannot be written: %s",
                         pd_error_text(err))
               : 0;
}

/* ---- reading ---- */

/* The newest entries so far. */
struct ring {
    json_t **entries;
    size_t most, len;
};

static void keep(struct ring *ring, json_t *entry)
{
    json_t **slot = &ring->entries[ring->len++ % ring->most];

    json_decref(*slot);
    *slot = entry;
}

static void read_line(struct ring *ring, const char *line, uint64_t from_us, uint64_t to_us)
{
    json_t *entry = json_loads(line, 0, NULL);
    json_int_t time_us = json_integer_value(json_object_get(entry, "time_us"));

    if (entry && time_us >= 0 && (uint64_t)time_us >= from_us && (uint64_t)time_us <= to_us) {
        keep(ring, entry);
    } else {
        json_decref(entry);
    }
}

/* A file whose last line is older than `from_us` is passed over. */
static void read_file(const char *name, struct ring *ring, uint64_t from_us, uint64_t to_us)
{
    struct stat now;
    int fd = open_file(name, O_RDONLY, &now);
    FILE *file = fd >= 0 ? fdopen(fd, "re") : NULL;
    char *line = NULL;
    size_t size = 0;

    if (!file) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    if (((uint64_t)now.st_mtime + 1) * PD_US_PER_S >= from_us) {
        while (getline(&line, &size, file) > 0) {
            read_line(ring, line, from_us, to_us);
        }
    }
    free(line);
    fclose(file);
}

json_t *pd_audit_read(struct pd_audit *audit, uint64_t from_us, uint64_t to_us, size_t most)
{
    struct ring ring = {.most = most};
    json_t *list = json_array();
    char name[4096];

    ring.entries = calloc(most, sizeof(void *));
    if (!ring.entries || !list) {
        free(ring.entries);
        json_decref(list);
        return NULL;
    }
    pthread_mutex_lock(&audit->lock);
    for (unsigned i = PD_AUDIT_FILES; i-- > 0;) {
        name_file(audit, i, name, sizeof name);
        read_file(name, &ring, from_us, to_us);
    }
    pthread_mutex_unlock(&audit->lock);
    for (size_t i = ring.len > most ? ring.len - most : 0; i < ring.len; i++) {
        json_array_append_new(list, ring.entries[i % most]);
    }
    free(ring.entries);
    return json_pack("{s:o}", "entries", list);
}
