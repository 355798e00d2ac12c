/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts are asked, and what an answer says about them. */
#include "cli/fleet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/pager.h"
#include "query/rows/cells.h"

#define WORD_BYTES     400
#define MISSING_LINES  20
#define NAME_MAX_BYTES 64 /* of a host or a switch */

/* ---- which hosts ---- */

/* A host ID, a switch ID: 1 to 2^32 - 1, and nothing but digits before `end`. */
static bool is_id(const char *text, const char *end, json_int_t *ret_id)
{
    json_int_t id = 0;
    if (text == end || end - text > 10) {
        return false;
    }
    for (; text < end; text++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        id = id * 10 + (*text - '0');
    }
    if (!id || id > (json_int_t)UINT32_MAX) {
        return false;
    }
    *ret_id = id;
    return true;
}

/* What is no number may be a name; whether somebody has it the controller knows. */
static bool is_name(const char *text, const char *end)
{
    bool digits = true;
    if (text == end || end - text > NAME_MAX_BYTES) {
        return false;
    }
    for (; text < end; text++) {
        if ((unsigned char)*text <= ' ' || *text == 127 || strchr(",:", *text)) {
            return false;
        }
        digits = digits && *text >= '0' && *text <= '9';
    }
    return !digits;
}

static json_t *list_of_hosts(const char *text)
{
    json_t *list = json_array();
    for (;;) {
        const char *end = text + strcspn(text, ",");
        json_int_t id;
        json_t *host = is_id(text, end, &id) ? json_integer(id)
                       : is_name(text, end)  ? json_stringn(text, (size_t)(end - text))
                                             : NULL;
        if (json_array_append_new(list, host)) {
            json_decref(list);
            return NULL;
        }
        if (!*end) {
            return list;
        }
        text = end + 1;
    }
}

int pd_cli_hosts_json(const char *text, json_t **ret_hosts, struct pd_error *error)
{
    const char *end = text + strlen(text);
    json_int_t id;
    json_t *hosts;
    if (!strcmp(text, "all") ||
        (!strncmp(text, "rack:", 5) && (is_id(text + 5, end, &id) || is_name(text + 5, end)))) {
        hosts = json_string(text);
    } else {
        hosts = list_of_hosts(text);
    }
    if (!hosts) {
        return pd_fail(error, -PD_E_VALUE,
                       "hosts: expected all, rack:SWITCH or IDs or names as in 21,22, not "
                       "\"%.100s\"",
                       text);
    }
    *ret_hosts = hosts;
    return 0;
}

int pd_cli_hosts_check(void *target, const char *name, const char *value, struct pd_error *error)
{
    json_t *hosts = NULL;
    int err = pd_cli_hosts_json(value, &hosts, error);
    (void)target;
    (void)name;
    json_decref(hosts);
    return err;
}

/* ---- what an answer says about them ---- */

static int read_hosts(const struct pd_cli_reader *reader, const json_t *hosts,
                      struct pd_cli_outcome *outcome)
{
    const json_t *missing;
    int err = pd_cli_read_number(reader, hosts, "asked", UINT32_MAX, &outcome->asked);
    if (!err) {
        err = pd_cli_read_number(reader, hosts, "answered", outcome->asked, &outcome->answered);
    }
    return err ? err : pd_cli_read_array(reader, hosts, "missing", &missing);
}

int pd_cli_outcome_read(const struct pd_cli_reader *reader, const json_t *answer, bool may_lack,
                        struct pd_cli_outcome *ret_outcome)
{
    const json_t *complete = json_object_get(answer, "complete"),
                 *hosts = json_object_get(answer, "hosts");
    struct pd_cli_outcome outcome = {.complete = complete ? json_is_true(complete) : may_lack};
    if (complete ? !json_is_boolean(complete) : !may_lack) {
        return pd_cli_read_bad(reader, "complete", "true or false");
    }
    int err = hosts ? read_hosts(reader, hosts, &outcome) : 0;
    if (!err) {
        *ret_outcome = outcome;
    }
    return err;
}

void pd_cli_print_word(const char *text, FILE *out)
{
    char word[WORD_BYTES];
    fputs(pd_row_text_word(text, word, sizeof word), out);
}

static void print_missing(const json_t *missing, FILE *out)
{
    char number[PD_TEXT_NUMBER_BYTES];
    size_t len = json_array_size(missing);
    for (size_t i = 0; i < len && i < MISSING_LINES; i++) {
        const json_t *host = json_array_get(missing, i), *id = json_object_get(host, "id");
        const char *reason = json_string_value(json_object_get(host, "reason"));
        fprintf(out, "missing: %" JSON_INTEGER_FORMAT ": ", json_integer_value(id));
        pd_cli_print_word(reason ? reason : "no reason is given", out);
        fputc('\n', out);
    }
    if (len > MISSING_LINES) {
        fprintf(out, "missing: %s more; --json has them all\n",
                pd_row_text_number(len - MISSING_LINES, number));
    }
}

/* The reason may begin with the mode, which need not be said twice. */
static void print_mode(const char *mode, const char *why, FILE *out)
{
    size_t len = strlen(mode);
    fputs("; asked ", out);
    pd_cli_print_word(!strcmp(mode, "tree")     ? "along a tree"
                      : !strcmp(mode, "direct") ? "directly"
                                                : mode,
                      out);
    if (!why) {
        return;
    }
    bool again = len && !strncmp(why, mode, len) && (why[len] == ':' || why[len] == ',');
    fputs(again ? "" : ": ", out);
    pd_cli_print_word(again ? why + len : why, out);
}

void pd_cli_outcome_view(const json_t *answer, const struct pd_cli_outcome *outcome, FILE *out)
{
    char number[PD_TEXT_NUMBER_BYTES];
    const json_t *hosts = json_object_get(answer, "hosts");
    const char *mode = json_string_value(json_object_get(answer, "mode")),
               *why = json_string_value(json_object_get(answer, "why"));
    if (!hosts) {
        return;
    }
    fprintf(out, "%s of ", pd_row_text_number(outcome->answered, number));
    fprintf(out, "%s host%s answered", pd_row_text_number(outcome->asked, number),
            pd_row_text_plural(outcome->asked));
    if (mode) {
        print_mode(mode, why, out);
    }
    fputc('\n', out);
    print_missing(json_object_get(hosts, "missing"), out);
}

int pd_cli_outcome_report(const char *command, const struct pd_cli_outcome *outcome)
{
    if (outcome->complete && outcome->asked == outcome->answered) {
        return PD_CLI_OK;
    }
    pd_cli_pager_end();
    fflush(stdout);
    fprintf(stderr, "pathdump %s: the answer is not complete: ", command);
    if (outcome->answered < outcome->asked) {
        fprintf(stderr, "%" PRIu64 " of %" PRIu64 " hosts did not answer\n",
                outcome->asked - outcome->answered, outcome->asked);
    } else {
        fputs("a part of the records could not be read\n", stderr);
    }
    return PD_CLI_PARTIAL;
}
