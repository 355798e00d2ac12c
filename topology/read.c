/* SPDX-License-Identifier: Apache-2.0 */
/* Reads node-link JSON into a draft; every value of a wrong type or range is a finding with its
 * place. */
#include <errno.h>
#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "topology/draft.h"

#define FILE_BYTES_MAX ((size_t)512 << 20)
#define POD_MAX        65535
#define PORT_MAX       65535
#define TAG_MAX        4094

struct reader {
    struct pd_draft draft;
    struct pd_findings *findings;
};

/* Text from the file, safe to print: cut, control characters and bytes outside ASCII replaced. */
static const char *safe(const char *text, char buffer[48])
{
    size_t i = 0;
    for (; *text && i < 47; text++) {
        buffer[i++] = *text >= ' ' && *text <= '~' ? *text : '?';
    }
    buffer[i] = 0;
    return buffer;
}

/* ---- values */

/* An optional integer: stays `fallback` when the key is missing. False when a finding was made. */
static bool read_integer(struct reader *reader, json_t *object, const char *place, size_t nth,
                         const char *key, json_int_t max, json_int_t fallback,
                         json_int_t *ret_value)
{
    json_t *value = json_object_get(object, key);
    if (!value && fallback >= 0) {
        *ret_value = fallback;
        return true;
    }
    if (json_is_integer(value) && json_integer_value(value) >= 1 &&
        json_integer_value(value) <= max) {
        *ret_value = json_integer_value(value);
        return true;
    }
    pd_findings_add(reader->findings, "%s[%zu].%s: %s, expected an integer from 1 to %lld", place,
                    nth, key, value ? "wrong" : "missing", (long long)max);
    return false;
}

static bool is_name(json_t *value)
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

static int store_name(struct reader *reader, json_t *value, const char *key, uint32_t *ret_offset)
{
    if (!value) {
        return 0;
    }
    if (is_name(value)) {
        return pd_draft_string(&reader->draft, json_string_value(value), json_string_length(value),
                               ret_offset);
    }
    pd_findings_add(reader->findings,
                    "%s: wrong, expected a string of at most %d bytes without control characters",
                    key, PD_NAME_MAX);
    return 0;
}

/* ---- addresses */

static bool parse_addr(const char *text, struct pd_prefix *ret_prefix)
{
    if (pd_addr_parse(text, &ret_prefix->addr, &ret_prefix->ip_version)) {
        return false;
    }
    ret_prefix->bits = ret_prefix->ip_version == 4 ? 32 : 128;
    return true;
}

/* The list of prefixes of a rack or addresses of a host. */
static int read_addrs(struct reader *reader, json_t *list, size_t node, bool host)
{
    const char *key = host ? "addrs" : "prefixes";
    if (!list) {
        return 0;
    }
    if (!json_is_array(list) || json_array_size(list) > PD_NODE_ADDRS_MAX) {
        pd_findings_add(reader->findings,
                        "nodes[%zu].%s: wrong, expected a list of at most %d strings", node, key,
                        PD_NODE_ADDRS_MAX);
        return 0;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        struct pd_prefix prefix;
        memset(&prefix, 0, sizeof prefix);
        if (text && (host ? parse_addr(text, &prefix) : !pd_prefix_parse(text, &prefix))) {
            if (pd_draft_addr(&reader->draft, &prefix)) {
                return -ENOMEM;
            }
            continue;
        }
        char buffer[48];
        pd_findings_add(reader->findings, "nodes[%zu].%s[%zu]: `%s`, expected %s", node, key, i,
                        safe(text ? text : "", buffer),
                        host ? "an address like \"10.1.1.2\""
                             : "a prefix like \"10.1.1.0/24\", zero behind its length");
    }
    return 0;
}

/* ---- nodes */

static bool read_role(struct reader *reader, json_t *node, size_t nth,
                      enum pd_switch_role *ret_role)
{
    const char *text = json_string_value(json_object_get(node, "role"));
    for (int role = PD_ROLE_TOR; text && role <= PD_ROLE_HOST; role++) {
        if (!strcmp(text, pd_role_name(role))) {
            *ret_role = role;
            return true;
        }
    }
    char buffer[48];
    pd_findings_add(
        reader->findings,
        "nodes[%zu].role: `%s`, expected tor, agg, core, intermediate, leaf, spine or host", nth,
        safe(text ? text : "", buffer));
    return false;
}

/* Without a name, the ID is the name. */
static int read_name(struct reader *reader, json_t *node, size_t nth)
{
    struct pd_draft_node *draft = &reader->draft.nodes[reader->draft.nodes_len - 1];
    json_t *name = json_object_get(node, "name");
    char text[32];
    if (name) {
        snprintf(text, sizeof text, "nodes[%zu].name", nth);
        return store_name(reader, name, text, &draft->name);
    }
    snprintf(text, sizeof text, "%u", draft->id);
    return pd_draft_string(&reader->draft, text, strlen(text), &draft->name);
}

