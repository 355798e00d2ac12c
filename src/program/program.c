/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's side of programs: one run is a talk with one worker, which ends with a result, a
 * failure or the worker's end. */
#include "program/program.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "program/lines.h"
#include "program/wire.h"
#include "program/workers.h"

#define CHECK_NS (5 * PD_NS_PER_S) /* for a check of the syntax; it takes a millisecond */

struct pd_programs {
    struct pd_program_workers *workers;
    pthread_mutex_t lock; /* of the counters */
    struct pd_program_counters counters;
};

/* One run. */
struct talk {
    const struct pd_program_limits *limits;
    const struct pd_program_host *host; /* NULL: merge */
    int fd;
    struct pd_program_lines lines;
    json_t *result;
    bool over;
    bool healthy; /* the worker is in order, whatever the program did */
    struct pd_error *error;
};

int pd_programs_new(const char *worker, struct pd_programs **ret_programs)
{
    struct pd_programs *programs = calloc(1, sizeof *programs);
    if (!programs) {
        return -ENOMEM;
    }
    int err = pd_program_workers_new(worker, &programs->workers);
    if (err) {
        free(programs);
        return err;
    }
    pthread_mutex_init(&programs->lock, NULL);
    *ret_programs = programs;
    return 0;
}

void pd_programs_free(struct pd_programs *programs)
{
    if (!programs) {
        return;
    }
    pd_program_workers_free(programs->workers);
    pthread_mutex_destroy(&programs->lock);
    free(programs);
}

void pd_programs_counters(struct pd_programs *programs, struct pd_program_counters *ret_counters)
{
    pthread_mutex_lock(&programs->lock);
    *ret_counters = programs->counters;
    pthread_mutex_unlock(&programs->lock);
}

/* ---- what the worker says ---- */

static int send_lines(struct talk *talk, uint32_t number)
{
    char *bytes;
    size_t len;
    int err = pd_program_lines_page(&talk->lines, number, &bytes, &len);
    if (err) {
        return err;
    }
    uint32_t head = htole32(number);
    err = pd_program_wire_send(talk->fd, talk->limits->deadline_ns, PD_WIRE_LINES, &head,
                               sizeof head, bytes, len);
    free(bytes);
    return err;
}

static int refuse(const struct talk *talk, const char *words)
{
    return pd_program_wire_send(talk->fd, talk->limits->deadline_ns, PD_WIRE_REFUSED, NULL, 0,
                                words, strlen(words));
}

static int hear_call(struct talk *talk, const struct pd_program_wire_message *message)
{
    struct pd_error inner = {0};
    json_t *call = json_loadb(message->bytes, message->len, JSON_REJECT_DUPLICATES, NULL);
    const char *name = json_string_value(json_object_get(call, "name"));
    const json_t *args = json_object_get(call, "args");
    uint32_t number;
    FILE *file;
    int err;
    if (!name || !json_is_object(args)) {
        err = -PD_E_SYNTAX;
    } else if (!talk->host) {
        err = refuse(talk, "merge() cannot ask for records");
    } else if (pd_program_lines_open(&talk->lines, &number, &file)) {
        err =
            refuse(talk, "too many calls are open at once, or there is no room for their answers");
    } else if ((err = talk->host->call(talk->host->context, name, args, file, &inner)) ||
               (err = pd_program_lines_begin(&talk->lines, number))) {
        pd_program_lines_close(&talk->lines, number);
        err = refuse(talk, *inner.text ? inner.text : pd_error_text(err));
    } else {
        err = send_lines(talk, number);
    }
    json_decref(call);
    return err;
}

static int number_of(const struct pd_program_wire_message *message, uint32_t *ret_number)
{
    if (message->len != sizeof *ret_number) {
        return -PD_E_SYNTAX;
    }
    memcpy(ret_number, message->bytes, sizeof *ret_number);
    *ret_number = le32toh(*ret_number);
    return 0;
}

