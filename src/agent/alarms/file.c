/* SPDX-License-Identifier: Apache-2.0 */
/* The log on disk: reading what an earlier process left, appending, replacing. */
#include "agent/alarms/file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"
#include "fleet/alarm_message.h"

#define FILE_MODE      0640
#define NAME_BYTES     4096
#define READ_MAX_BYTES (UINT64_C(256) << 20)
/* Bytes taken on the disk beforehand: an alarm about a full disk has room. */
#define SHORT_BYTES (64u * 1024)
#define LONG_BYTES  (256u * 1024)
#define ALIGN       8u

struct pd_alarm_file {
    char name[NAME_BYTES];
    int fd;
    int lock_fd; /* of NAME.lock: the file itself is replaced now and then */
    uint32_t host;
    uint64_t bytes; /* where the next record goes */
    bool unflushed;
};

static uint64_t record_hash(const struct pd_alarm_spool_record *record, const char *text)
{
    size_t from = offsetof(struct pd_alarm_spool_record, spool);
    uint32_t len = le32toh(record->len);
    uint64_t head = XXH3_64bits_withSeed((const char *)record + from, sizeof *record - from,
                                         le32toh(record->magic));

    return XXH3_64bits_withSeed(text, len, head ^ len);
}

static uint64_t padded(uint64_t len)
{
    return (len + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- reading ---- */

static bool header_holds(const char *bytes, size_t len, uint32_t host)
{
    struct pd_alarm_spool_header header;

    if (len < sizeof header) {
        return false;
    }
    memcpy(&header, bytes, sizeof header);
    return !memcmp(header.magic, PD_ALARM_SPOOL_MAGIC, sizeof header.magic) &&
           le64toh(header.xxh3) ==
               XXH3_64bits(bytes, offsetof(struct pd_alarm_spool_header, xxh3)) &&
           le32toh(header.host) == host;
}

/* Length of the record there, or 0 when there is none that holds. */
static size_t record_at(const char *bytes, size_t left, struct pd_alarm_spool_record *ret_record)
{
    struct pd_alarm_spool_record record;
    uint32_t magic, len;

    if (left < sizeof record) {
        return 0;
    }
    memcpy(&record, bytes, sizeof record);
    magic = le32toh(record.magic);
    len = le32toh(record.len);
    if ((magic != PD_ALARM_SPOOL_ALARM && magic != PD_ALARM_SPOOL_ACK) ||
        len > left - sizeof record || (magic == PD_ALARM_SPOOL_ACK && len) ||
        record_hash(&record, bytes + sizeof record) != le64toh(record.xxh3)) {
        return 0;
    }
    *ret_record = record;
    return sizeof record + len;
}

/* The hash holds, so it is what an agent once wrote; whether that was a good one is looked at all
 * the same. */
static int give_alarm(const struct pd_alarm_file_reader *reader,
                      const struct pd_alarm_spool_record *record, const char *text)
{
    uint32_t len = le32toh(record->len);
    json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    struct pd_alarm_message message;
    struct pd_alarm_entry *entry;
    uint64_t seq = 0;
    int err = pd_fleet_alarm_message_read(object, "seq", &message, &seq, NULL);

    json_decref(object);
    if (err || seq != le64toh(record->seq)) {
        return -PD_E_CORRUPT;
    }
    entry = calloc(1, sizeof *entry + len);
    if (!entry) {
        return -ENOMEM;
    }
    entry->spool = le64toh(record->spool);
    entry->seq = seq;
    entry->len = len;
    memcpy(entry->text, text, len);
    return reader->alarm(reader->context, entry, message.reason);
}

static int give(const struct pd_alarm_file_reader *reader,
                const struct pd_alarm_spool_record *record, const char *text)
{
    if (le32toh(record->magic) == PD_ALARM_SPOOL_ALARM) {
        return give_alarm(reader, record, text);
    }
    reader->end(reader->context, le64toh(record->spool), le64toh(record->seq));
    return 0;
}

/* A run of bytes that hold nothing counts as one piece. */
static int read_records(const char *bytes, size_t len, const struct pd_alarm_file_reader *reader,
                        uint64_t *ret_damaged)
{
    struct pd_alarm_spool_record record;
    size_t at = sizeof(struct pd_alarm_spool_header);
    bool holds = true;

    while (at < len) {
        size_t n = record_at(bytes + at, len - at, &record);
        int err = n ? give(reader, &record, bytes + at + sizeof record) : -PD_E_CORRUPT;

        if (err == -ENOMEM) {
            return err;
        }
        *ret_damaged += holds && err;
        holds = !err;
        at += padded(n ? n : ALIGN);
    }
    return 0;
}

static int read_whole(int fd, char **ret_bytes, size_t *ret_len)
{
    struct stat stat;
    char *bytes;
    size_t len = 0;
    ssize_t n = 1;

    if (fstat(fd, &stat)) {
        return -errno;
    }
    if (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size > READ_MAX_BYTES) {
        return -PD_E_CORRUPT;
    }
    bytes = malloc((size_t)stat.st_size + 1);
    if (!bytes) {
        return -ENOMEM;
    }
    while (len < (size_t)stat.st_size && n > 0) {
        n = pread(fd, bytes + len, (size_t)stat.st_size - len, (off_t)len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (n < 0) {
        free(bytes);
        return -errno;
    }
    *ret_bytes = bytes;
    *ret_len = len;
    return 0;
}

/* ---- opening ---- */

static int lock(struct pd_alarm_file *file)
{
    char name[NAME_BYTES + 8];

    snprintf(name, sizeof name, "%s.lock", file->name);
    file->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (file->lock_fd < 0) {
        return -errno;
    }
    if (flock(file->lock_fd, LOCK_EX | LOCK_NB)) {
        return errno == EWOULDBLOCK ? -PD_E_BUSY : -errno;
    }
    return 0;
}

static int set_aside(const struct pd_alarm_file *file, bool *ret_aside)
{
    char name[NAME_BYTES + 8];

    snprintf(name, sizeof name, "%s.old", file->name);
    if (rename(file->name, name)) {
        return -errno;
    }
    *ret_aside = true;
    return 0;
}

static int load(struct pd_alarm_file *file, const struct pd_alarm_file_reader *reader,
                bool *ret_aside, uint64_t *ret_damaged)
{
    char *bytes = NULL;
    size_t len = 0;
    int fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK), e;

    if (fd < 0) {
        return errno == ENOENT ? 0 : -errno;
    }
    e = read_whole(fd, &bytes, &len);
    close(fd);
    if (e && e != -PD_E_CORRUPT) {
        return e;
    }
    if (!e && !len) {
        e = 0; /* killed before the first byte */
    } else if (e || !header_holds(bytes, len, file->host)) {
        e = set_aside(file, ret_aside);
    } else {
        e = read_records(bytes, len, reader, ret_damaged);
    }
    free(bytes);
    return e;
}

int pd_alarm_file_open(const char *name, uint32_t host, const struct pd_alarm_file_reader *reader,
                       struct pd_alarm_file **ret_file, bool *ret_aside, uint64_t *ret_damaged)
{
    struct pd_alarm_file *file = calloc(1, sizeof *file);
    bool aside = false;
    int err;

    if (!file) {
        return -ENOMEM;
    }
    file->fd = file->lock_fd = -1;
    file->host = host;
    err = snprintf(file->name, sizeof file->name, "%s", name) < NAME_BYTES ? 0 : -ENAMETOOLONG;
    err = err ? err : lock(file);
    err = err ? err : load(file, reader, &aside, ret_damaged);
    if (err) {
        pd_alarm_file_close(file);
        return err;
    }
    *ret_aside = aside;
    *ret_file = file;
    return 0;
}

void pd_alarm_file_close(struct pd_alarm_file *file)
{
    if (!file) {
        return;
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    if (file->lock_fd >= 0) {
        close(file->lock_fd);
    }
    free(file);
}

/* ---- writing ---- */

static int write_at(int fd, uint64_t at, const void *bytes, size_t len)
{
    while (len) {
        ssize_t n = pwrite(fd, bytes, len, (off_t)at);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -errno;
        }
        bytes = (const char *)bytes + n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* In one call, so that a kill leaves it whole, absent, or cut where a page ends: one piece that
 * does not hold, of which nobody was told. */
static int put(int fd, uint64_t *at, uint32_t magic, uint64_t spool, uint64_t seq, const char *text,
               uint32_t len)
{
    struct pd_alarm_spool_record record = {
        .magic = htole32(magic),
        .len = htole32(len),
        .spool = htole64(spool),
        .seq = htole64(seq),
    };
    uint64_t bytes = padded(sizeof record + len);
    char *image = calloc(1, bytes);
    int err;

    if (!image) {
        return -ENOMEM;
    }
    record.xxh3 = htole64(record_hash(&record, text));
    memcpy(image, &record, sizeof record);
    memcpy(image + sizeof record, text, len);
    err = write_at(fd, *at, image, bytes);
    free(image);
    if (!err) {
        *at += bytes;
    }
    return err;
}

int pd_alarm_file_add(struct pd_alarm_file *file, const struct pd_alarm_entry *entry)
{
    int err = file->fd < 0 ? -EBADF
                           : put(file->fd, &file->bytes, PD_ALARM_SPOOL_ALARM, entry->spool,
                                 entry->seq, entry->text, entry->len);

    if (!err) {
        file->unflushed = true;
    }
    return err;
}

static void reserve(int fd)
{
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, SHORT_BYTES)) {
        return; /* where that cannot be had it has to work without */
    }
}

/* An acknowledgement that is not written only means that some are sent again. */
void pd_alarm_file_end(struct pd_alarm_file *file, uint64_t spool, uint64_t seq, bool all)
{
    if (file->fd < 0) {
        return;
    }
    if (all && file->bytes > SHORT_BYTES &&
        !ftruncate(file->fd, sizeof(struct pd_alarm_spool_header))) {
        file->bytes = sizeof(struct pd_alarm_spool_header);
        reserve(file->fd);
        return;
    }
    if (!put(file->fd, &file->bytes, PD_ALARM_SPOOL_ACK, spool, seq, "", 0)) {
        file->unflushed = true;
    }
}

bool pd_alarm_file_is_long(const struct pd_alarm_file *file, uint64_t matter_bytes)
{
    return file->bytes > LONG_BYTES + 2 * matter_bytes;
}

/* ---- replacing ---- */

static int fill(int fd, uint32_t host, const struct pd_alarm_entry *first, uint64_t *ret_bytes)
{
    struct pd_alarm_spool_header header = {.host = htole32(host)};
    uint64_t at = sizeof header;
    int err;

    memcpy(header.magic, PD_ALARM_SPOOL_MAGIC, sizeof header.magic);
    header.xxh3 = htole64(XXH3_64bits(&header, offsetof(struct pd_alarm_spool_header, xxh3)));
    err = write_at(fd, 0, &header, sizeof header);
    for (; first && !err; first = first->next) {
        err = put(fd, &at, PD_ALARM_SPOOL_ALARM, first->spool, first->seq, first->text, first->len);
    }
    if (!err && fdatasync(fd)) {
        err = -errno;
    }
    if (!err) {
        *ret_bytes = at;
    }
    return err;
}

static void flush_folder(const char *name)
{
    char folder[NAME_BYTES];
    char *slash;
    int fd;

    snprintf(folder, sizeof folder, "%s", name);
    slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = '\0';
    }
    fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    fsync(fd);
    close(fd);
}

int pd_alarm_file_rewrite(struct pd_alarm_file *file, const struct pd_alarm_entry *first)
{
    char name[NAME_BYTES + 8];
    uint64_t bytes = 0;
    int fd, err;

    snprintf(name, sizeof name, "%s.new", file->name);
    fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (fd < 0) {
        return -errno;
    }
    reserve(fd);
    err = fill(fd, file->host, first, &bytes);
    if (!err && rename(name, file->name)) {
        err = -errno;
    }
    if (err) {
        close(fd);
        unlink(name);
        return err;
    }
    flush_folder(file->name);
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = fd;
    file->bytes = bytes;
    file->unflushed = false;
    return 0;
}

int pd_alarm_file_unflushed(struct pd_alarm_file *file)
{
    int fd = file->unflushed ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : -1;

    if (fd >= 0) {
        file->unflushed = false;
    }
    return fd;
}

void pd_alarm_file_flush(int fd)
{
    fdatasync(fd);
    close(fd);
}
