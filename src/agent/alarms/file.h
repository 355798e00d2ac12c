/* SPDX-License-Identifier: Apache-2.0 */
/* The file of the alarm spool: a log of alarms and of how far they were acknowledged. */
#ifndef PD_AGENT_ALARMS_FILE_H
#define PD_AGENT_ALARMS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only ever appended to, or replaced as a whole: so what a process that was killed leaves is valid
 * up to its last whole record. A piece that does not hold is left out, and reading goes on at the
 * next record that does. Docs: docs/formats/alarms.md.
 *
 * Thread safety: the spool's lock is held around all of it, but for pd_alarm_file_flush. */

#define PD_ALARM_SPOOL_MAGIC "PDALARM1"
#define PD_ALARM_SPOOL_ALARM UINT32_C(0x6d6c4170) /* "pAlm" */
#define PD_ALARM_SPOOL_ACK   UINT32_C(0x6b634170) /* "pAck" */

/* First bytes of the file; little-endian, like all of it. */
struct pd_alarm_spool_header {
    char magic[8];
    uint32_t host;
    uint32_t zero;
    uint64_t xxh3; /* XXH3-64 of the 16 bytes before */
};
_Static_assert(sizeof(struct pd_alarm_spool_header) == 24, "written as it is");

/* Then one after the other, each at a multiple of 8 bytes. */
struct pd_alarm_spool_record {
    uint32_t magic;
    uint32_t len;  /* of the alarm's JSON, which follows; 0 in an acknowledgement */
    uint64_t xxh3; /* docs/formats/alarms.md */
    uint64_t spool;
    uint64_t seq; /* of the alarm; the last one that is acknowledged */
};
_Static_assert(sizeof(struct pd_alarm_spool_record) == 32, "written as it is");

/* An alarm that waits. */
struct pd_alarm_entry {
    struct pd_alarm_entry *next;
    uint64_t spool, seq;
    unsigned share; /* the spool's */
    uint32_t len;
    char text[]; /* JSON, len bytes */
};

/* Who takes what the file holds, in its order. The entry is the taker's. */
struct pd_alarm_file_reader {
    void *context;
    int (*alarm)(void *context, struct pd_alarm_entry *entry, const char *reason); /* 0 */
    void (*end)(void *context, uint64_t spool, uint64_t seq);
};

struct pd_alarm_file;

/* Opens or makes it, and locks it against other processes. 0, -PD_E_BUSY, -ENOMEM or -errno. */
int pd_alarm_file_open(const char *name, uint32_t host, const struct pd_alarm_file_reader *reader,
                       struct pd_alarm_file **ret_file, bool *ret_aside, uint64_t *ret_damaged);
void pd_alarm_file_close(struct pd_alarm_file *file); /* NULL is fine */

int pd_alarm_file_add(struct pd_alarm_file *file,
                      const struct pd_alarm_entry *entry); /* 0 or -errno */

/* Notes that all up to `seq` are done with; if they are `all` there are, the file may become short.
 */
void pd_alarm_file_end(struct pd_alarm_file *file, uint64_t spool, uint64_t seq, bool all);

/* Whether it is worth its while to replace a file in which so many bytes still matter. */
bool pd_alarm_file_is_long(const struct pd_alarm_file *file, uint64_t matter_bytes);

/* Replaces the file by one that holds these entries only, flushed. 0, or -errno: the old one stays.
 */
int pd_alarm_file_rewrite(struct pd_alarm_file *file, const struct pd_alarm_entry *first);

/* A descriptor to flush, once for what was written before; -1: there is nothing. */
int pd_alarm_file_unflushed(struct pd_alarm_file *file);
void pd_alarm_file_flush(int fd); /* and closes it */

#endif
