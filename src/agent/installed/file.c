/* SPDX-License-Identifier: Apache-2.0 */
/* The list on disk, beside the TIB: {"version":1,"next_id":…,"installed":[{"id":…, document …,
 * "stopped":"why"}…]}. */
#include <errno.h>
#include <stdio.h>

#include "agent/installed/list.h"
#include "base/log.h"
#include "daemon/state_file.h"
#include "http/text.h"

#define MODULE         "installed"
#define VERSION        1
#define FILE_MAX_BYTES (8 * PD_INSTALLATIONS_BYTES_MAX) /* characters may be escaped */

/* ---- reading ---- */

/* One that cannot be read is logged and left out; the others are good. */
static int load_query(struct pd_installed *installed, json_t *item, struct pd_error *error)
{
    const char *stopped = json_string_value(json_object_get(item, "stopped"));
    struct pd_installed_query *query;
    json_t *body;
    int err;

    if (!json_is_object(item)) {
        return pd_fail(error, -PD_E_VALUE, "expected an object");
    }
    body = json_copy(item);
    json_object_del(body, "stopped");
    err = pd_installed_parse(body, &query, error);
    if (!err && (!query->id || installed->queries_len == PD_INSTALLATIONS_MAX ||
                 installed->bytes + query->what.json_bytes > PD_INSTALLATIONS_BYTES_MAX ||
                 pd_installed_find(installed, query->id))) {
        err = pd_fail(error, -PD_E_VALUE, "no ID of its own, or no room for it");
        pd_installed_let_go(query);
    }
    if (!err) {
        query->stopped = stopped != NULL;
        atomic_init(&query->gone, query->stopped);
        snprintf(query->error, sizeof query->error, "%s", stopped ? stopped : "");
        pd_installed_insert(installed, query);
    }
    json_decref(body);
    return err;
}

static void load_queries(struct pd_installed *installed, const json_t *document)
{
    const json_t *next_id = json_object_get(document, "next_id");
    json_t *item;
    size_t i;

    if (json_is_integer(next_id) && json_integer_value(next_id) > 0) {
        installed->next_id = (uint64_t)json_integer_value(next_id);
    }
    json_array_foreach(json_object_get(document, "installed"), i, item)
    {
        struct pd_error error = {0};

        if (load_query(installed, item, &error)) {
            pd_log(PD_LOG_ERROR, MODULE, NULL, "%s: installed[%zu] is left out: %s",
                   installed->file, i, error.text);
        }
    }
}

int pd_installed_load(struct pd_installed *installed, struct pd_error *error)
{
    json_t *document = NULL;
    int err = pd_daemon_state_read(installed->file, VERSION, FILE_MAX_BYTES, &document, error);

    if (err == -PD_E_CORRUPT) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "no query is installed: %s", error->text);
        *error = (struct pd_error){0};
        return 0;
    }
    if (document) {
        pthread_mutex_lock(&installed->lock);
        load_queries(installed, document);
        pthread_mutex_unlock(&installed->lock);
        json_decref(document);
    }
    return err;
}

/* ---- writing ---- */

static json_t *item_of(const struct pd_installed_query *query)
{
    json_t *item = json_pack("{s:I}", "id", (json_int_t)query->id);

    if (pd_installed_copy_members(item, query) ||
        (query->stopped && json_object_set_new(item, "stopped", pd_http_text_json(query->error)))) {
        json_decref(item);
        return NULL;
    }
    return item;
}

/* The items are put together under the lock, and written without it: documents do not change. */
int pd_installed_save(struct pd_installed *installed, struct pd_error *error)
{
    json_t *list = json_array(), *document;
    int err = 0;

    pthread_mutex_lock(&installed->lock);
    for (size_t i = 0; i < installed->queries_len && !err; i++) {
        err = json_array_append_new(list, item_of(installed->queries[i]));
    }
    document = json_pack("{s:i, s:I, s:o}", "version", VERSION, "next_id",
                         (json_int_t)installed->next_id, "installed", list);
    pthread_mutex_unlock(&installed->lock);
    if (err || !document) {
        err = pd_fail(error, -ENOMEM, "%.200s: no memory", installed->file);
    } else {
        err = pd_daemon_state_write(installed->file, document, error);
    }
    json_decref(document);
    return err;
}
