/* SPDX-License-Identifier: Apache-2.0 */
/* Trees from and to JSON. */
#include "fleet/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/url.h"
#include "json/cursor.h"

#define PLACE_BYTES 320 /* of PD_TREE_DEPTH_MAX + 1 times ".children[199999]" */

/* What the hosts of all lists take, then where the next ones go. */
struct reader {
    size_t hosts;
    size_t url_bytes;
    struct pd_tree *nodes;
    char *urls;
    char place[PLACE_BYTES]; /* the way down to the host that is read */
    struct pd_error *error;
};

/* ---- first: is it a tree at all, and how large ---- */

static int count_list(struct reader *reader, const json_t *list, size_t used, unsigned depth);

static int check_url(const struct pd_json_cursor *at, size_t *bytes)
{
    const char *url = NULL;
    struct pd_error inner = {0};
    int err = pd_json_words(at, "url", &url);

    if (!err && pd_http_url_check(url, &inner)) {
        err = pd_json_wrong(at, "url", "http://HOST:PORT, https://HOST:PORT or unix:/SOCKET");
    }
    *bytes += err ? 0 : strlen(url) + 1;
    return err;
}

/* `used`: of the place. */
static int count_host(struct reader *reader, const json_t *object, size_t used, unsigned depth)
{
    static const char *const members[] = {"id", "url", "children", NULL};
    const struct pd_json_cursor at = {
        .object = object, .place = reader->place, .err = -PD_E_VALUE, .error = reader->error};
    const json_t *children = NULL;
    uint64_t id;
    int err = pd_json_only(&at, members);

    err = err ? err : pd_json_number(&at, "id", 0, UINT32_MAX, &id);
    err = err ? err : check_url(&at, &reader->url_bytes);
    err = err ? err : pd_json_list_or(&at, "children", 0, PD_TREE_HOSTS_MAX, &children);
    if (!err && ++reader->hosts > PD_TREE_HOSTS_MAX) {
        err = pd_fail(reader->error, -PD_E_TOO_LARGE, "%s: there are more than 200000 hosts",
                      reader->place);
    }
    return err ? err : count_list(reader, children, used, depth + 1);
}

static int count_list(struct reader *reader, const json_t *list, size_t used, unsigned depth)
{
    int err = 0;

    for (size_t i = 0; !err && i < json_array_size(list); i++) {
        size_t len = (size_t)snprintf(reader->place + used, PLACE_BYTES - used, "%schildren[%zu]",
                                      used ? "." : "", i);
        err = depth > PD_TREE_DEPTH_MAX
                  ? pd_fail(reader->error, -PD_E_TOO_LARGE, "%s: the tree is deeper than 16 hosts",
                            reader->place)
                  : count_host(reader, json_array_get(list, i), used + len, depth);
    }
    return err;
}

static int count_forest(struct reader *reader, const json_t *children)
{
    if (children && !json_is_array(children)) {
        return pd_fail(reader->error, -PD_E_VALUE, "children: expects a list");
    }
    if (json_array_size(children) > PD_TREE_HOSTS_MAX) {
        return pd_fail(reader->error, -PD_E_TOO_LARGE,
                       "children: there are more than 200000 hosts");
    }
    return count_list(reader, children, 0, 1);
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
    int err = count_forest(&reader, children);

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
