/* SPDX-License-Identifier: Apache-2.0 */
/* An answer before it is sent: status, type and a body that grows in memory up to a bound, then in
 * a temporary file. */
#ifndef PD_HTTP_ANSWER_H
#define PD_HTTP_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Answers are made whole before their first byte is sent, as long as the server's budget for what
 * waits has room for them. So an error anywhere still becomes a problem document, the length is
 * known, and a slow client holds a file, never a snapshot of the TIB or much memory. An answer that
 * finds no room flows: it goes out as it is made, the maker waits for the reader, and an error cuts
 * it off. What has no end, a stream, is made while it is sent anyway.
 *
 * Thread safety: works on the caller's memory only. */

/* What is wrong with a request. */
struct pd_problem {
    struct pd_error error;
    char parameter[64]; /* the one that is wrong, or "" */
    char allow[64];     /* of -PD_E_METHOD: what would do; "" means GET, HEAD */
};

#define PD_ANSWER_COOKIE_BYTES 200
#define PD_ANSWER_MEMORY_BYTES (256 * 1024)
#define PD_ANSWER_MAX_BYTES    (UINT64_C(4) << 30)

/* A body without end, or one whose parts come late. Both functions are called in the connection's
 * thread. */
struct pd_answer_stream {
    void *context;
    /* The next bytes, at most `size`; waits for them, but no longer than a second: 0 is "nothing
     * yet", and it is asked again. What is negative ends the body: -PD_E_EOF as it should, anything
     * else so that the client sees that it was cut off. */
    ssize_t (*read)(void *context, char *buffer, size_t size);
    void (*close)(void *context); /* once, however the connection ends */
};

struct pd_answer;

/* What a server does with long answers. */
struct pd_answer_outlet {
    /* May so many bytes more be kept? They are given back when the answer is done. */
    bool (*take)(void *context, uint64_t bytes, bool on_disk);
    void (*give)(void *context, uint64_t bytes);
    /* Sends the next bytes of an answer that is not kept. 0, or -PD_E_EOF: nobody takes them. */
    int (*flow)(void *context, const struct pd_answer *answer, const char *bytes, size_t len);
    void *context;
};

struct pd_answer {
    int http_status;
    const char *type;     /* static */
    char allow[64];       /* of 405, else "" */
    char etag[48];        /* of this state of what was asked for, as in its header; "": none */
    const char *encoding; /* static: "gzip"; NULL: the body is as it is */
    const char *location; /* static: where to look instead; NULL: here */
    char cookie[PD_ANSWER_COOKIE_BYTES]; /* Set-Cookie; "": none */
    char *bytes; /* what is in memory: all, or what is not yet in the file */
    size_t len, size;
    int fd;                                /* the file, or -1 */
    uint64_t file_bytes;                   /* in the file already */
    struct pd_answer_stream stream;        /* if it has a `read`: instead of all this */
    const struct pd_answer_outlet *outlet; /* NULL: all is kept, and counted nowhere */
    uint64_t taken_bytes;                  /* of the outlet */
    bool flowing, failed;                  /* it goes out already; and was cut off */
};

void pd_http_answer_init(struct pd_answer *answer);
void pd_http_answer_done(
    struct pd_answer *answer); /* what was taken out of it must be set to NULL, -1 or {0} */

/* Appends. -PD_E_TOO_LARGE, -ENOMEM, or -PD_E_FULL when the file cannot be written. Fits struct
 * pd_query_sink. */
int pd_http_answer_write(void *answer, const char *bytes, size_t len);

/* Replaces whatever there is by a stream, whose context the answer closes from then on. */
void pd_http_answer_stream(struct pd_answer *answer, const char *type,
                           const struct pd_answer_stream *stream);

/* Lets what there is go out now, where the server does that: from then on the answer flows, its
 * head is what it says by now, and what goes wrong later cuts it off. 0 or as pd_http_answer_write.
 */
int pd_http_answer_flow(struct pd_answer *answer);

/* Brings all of a long body into its file. 0 or -PD_E_FULL; without a file nothing happens. */
int pd_http_answer_finish(struct pd_answer *answer);

/* Where files of answers lie. */
const char *pd_http_answer_folder(void);

/* Counts what is in memory, too. False: there is no room for it. */
bool pd_http_answer_take(struct pd_answer *answer);

/* Which state of what it asked for this answer has: `version` (hexadecimal digits, say) goes into
 * its ETag. True when the client has that state already by its If-None-Match (NULL: it sent none):
 * then the answer is a 304 without a body, and complete. */
bool pd_http_answer_version(struct pd_answer *answer, const char *version,
                            const char *if_none_match);

/* Whether a header Accept-Encoding (NULL: none was sent) lets gzip in. */
bool pd_http_answer_gzip_accepted(const char *accept_encoding);

/* Packs a body, to be kept beside it. -PD_E_TOO_LARGE (2 GiB), -ENOMEM; *ret_packed is the
 * caller's. */
int pd_http_answer_gzip(const char *bytes, size_t len, char **ret_packed, size_t *ret_len);

/* Gives an empty answer the body of another, which is finished: the same file, or a copy of what is
 * in memory. -ENOMEM, or -errno. */
int pd_http_answer_copy_body(const struct pd_answer *from, struct pd_answer *to);

/* Replaces whatever there is by a JSON document; takes the reference. */
void pd_http_answer_json(struct pd_answer *answer, int http_status, const char *type,
                         json_t *document);

/* What is wrong with a parameter, or a member of a body, is told under the name that the words
 * begin with: "since: …", "hosts[3]: …". Keeps a name that is there. */
void pd_http_problem_name_parameter(struct pd_problem *problem);

/* Replaces whatever there is by a problem document (RFC 9457). */
void pd_http_answer_problem(struct pd_answer *answer, const struct pd_problem *problem);

#endif
