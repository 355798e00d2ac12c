/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of installed queries: documents, counters, last answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/counters.h"
#include "agent/installed/list.h"
#include "http/body.h"
#include "http/text.h"

#define SET(object, name, value) \
    json_object_set_new(object, name, json_integer((json_int_t)(value)))

static json_t *query_json(const struct pd_installed_query *query)
{
    json_t *object = json_pack("{s:I}", "id", (json_int_t)query->id);

    pd_installed_copy_members(object, query);
    json_object_set_new(object, "state", json_string(query->stopped ? "stopped" : "active"));
#define X(name, text) SET(object, #name, pd_counted(&query->counters.name));
    PD_INSTALLED_COUNTERS(X)
#undef X
    json_object_set_new(object, "last_us",
                        query->last_us ? json_integer((json_int_t)query->last_us) : json_null());
    json_object_set_new(object, "error",
                        query->error[0] ? pd_http_text_json(query->error) : json_null());
    return object;
}

json_t *pd_installed_list(struct pd_installed *installed)
{
    json_t *list = json_array();

    pthread_mutex_lock(&installed->lock);
    for (size_t i = 0; i < installed->queries_len; i++) {
        json_array_append_new(list, query_json(installed->queries[i]));
    }
    pthread_mutex_unlock(&installed->lock);
    return json_pack("{s:o}", "installed", list);
}

/* The answer is read outside the lock: it may be long. */
int pd_installed_get(struct pd_installed *installed, uint64_t id, json_t **ret_query)
{
    const struct pd_installed_query *query;
    json_t *object = NULL, *answer = NULL;
    char *text = NULL;

    pthread_mutex_lock(&installed->lock);
    query = pd_installed_find(installed, id);
    if (query) {
        object = query_json(query);
        SET(object, "answer_bytes", query->answer_bytes);
        text = query->answer ? strdup(query->answer) : NULL;
    }
    pthread_mutex_unlock(&installed->lock);
    if (!query) {
        return -PD_E_NOT_FOUND;
    }
    if (text && pd_http_body_json(text, strlen(text), &answer, NULL)) {
        answer = NULL;
    }
    json_object_set_new(object, "answer", answer ? answer : json_null());
    free(text);
    *ret_query = object;
    return object ? 0 : -ENOMEM;
}

void pd_installed_sums(struct pd_installed *installed, struct pd_installed_sums *ret_sums)
{
    *ret_sums = (struct pd_installed_sums){0};
    if (!installed) {
        return;
    }
    pthread_mutex_lock(&installed->lock);
    *ret_sums = installed->before;
    for (size_t i = 0; i < installed->queries_len; i++) {
        const struct pd_installed_query *query = installed->queries[i];

#define X(name, text) ret_sums->name += pd_counted(&query->counters.name);
        PD_INSTALLED_COUNTERS(X)
#undef X
        if (query->stopped) {
            ret_sums->stopped++;
        } else {
            ret_sums->active++;
        }
    }
    pthread_mutex_unlock(&installed->lock);
    ret_sums->events_dropped = pd_counted(&installed->feed.dropped);
    ret_sums->events = pd_counted(&installed->feed.given) + ret_sums->events_dropped;
}
