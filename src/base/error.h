/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes of the whole project and the report that carries an error's words to the person who
 * can mend it. */
#ifndef PD_BASE_ERROR_H
#define PD_BASE_ERROR_H

/* A function returns 0 or a negative error: -errno of the C library, or one of the project's own
 * codes below, negated. One table gives each code its text and its HTTP status, so that log lines,
 * exit texts and problem documents agree.
 *
 * Functions that read what people wrote (files, flags, REST parameters) take a `struct pd_error *`
 * as well (may be NULL) and put the place and the expectation into it: "fat-tree.json: nodes[3].id:
 * 7 is also the ID of nodes[1]".
 *
 * Thread safety: all functions are pure or work on the caller's memory only. */

#define PD_ERRORS(X)                                                        \
    X(PD_E_SYNTAX, 400, "malformed input")                                  \
    X(PD_E_VALUE, 400, "unacceptable value")                                \
    X(PD_E_UNKNOWN_KEY, 400, "unknown key or parameter")                    \
    X(PD_E_UNAUTHORIZED, 401, "no credentials that are known here")         \
    X(PD_E_FORBIDDEN, 403, "the role does not allow this")                  \
    X(PD_E_NOT_FOUND, 404, "no such thing")                                 \
    X(PD_E_METHOD, 405, "method not allowed")                               \
    X(PD_E_NOT_ACCEPTABLE, 406, "no form that would be accepted")           \
    X(PD_E_CONFLICT, 409, "does not fit what is here")                      \
    X(PD_E_TOO_LARGE, 413, "too large")                                     \
    X(PD_E_URI_TOO_LONG, 414, "request target too long")                    \
    X(PD_E_MISDIRECTED, 421, "not a name of this server")                   \
    X(PD_E_TOO_MANY, 429, "as many as there may be are there already")      \
    X(PD_E_TOPOLOGY, 422, "topology is not consistent")                     \
    X(PD_E_INFEASIBLE, 422, "infeasible trajectory")                        \
    X(PD_E_AMBIGUOUS, 422, "several paths leave this mark")                 \
    X(PD_E_UNKNOWN_HOST, 422, "address belongs to no rack of the topology") \
    X(PD_E_PROGRAM, 422, "the program failed")                              \
    X(PD_E_LIMIT, 422, "a limit of the program was reached")                \
    X(PD_E_EOF, 500, "end of input")                                        \
    X(PD_E_TRUNCATED, 500, "input ends in the middle")                      \
    X(PD_E_CORRUPT, 500, "checksum or structure does not hold")             \
    X(PD_E_VERSION, 500, "version not supported")                           \
    X(PD_E_UNSUPPORTED, 501, "not supported here")                          \
    X(PD_E_UNREACHABLE, 502, "the other end cannot be reached")             \
    X(PD_E_BUSY, 503, "in use by another process")                          \
    X(PD_E_UNAVAILABLE, 503, "the server of the store does not answer")     \
    X(PD_E_DENIED, 503, "the server of the store refuses this user")        \
    X(PD_E_SILENT, 504, "gives no sign of life")                            \
    X(PD_E_DEADLINE, 504, "the deadline has passed")                        \
    X(PD_E_FULL, 507, "no room left")

enum pd_error_code {
    PD_E_FIRST = 4096, /* above every errno */
#define X(name, http, text) name,
    PD_ERRORS(X)
#undef X
        PD_E_END
};

/* What went wrong, in words: one line, no newline, names the object, the place in it and what is
 * expected. */
struct pd_error {
    int code; /* the negative error, 0 when nothing failed */
    char text[500];
};

/* Text of a negative error (project code or -errno). Static storage for project codes, else
 * strerror's. */
const char *pd_error_text(int error);

/* HTTP status of a negative error; 500 for what has no better one. */
int pd_error_http(int error);

/* Fills `error` (may be NULL) with err and printf-like words, cut where they do not fit; returns
 * `err`. */
int pd_fail(struct pd_error *error, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of the words that are there, for example the file name; returns the
 * code. */
int pd_fail_within(struct pd_error *error, const char *prefix);

/* Words of others that a terminal or a log is to show: control characters (C0, DEL and, in UTF-8,
 * C1) become question marks. */
void pd_printable(char *text);

#endif
