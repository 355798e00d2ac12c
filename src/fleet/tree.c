/* SPDX-License-Identifier: Apache-2.0 */
/* Trees from and to JSON. */
#include "fleet/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/url.h"

/* Where in the document: the way up from a list's member. */
struct place {
    const struct place *up;
    size_t i;
};

/* What the hosts of all lists take, then where the next ones go. */
struct reader {
    size_t hosts;
    size_t url_bytes;
    struct pd_tree *nodes;
    char *urls;
    struct pd_error *error;
};

static int name_place(const struct place *place, char *text, size_t bytes)
{
    int len = place->up ? name_place(place->up, text, bytes) : 0;

    if (len < (int)bytes) {
        len += snprintf(text + len, bytes - (size_t)len, "%schildren[%zu]", place->up ? "." : "",
                        place->i);
    }
    return len;
}

static int refuse(const struct reader *reader, const struct place *place, int err,
                  const char *words)
{
    char text[300] = "";

    name_place(place, text, sizeof text);
    return pd_fail(reader->error, err, "%s%s", text, words);
}

/* ---- first: is it a tree at all, and how large ---- */

static int count_list(struct reader *reader, const json_t *list, const struct place *up,
                      unsigned depth);

static int check_member(const struct reader *reader, const json_t *object,
                        const struct place *place)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (strcmp(name, "id") && strcmp(name, "url") && strcmp(name, "children")) {
            return refuse(reader, place, -PD_E_UNKNOWN_KEY,
                          ": unknown member; there are id, url and children");
        }
    }
    return 0;
}

static int count_host(struct reader *reader, const json_t *object, const struct place *place,
                      unsigned depth)
{
    const json_t *id = json_object_get(object, "id"), *url = json_object_get(object, "url");
    struct pd_error inner = {0};

    if (!json_is_object(object)) {
        return refuse(reader, place, -PD_E_VALUE, ": expects {\"id\", \"url\", \"children\"}");
    }
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > UINT32_MAX) {
        return refuse(reader, place, -PD_E_VALUE, ".id: expects a host's ID, 0 to 4294967295");
    }
    if (!json_is_string(url) || pd_http_url_check(json_string_value(url), &inner)) {
        return refuse(reader, place, -PD_E_VALUE,
                      ".url: expects http://HOST:PORT, https://HOST:PORT or unix:/SOCKET");
    }
    if (++reader->hosts > PD_TREE_HOSTS_MAX) {
        return refuse(reader, place, -PD_E_TOO_LARGE, ": there are more than 200000 hosts");
    }
    reader->url_bytes += json_string_length(url) + 1;
    int err = check_member(reader, object, place);
    return err ? err : count_list(reader, json_object_get(object, "children"), place, depth + 1);
}

static int count_list(struct reader *reader, const json_t *list, const struct place *up,
                      unsigned depth)
{
    int err = 0;

    if (!list) {
        return 0;
    }
    struct place place = {up, 0};
    if (!json_is_array(list)) {
        return up ? refuse(reader, up, -PD_E_VALUE, ".children: expects a list")
                  : pd_fail(reader->error, -PD_E_VALUE, "children: expects a list");
    }
    for (; !err && place.i < json_array_size(list); place.i++) {
        err = depth > PD_TREE_DEPTH_MAX
                  ? refuse(reader, &place, -PD_E_TOO_LARGE, ": the tree is deeper than 16 hosts")
                  : count_host(reader, json_array_get(list, place.i), &place, depth);
    }
    return err;
}

/* ---- then: the nodes; those of a list stand side by side ---- */

static struct pd_tree *fill_list(struct reader *reader, const json_t *list, size_t *ret_len)
{
    size_t len = json_array_size(list);
    struct pd_tree *nodes = reader->nodes;

    reader->nodes += len;
    for (size_t i = 0; i < len; i++) {
        const json_t *object = json_array_get(list, i), *url = json_object_get(object, "url");
        size_t bytes = json_string_length(url) + 1;

        nodes[i].host = (uint32_t)json_integer_value(json_object_get(object, "id"));
        nodes[i].url = memcpy(reader->urls, json_string_value(url), bytes);
        reader->urls += bytes;
        nodes[i].children =
            fill_list(reader, json_object_get(object, "children"), &nodes[i].children_len);
    }
    *ret_len = len;
    return nodes;
}

static int check_twice(const struct pd_forest *forest, struct pd_error *error)
{
    size_t len;
    uint32_t *ids = pd_fleet_trees_ids(forest->trees, forest->trees_len, &len);
    int err = 0;

    if (!ids) {
        return -ENOMEM;
    }
    for (size_t i = 1; !err && i < len; i++) {
        if (ids[i] == ids[i - 1]) {
            err = pd_fail(error, -PD_E_VALUE, "children: host %u stands there twice", ids[i]);
        }
    }
    free(ids);
    return err;
}

int pd_fleet_forest_parse(const json_t *children, struct pd_forest *ret_forest,
                          struct pd_error *error)
{
    struct reader reader = {.error = error};
    struct pd_forest forest = {0};
    int err = count_list(&reader, children, NULL, 1);

    if (err) {
        return err;
    }
    forest.hosts = reader.hosts;
    forest.trees = reader.nodes = calloc(reader.hosts + 1, sizeof *forest.trees);
    forest.memory = reader.urls = malloc(reader.url_bytes + 1);
    if (!forest.trees || !forest.memory) {
        pd_fleet_forest_done(&forest);
        return pd_fail(error, -ENOMEM, "children: no memory");
    }
    fill_list(&reader, children, &forest.trees_len);
    err = check_twice(&forest, error);
    if (err) {
        pd_fleet_forest_done(&forest);
    } else {
        *ret_forest = forest;
    }
    return err;
}

void pd_fleet_forest_done(struct pd_forest *forest)
{
    free(forest->trees);
    free(forest->memory);
    *forest = (struct pd_forest){0};
}

/* ---- what trees hold ---- */

size_t pd_fleet_trees_hosts(const struct pd_tree *trees, size_t len)
{
    size_t hosts = len;

    for (size_t i = 0; i < len; i++) {
        hosts += pd_fleet_trees_hosts(trees[i].children, trees[i].children_len);
    }
    return hosts;
}

static uint32_t *collect_ids(const struct pd_tree *trees, size_t len, uint32_t *at)
{
    for (size_t i = 0; i < len; i++) {
        *at++ = trees[i].host;
        at = collect_ids(trees[i].children, trees[i].children_len, at);
    }
    return at;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

uint32_t *pd_fleet_trees_ids(const struct pd_tree *trees, size_t len, size_t *ret_len)
{
    size_t hosts = pd_fleet_trees_hosts(trees, len);
    uint32_t *ids = malloc((hosts + 1) * sizeof *ids);

    if (!ids) {
        return NULL;
    }
    collect_ids(trees, len, ids);
    qsort(ids, hosts, sizeof *ids, by_number);
    *ret_len = hosts;
    return ids;
}

/* Of what pd_http_url_check lets pass, only these two need it. */
static void write_text(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            putc('\\', out);
        }
        putc(*text, out);
    }
    putc('"', out);
}

void pd_fleet_trees_write(const struct pd_tree *trees, size_t len, FILE *out)
{
    putc('[', out);
    for (size_t i = 0; i < len; i++) {
        fprintf(out, "%s{\"id\":%u,\"url\":", i ? "," : "", trees[i].host);
        write_text(trees[i].url, out);
        if (trees[i].children_len) {
            fputs(",\"children\":", out);
            pd_fleet_trees_write(trees[i].children, trees[i].children_len, out);
        }
        putc('}', out);
    }
    putc(']', out);
}
