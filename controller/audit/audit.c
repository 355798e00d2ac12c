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

/* Changes, and what changed nothing: each has files of its own. */
enum kind { CHANGES, ASKED, KINDS };

static const char *const names[KINDS] = {"audit", "asked"};

struct series {
    int fd;         /* of the newest file */
    uint64_t bytes; /* of it */
};

struct pd_audit {
    char *directory;
    pthread_mutex_t lock; /* of what follows */
    struct series series[KINDS];
    bool broken; /* the last line could not be written */
    uint64_t last_us;
};

/* ---- files ---- */

static void name_file(const struct pd_audit *audit, enum kind kind, unsigned i, char *name,
                      size_t size)
{
    if (i) {
        snprintf(name, size, "%s/%s.%u.jsonl", audit->directory, names[kind], i);
    } else {
        snprintf(name, size, "%s/%s.jsonl", audit->directory, names[kind]);
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

static int open_newest(struct pd_audit *audit, enum kind kind)
{
    struct series *series = &audit->series[kind];
    char name[4096];
    struct stat now;

    name_file(audit, kind, 0, name, sizeof name);
    series->fd = open_file(name, O_WRONLY | O_APPEND | O_CREAT, &now);
    if (series->fd < 0) {
        return series->fd;
    }
    series->bytes = (uint64_t)now.st_size;
    return 0;
}

/* What cannot be renamed goes on growing. */
static void rotate(struct pd_audit *audit, enum kind kind)
{
    char from[4096], to[4096];

    for (unsigned i = PD_AUDIT_FILES - 1; i > 0; i--) {
        name_file(audit, kind, i - 1, from, sizeof from);
        name_file(audit, kind, i, to, sizeof to);
        (void)rename(from, to);
    }
    close(audit->series[kind].fd);
    int err = open_newest(audit, kind);
    if (err) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%s: %s", audit->directory, strerror(-err));
    }
}

/* Room that is kept for the next line, without growing the file. */
static int make_room(struct pd_audit *audit, enum kind kind)
{
    const struct series *series = &audit->series[kind];
    int err = 0;

    if (series->fd < 0) {
        err = open_newest(audit, kind);
    }
    if (!err &&
        fallocate(series->fd, FALLOC_FL_KEEP_SIZE, (off_t)series->bytes, PD_AUDIT_LINE_BYTES)) {
        err = errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
    }
    return err;
}

int pd_audit_open(const char *directory, struct pd_audit **ret_audit, struct pd_error *error)
{
    struct pd_audit *audit = calloc(1, sizeof *audit);
    int err = audit && (audit->directory = strdup(directory)) ? 0 : -ENOMEM;

    if (!err) {
        audit->series[CHANGES].fd = audit->series[ASKED].fd = -1;
        pthread_mutex_init(&audit->lock, NULL);
        err = mkdir(directory, DIRECTORY) && errno != EEXIST ? -errno : 0;
        err = err ? err : open_newest(audit, CHANGES);
        err = err ? err : open_newest(audit, ASKED);
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
        for (size_t i = 0; i < KINDS; i++) {
            if (audit->series[i].fd >= 0) {
                close(audit->series[i].fd);
            }
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

static int append(struct pd_audit *audit, enum kind kind, const char *line)
{
    struct series *series = &audit->series[kind];
    size_t len = strlen(line);
    char *whole;
    int err = make_room(audit, kind);

    if (err || asprintf(&whole, "%s\n", line) < 0) {
        return -PD_E_FULL;
    }
    ssize_t n = write(series->fd, whole, len + 1);
    if (n != (ssize_t)(len + 1)) {
        err = n > 0 && ftruncate(series->fd, (off_t)series->bytes) ? -errno : -PD_E_FULL;
    }
    free(whole);
    if (err) {
        return -PD_E_FULL;
    }
    series->bytes += len + 1;
    if (series->bytes >= PD_AUDIT_FILE_BYTES) {
        rotate(audit, kind);
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
    err = line ? append(audit, entry->changes ? CHANGES : ASKED, line) : -PD_E_FULL;
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
                                              .changes = true,
                                              .outcome = "lines before this one were lost"};
    int err;

    pthread_mutex_lock(&audit->lock);
    err = audit->broken ? write_locked(audit, &gap) : make_room(audit, CHANGES);
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

static void read_series(struct pd_audit *audit, enum kind kind, struct ring *ring, uint64_t from_us,
                        uint64_t to_us)
{
    char name[4096];

    for (unsigned i = PD_AUDIT_FILES; i-- > 0;) {
        name_file(audit, kind, i, name, sizeof name);
        read_file(name, ring, from_us, to_us);
    }
}

static json_int_t time_of(const struct ring *ring, size_t at)
{
    return json_integer_value(json_object_get(ring->entries[at % ring->most], "time_us"));
}

/* The entries of both by time; the newest `most`. */
static void merge(struct ring *rings, size_t most, json_t *list)
{
    size_t at[KINDS], len = 0;

    for (size_t i = 0; i < KINDS; i++) {
        at[i] = rings[i].len > most ? rings[i].len - most : 0;
        len += rings[i].len - at[i];
    }
    for (; len; len--) {
        size_t next =
            at[CHANGES] == rings[CHANGES].len ||
                    (at[ASKED] < rings[ASKED].len &&
                     time_of(&rings[ASKED], at[ASKED]) < time_of(&rings[CHANGES], at[CHANGES]))
                ? ASKED
                : CHANGES;
        json_t *entry = rings[next].entries[at[next]++ % most];

        if (len > most) {
            json_decref(entry);
        } else {
            json_array_append_new(list, entry);
        }
    }
}

json_t *pd_audit_read(struct pd_audit *audit, uint64_t from_us, uint64_t to_us, size_t most)
{
    struct ring rings[KINDS] = {[CHANGES] = {.most = most}, [ASKED] = {.most = most}};
    json_t *list = json_array();

    rings[CHANGES].entries = calloc(most, sizeof(void *));
    rings[ASKED].entries = calloc(most, sizeof(void *));
    if (rings[CHANGES].entries && rings[ASKED].entries && list) {
        pthread_mutex_lock(&audit->lock);
        read_series(audit, CHANGES, &rings[CHANGES], from_us, to_us);
        read_series(audit, ASKED, &rings[ASKED], from_us, to_us);
        pthread_mutex_unlock(&audit->lock);
        merge(rings, most, list);
    } else {
        json_decref(list);
        list = NULL;
    }
    free(rings[CHANGES].entries);
    free(rings[ASKED].entries);
    return list ? json_pack("{s:o}", "entries", list) : NULL;
}