static int read_node(struct reader *reader, json_t *node, size_t nth)
{
    if (!json_is_object(node)) {
        pd_findings_add(reader->findings, "nodes[%zu]: wrong, expected an object", nth);
        return 0;
    }
    json_int_t id = 0, pod = 0;
    enum pd_switch_role role = PD_ROLE_HOST;
    bool good = read_integer(reader, node, "nodes", nth, "id", UINT32_MAX, -1, &id);
    good &= read_role(reader, node, nth, &role);
    if (!good) {
        return 0;
    }
    bool host = role == PD_ROLE_HOST;
    if (!host) {
        read_integer(reader, node, "nodes", nth, "pod", POD_MAX, 0, &pod);
    }
    if (pd_draft_node(&reader->draft, (uint32_t)id, role, (uint32_t)pod) ||
        read_name(reader, node, nth)) {
        return -ENOMEM;
    }
    json_t *prefixes = json_object_get(node, "prefixes");
    if (prefixes && !pd_role_is_tor(role)) {
        pd_findings_add(reader->findings,
                        "nodes[%zu].prefixes: only a ToR or leaf has prefixes, role is %s", nth,
                        pd_role_name(role));
        prefixes = NULL;
    }
    return read_addrs(reader, host ? json_object_get(node, "addrs") : prefixes, nth, host);
}

/* ---- links */

static int read_link(struct reader *reader, json_t *link, size_t nth)
{
    if (!json_is_object(link)) {
        pd_findings_add(reader->findings, "links[%zu]: wrong, expected an object", nth);
        return 0;
    }
    json_int_t ids[2] = {0}, ports[2] = {0}, tag = 0;
    bool good = read_integer(reader, link, "links", nth, "source", UINT32_MAX, -1, &ids[0]);
    good &= read_integer(reader, link, "links", nth, "target", UINT32_MAX, -1, &ids[1]);
    good &= read_integer(reader, link, "links", nth, "source_port", PORT_MAX, 0, &ports[0]);
    good &= read_integer(reader, link, "links", nth, "target_port", PORT_MAX, 0, &ports[1]);
    good &= read_integer(reader, link, "links", nth, "tag", TAG_MAX, 0, &tag);
    if (!good) {
        return 0;
    }
    if (pd_draft_link(&reader->draft, (uint32_t)ids[0], (uint32_t)ids[1])) {
        return -ENOMEM;
    }
    struct pd_draft_link *draft = &reader->draft.links[reader->draft.links_len - 1];
    draft->ports[0] = (uint16_t)ports[0];
    draft->ports[1] = (uint16_t)ports[1];
    draft->tag = (uint16_t)tag;
    return 0;
}

/* ---- the whole */

/* Reads one of the two lists, each element with `read`. */
static int read_list(struct reader *reader, json_t *root, const char *key, size_t max,
                     int (*read)(struct reader *reader, json_t *element, size_t nth))
{
    json_t *list = json_object_get(root, key);
    if (!json_is_array(list)) {
        pd_findings_add(reader->findings, "%s: %s, expected a list", key,
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

static int read_root(struct reader *reader, json_t *root)
{
    if (!json_is_object(root)) {
        pd_findings_add(reader->findings, "expected an object with \"nodes\" and \"links\"");
        return 0;
    }
    int error = store_name(reader, json_object_get(root, "name"), "name", &reader->draft.name);
    if (!error) {
        error = store_name(reader, json_object_get(root, "codec"), "codec", &reader->draft.codec);
    }
    if (!error) {
        error = read_list(reader, root, "nodes", PD_NODES_MAX, read_node);
    }
    if (!error) {
        error = read_list(reader, root, "links", PD_LINKS_MAX, read_link);
    }
    return error;
}

/* Parses, checks and builds; findings go to `findings`, other errors into `error` without the file.
 */
static int parse(const char *json, size_t bytes, struct pd_findings *findings,
                 struct pd_topology **ret_topology, struct pd_error *error)
{
    struct reader reader = {.findings = findings};
    json_error_t at;
    json_t *root = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &at);
    if (!root) {
        return pd_fail(error, -PD_E_SYNTAX, "line %d, column %d: expected JSON: %s", at.line,
                       at.column, at.text);
    }
    int failed = pd_draft_init(&reader.draft);
    if (!failed) {
        failed = read_root(&reader, root);
    }
    json_decref(root);
    if (!failed && !findings->len) {
        findings->draft = &reader.draft;
        failed = pd_topology_build(&reader.draft, findings, ret_topology);
        findings->draft = NULL;
    }
    pd_draft_done(&reader.draft);
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
    return failed ? failed : pd_findings_end(findings, error);
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
    size_t bytes = 0, room = 1 << 16;
    char *text = NULL;
    int failed = 0;
    FILE *in = fopen(file, "re");
    if (!in) {
        return pd_fail(error, -errno, "%s: %s", file, strerror(errno));
    }
    do {
        room *= 2;
        char *larger = realloc(text, room);
        if (!larger) {
            failed = pd_fail(error, -ENOMEM, "%s: %s", file, strerror(ENOMEM));
            goto out;
        }
        text = larger;
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
