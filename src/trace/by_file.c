/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver `file:`: a table that the site writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "trace/resolver.h"

/* {"flows":[{"src_ip","src_port","dst_ip","dst_port","dip","dip_port"}…]}: the first row of which
 * all that is given fits has the server. Read again when the file changes; one that cannot be read
 * then leaves the table as it was. */

#define BYTES_MAX (16 << 20)

struct table {
    char *file;
    json_t *rows;
    struct timespec changed;
};

static int load(const char *file, json_t **ret_rows, struct pd_error *error)
{
    json_error_t wrong;
    json_t *root = json_load_file(file, 0, &wrong);
    json_t *rows = json_object_get(root, "flows");

    if (!root) {
        return pd_fail(error, -PD_E_SYNTAX, "%s:%d: %s", file, wrong.line, wrong.text);
    }
    if (!json_is_array(rows)) {
        json_decref(root);
        return pd_fail(error, -PD_E_VALUE, "%s: expects {\"flows\":[…]}", file);
    }
    *ret_rows = json_incref(rows);
    json_decref(root);
    return 0;
}

static int load_if_changed(struct table *table, struct pd_error *error)
{
    struct stat now;
    json_t *rows = NULL;
    int err;

    if (stat(table->file, &now)) {
        return pd_fail(error, -errno, "%s: %s", table->file, strerror(errno));
    }
    if (table->rows && now.st_mtim.tv_sec == table->changed.tv_sec &&
        now.st_mtim.tv_nsec == table->changed.tv_nsec) {
        return 0;
    }
    table->changed = now.st_mtim;
    if (now.st_size > BYTES_MAX) {
        return pd_fail(error, -PD_E_TOO_LARGE, "%s: more than 16 MiB", table->file);
    }
    err = load(table->file, &rows, error);
    if (!err) {
        json_decref(table->rows);
        table->rows = rows;
    }
    return err;
}

static void close_table(void *state)
{
    struct table *table = state;

    if (table) {
        json_decref(table->rows);
        free(table->file);
        free(table);
    }
}

static int open_table(const char *value, void **ret_state, struct pd_error *error)
{
    struct table *table = calloc(1, sizeof *table);
    int err = table && (table->file = strdup(value)) ? 0 : -ENOMEM;

    err = err ? pd_fail(error, err, "no memory") : load_if_changed(table, error);
    if (err) {
        close_table(table);
    } else {
        *ret_state = table;
    }
    return err;
}

static bool fits_addr(const json_t *row, const char *member, const struct pd_addr *addr,
                      uint8_t ip_version)
{
    const json_t *wanted = json_object_get(row, member);
    struct pd_addr read;
    uint8_t version;

    return !wanted ||
           (json_is_string(wanted) && !pd_addr_parse(json_string_value(wanted), &read, &version) &&
            version == ip_version && !memcmp(&read, addr, sizeof read));
}

static bool fits_port(const json_t *row, const char *member, uint16_t port)
{
    const json_t *wanted = json_object_get(row, member);

    return !wanted || (json_is_integer(wanted) && json_integer_value(wanted) == port);
}

static int resolve(void *state, const struct pd_flow_id *flow, struct pd_trace_end *ret_end)
{
    struct table *table = state;
    const json_t *row;
    size_t i;

    (void)load_if_changed(table, NULL);
    json_array_foreach(table->rows, i, row)
    {
        if (json_is_object(row) && fits_addr(row, "src_ip", &flow->src, flow->ip_version) &&
            fits_addr(row, "dst_ip", &flow->dst, flow->ip_version) &&
            fits_port(row, "src_port", flow->src_port) &&
            fits_port(row, "dst_port", flow->dst_port)) {
            return pd_trace_end_read(row, flow, ret_end);
        }
    }
    return -PD_E_NOT_FOUND;
}

const struct pd_trace_resolver_ops pd_trace_by_file = {
    .name = "file",
    .value = "FILE",
    .help = "a table of flows and their servers, read again when it changes",
    .open = open_table,
    .resolve = resolve,
    .close = close_table,
};
