/* SPDX-License-Identifier: Apache-2.0 */
/* Reads node-link JSON into a draft; every value of a wrong type or range is a finding with its
 * place. */
#include <errno.h>
#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#include "topology/reader.h"

#define FILE_BYTES_MAX ((size_t)512 << 20)
#define READ_BYTES     ((size_t)1 << 17) /* at a time, at least */

const char *pd_topology_reader_safe(const char *text, char buffer[PD_READER_TEXT_BYTES])
{
    size_t i = 0;
    for (; *text && i < PD_READER_TEXT_BYTES - 1; text++) {
        buffer[i++] = *text >= ' ' && *text <= '~' ? *text : '?';
    }
    buffer[i] = 0;
    return buffer;
}

bool pd_topology_reader_is_name(const json_t *value)
{
    if (!json_is_string(value) || json_string_length(value) > PD_NAME_MAX) {
        return false;
    }
    for (const char *at = json_string_value(value); *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            return false;
        }
    }
    return true;
}

int pd_topology_reader_name(struct pd_reader *reader, json_t *value, const char *key,
                            uint32_t *ret_offset)
{
    if (!value) {
        return 0;
    }
    if (pd_topology_reader_is_name(value)) {
        return pd_topology_draft_string(&reader->draft, json_string_value(value),
                                        json_string_length(value), ret_offset);
    }
    pd_topology_findings_add(
        reader->findings,
        "%s: wrong, expected a string of at most %d bytes without control characters", key,
        PD_NAME_MAX);
    return 0;
}

/* ---- the whole */

/* Reads one of the two lists, each element with `read`. */
static int read_list(struct pd_reader *reader, json_t *root, const char *key, size_t max,
                     int (*read)(struct pd_reader *reader, json_t *element, size_t nth))
{
    json_t *list = json_object_get(root, key);
    if (!json_is_array(list)) {
        pd_topology_findings_add(reader->findings, "%s: %s, expected a list", key,
                                 list ? "wrong" : "missing");
        return 0;
    }
    if (json_array_size(list) > max) {
        return -PD_E_TOO_LARGE;
    }
    int error = 0;
    for (size_t i = 0; i < json_array_size(list) && !error; i++) {
        error = read(reader, json_array_get(list, i), i);
    }
    return error;
}

static int read_root(struct pd_reader *reader, json_t *root)
{
    if (!json_is_object(root)) {
        pd_topology_findings_add(reader->findings,
                                 "expected an object with \"nodes\" and \"links\"");
        return 0;
    }
    int error =
        pd_topology_reader_name(reader, json_object_get(root, "name"), "name", &reader->draft.name);
    if (!error) {
        error = pd_topology_reader_codecs(reader, root);
    }
    if (!error) {
        error = read_list(reader, root, "nodes", PD_NODES_MAX, pd_topology_reader_node);
    }
    if (!error) {
        error = read_list(reader, root, "links", PD_LINKS_MAX, pd_topology_reader_link);
    }
    return error;
}

/* Parses, checks and builds; findings go to `findings`, other errors into `error` without the file.
 */
static int parse(const char *json, size_t bytes, struct pd_findings *findings,
                 struct pd_topology **ret_topology, struct pd_error *error)
{
    struct pd_reader reader = {.findings = findings};
    json_error_t at;
    json_t *root = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &at);
    if (!root) {
        return pd_fail(error, -PD_E_SYNTAX, "line %d, column %d: expected JSON: %s", at.line,
                       at.column, at.text);
    }
    int failed = pd_topology_draft_init(&reader.draft);
    if (!failed) {
        failed = read_root(&reader, root);
    }
    json_decref(root);
    if (!failed && !findings->len) {
        findings->draft = &reader.draft;
        failed = pd_topology_build(&reader.draft, findings, ret_topology);
        findings->draft = NULL;
    }
    pd_topology_draft_done(&reader.draft);
    malloc_trim(0); /* the JSON tree was many times the size of what stays */
    if (failed == -PD_E_TOO_LARGE) {
        return pd_fail(error, failed, "more than %d nodes or %d links", PD_NODES_MAX, PD_LINKS_MAX);
    }
    return failed ? pd_fail(error, failed, "%s", pd_error_text(failed)) : 0;
}

/* The same with the file's name in front of what failed. */
static int parse_file(const char *json, size_t bytes, struct pd_findings *findings,
                      struct pd_topology **ret_topology, struct pd_error *error)
{
    int failed = parse(json, bytes, findings, ret_topology, error);
    if (failed && error) {
        pd_fail_within(error, findings->file);
    }
    return failed ? failed : pd_topology_findings_end(findings, error);
}

int pd_topology_parse(const char *json, size_t bytes, const char *name,
                      struct pd_topology **ret_topology, struct pd_error *error)
{
    struct pd_findings findings = {.file = name};
    if (bytes > FILE_BYTES_MAX) {
        return pd_fail(error, -PD_E_TOO_LARGE, "%s: %zu bytes, expected at most %zu", name, bytes,
                       FILE_BYTES_MAX);
    }
    return parse_file(json, bytes, &findings, ret_topology, error);
}

/* Reads until the end or the limit, so that pipes work as well. */
static int load(const char *file, char **ret_text, size_t *ret_bytes, struct pd_error *error)
{
    size_t bytes = 0, room = 0;
    char *text = NULL;
    int failed = 0;
    FILE *in = fopen(file, "re");
    if (!in) {
        return pd_fail(error, -errno, "%s: %s", file, strerror(errno));
    }
    do {
        if (PD_GROW(text, room, bytes + READ_BYTES)) {
            failed = pd_fail(error, -ENOMEM, "%s: %s", file, strerror(ENOMEM));
            goto out;
        }
        bytes += fread(text + bytes, 1, room - bytes, in);
    } while (bytes == room && room <= FILE_BYTES_MAX);
    if (ferror(in)) {
        failed = pd_fail(error, errno ? -errno : -EIO, "%s: %s", file, strerror(errno));
    } else if (bytes > FILE_BYTES_MAX) {
        failed = pd_fail(error, -PD_E_TOO_LARGE, "%s: more than %zu bytes", file, FILE_BYTES_MAX);
    }
out:
    fclose(in);
    if (failed) {
        free(text);
        return failed;
    }
    *ret_text = text;
    *ret_bytes = bytes;
    return 0;
}

int pd_topology_read(const char *file, struct pd_topology **ret_topology, struct pd_error *error)
{
    struct pd_findings findings = {.file = file};
    char *text;
    size_t bytes;
    int failed = load(file, &text, &bytes, error);
    if (failed) {
        return failed;
    }
    failed = parse_file(text, bytes, &findings, ret_topology, error);
    free(text);
    return failed;
}

int pd_topology_check(const char *file, void (*report)(void *context, const char *finding),
                      void *context, struct pd_error *error)
{
    struct pd_findings findings = {.file = file, .report = report, .context = context};
    struct pd_topology *topology = NULL;
    char *text;
    size_t bytes;
    int failed = load(file, &text, &bytes, error);
    if (failed) {
        return failed;
    }
    failed = parse_file(text, bytes, &findings, &topology, error);
    free(text);
    pd_topology_free(topology);
    return failed;
}