static int hear_result(struct talk *talk, const struct pd_program_wire_message *message)
{
    talk->result = json_loadb(message->bytes, message->len, JSON_DECODE_ANY, NULL);
    talk->over = talk->healthy = talk->result != NULL;
    return talk->over ? 0 : -PD_E_SYNTAX;
}

/* The program's failure is the run's answer; what is returned is about the worker. */
static int hear_failure(struct talk *talk, const struct pd_program_wire_message *message)
{
    if (!message->len) {
        return -PD_E_SYNTAX;
    }
    bool limit =
        message->bytes[0] == PD_PROGRAM_INSTRUCTIONS || message->bytes[0] == PD_PROGRAM_MEMORY;
    int err = limit ? -PD_E_LIMIT : -PD_E_PROGRAM;
    pd_fail(talk->error, err, "%.400s", message->bytes + 1);
    talk->over = true;
    talk->healthy = message->bytes[0] != PD_PROGRAM_INSTRUCTIONS; /* that one ends */
    return err;
}

static int hear(struct talk *talk, const struct pd_program_wire_message *message)
{
    uint32_t number;
    int err;
    switch (message->kind) {
    case PD_WIRE_CALL: return hear_call(talk, message);
    case PD_WIRE_MORE:
        err = number_of(message, &number);
        return err ? err : send_lines(talk, number);
    case PD_WIRE_CLOSE:
        err = number_of(message, &number);
        if (!err) {
            pd_program_lines_close(&talk->lines, number);
        }
        return err;
    case PD_WIRE_RESULT: return hear_result(talk, message);
    case PD_WIRE_FAILED: return hear_failure(talk, message);
    default: return -PD_E_SYNTAX; /* only the agent says such things */
    }
}

static int converse(struct talk *talk)
{
    int err = 0;
    while (!err && !talk->over) {
        struct pd_program_wire_message message;
        err = pd_program_wire_receive(talk->fd, talk->limits->deadline_ns, &message);
        if (!err) {
            err = hear(talk, &message);
            free(message.bytes);
        }
    }
    return err;
}

/* ---- a run ---- */

static json_t *request(const char *source, const char *key, json_t *value,
                       const struct pd_program_limits *limits)
{
    uint64_t now_ns = pd_clock_monotonic_ns();
    uint64_t left_ms =
        limits->deadline_ns > now_ns ? (limits->deadline_ns - now_ns) / PD_NS_PER_MS + 1 : 1;
    return json_pack("{s:s, s:O, s:{s:I, s:I, s:I}}", "program", source, key, value, "limits",
                     "instructions", (json_int_t)limits->instructions, "memory_bytes",
                     (json_int_t)limits->memory_bytes, "left_ms", (json_int_t)left_ms);
}

/* A worker that was idle may have died meanwhile: then the next one is asked, a new one at last. */
static int begin(struct pd_programs *programs, const char *text, struct talk *talk,
                 struct pd_worker *ret_worker)
{
    bool fresh = false;
    for (;;) {
        int err = pd_program_workers_take(programs->workers, ret_worker, &fresh, talk->error);
        if (err) {
            return err;
        }
        err = pd_program_wire_send(ret_worker->fd, talk->limits->deadline_ns, PD_WIRE_RUN, NULL, 0,
                                   text, strlen(text));
        if (!err || fresh || err != -PD_E_EOF) {
            talk->fd = ret_worker->fd;
            return err;
        }
        pd_program_workers_end(ret_worker);
    }
}

static int explain(struct talk *talk, int err)
{
    switch (err) {
    case 0:
    case -PD_E_PROGRAM:
    case -PD_E_LIMIT: return err;
    case -ETIMEDOUT:
        return pd_fail(talk->error, -PD_E_DEADLINE, "the program did not end before its deadline");
    case -PD_E_EOF:
    case -PD_E_SYNTAX:
        return pd_fail(talk->error, -PD_E_PROGRAM, "the program's process ended without a result");
    default: return pd_fail(talk->error, err, "program: %s", pd_error_text(err));
    }
}

static void count(struct pd_programs *programs, const struct talk *talk, int err)
{
    pthread_mutex_lock(&programs->lock);
    programs->counters.runs++;
    programs->counters.failed += err != 0;
    programs->counters.killed += !talk->healthy;
    programs->counters.started = pd_program_workers_started(programs->workers);
    pthread_mutex_unlock(&programs->lock);
}

static int run(struct pd_programs *programs, json_t *asked, struct talk *talk, json_t **ret_result)
{
    struct pd_worker worker = {.fd = -1};
    char *text = asked ? json_dumps(asked, JSON_COMPACT) : NULL;
    json_decref(asked);
    if (!text) {
        return pd_fail(talk->error, -PD_E_PROGRAM, "the program or its arguments are not UTF-8");
    }
    int err = begin(programs, text, talk, &worker);
    if (!err) {
        err = converse(talk);
    }
    free(text);
    if (worker.fd >= 0) {
        count(programs, talk, err);
        if (talk->healthy) {
            pd_program_workers_give(programs->workers, &worker);
        } else {
            pd_program_workers_end(&worker);
        }
    }
    pd_program_lines_done(&talk->lines);
    if (!err) {
        *ret_result = talk->result;
    }
    return explain(talk, err);
}

int pd_programs_run(struct pd_programs *programs, const char *source, json_t *args,
                    const struct pd_program_limits *limits, const struct pd_program_host *host,
                    json_t **ret_result, struct pd_error *error)
{
    struct talk talk = {.limits = limits, .host = host, .error = error};
    if (strlen(source) > PD_PROGRAM_SOURCE_MAX_BYTES) {
        return pd_fail(error, -PD_E_TOO_LARGE, "the program is larger than %zu bytes",
                       PD_PROGRAM_SOURCE_MAX_BYTES);
    }
    return run(programs, request(source, "args", args, limits), &talk, ret_result);
}

int pd_programs_can_merge(struct pd_programs *programs, const char *source,
                          const struct pd_program_limits *limits, bool *ret_can_merge,
                          struct pd_error *error)
{
    struct talk talk = {.limits = limits, .error = error};
    json_t *result = NULL;
    json_t *name = json_string("merge");
    json_t *asked = name ? request(source, "has", name, limits) : NULL;
    json_decref(name);
    int err = run(programs, asked, &talk, &result);
    if (!err) {
        *ret_can_merge = json_is_true(result);
    }
    json_decref(result);
    return err;
}

int pd_programs_check(struct pd_programs *programs, const char *source, struct pd_error *error)
{
    const struct pd_program_limits limits = {PD_PROGRAM_INSTRUCTIONS_DEFAULT,
                                             PD_PROGRAM_MEMORY_DEFAULT_BYTES,
                                             pd_clock_monotonic_ns() + CHECK_NS};
    struct talk talk = {.limits = &limits, .error = error};
    json_t *result = NULL;
    int err = run(programs, request(source, "check", json_true(), &limits), &talk, &result);
    json_decref(result);
    if (err == -PD_E_PROGRAM) {
        const struct pd_error words = *error;
        err = pd_fail(error, -PD_E_VALUE, "%s", words.text);
    }
    return err;
}

int pd_programs_check_document(struct pd_programs *programs, const json_t *document,
                               struct pd_error *error)
{
    const char *source = json_string_value(json_object_get(document, "program"));
    if (!programs || !source || strlen(source) > PD_PROGRAM_SOURCE_MAX_BYTES) {
        return 0;
    }
    int err = pd_programs_check(programs, source, error);
    return err == -PD_E_UNSUPPORTED ? 0 : err;
}

int pd_programs_merge(struct pd_programs *programs, const char *source, json_t *a, json_t *b,
                      const struct pd_program_limits *limits, json_t **ret_result,
                      struct pd_error *error)
{
    struct talk talk = {.limits = limits, .error = error};
    json_t *both = json_pack("[O, O]", a, b);
    json_t *asked = both ? request(source, "merge", both, limits) : NULL;
    json_decref(both);
    return run(programs, asked, &talk, ret_result);
}
