/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the body of POST /v1/query, and as its Accept: what is read as a tree is sound and
 * is read again from what is written of it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/execute.h"
#include "http/accept.h"
#include "http/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth) {
        abort();
    }
}

static unsigned depth(const struct pd_tree *trees, size_t len)
{
    unsigned deepest = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned below = depth(trees[i].children, trees[i].children_len);

        deepest = below > deepest ? below : deepest;
    }
    return deepest + (len > 0);
}

static char *write_out(const struct pd_forest *forest)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    require(out != NULL);
    pd_fleet_trees_write(forest->trees, forest->trees_len, out);
    require(!fclose(out));
    return text;
}

static void check_forest(const struct pd_forest *forest)
{
    char *text = write_out(forest), *again;
    json_t *json = json_loads(text, 0, NULL);
    struct pd_forest second;

    require(depth(forest->trees, forest->trees_len) <= PD_TREE_DEPTH_MAX);
    require(forest->hosts == pd_fleet_trees_hosts(forest->trees, forest->trees_len));
    require(json && !pd_fleet_forest_parse(json, &second, NULL));
    again = write_out(&second);
    require(!strcmp(text, again));
    pd_fleet_forest_done(&second);
    json_decref(json);
    free(again);
    free(text);
}

static void check_question(const json_t *body)
{
    static const char *const others[] = {"deadline_ms", "children", NULL};
    struct pd_document document;
    struct pd_forest forest;
    struct pd_error error = {0};
    uint64_t deadline_ns;
    int err = pd_fleet_forest_parse(json_object_get(body, "children"), &forest, &error);

    require(!err || error.text[0]);
    if (!err) {
        check_forest(&forest);
        pd_fleet_forest_done(&forest);
    }
    err = pd_query_document_parse(body, others, &document, &error);
    require(!err || error.text[0]);
    if (!err) {
        pd_query_document_done(&document);
    }
    pd_fleet_execute_deadline(json_object_get(body, "deadline_ms"), &deadline_ns, NULL);
}

static void check_accept(const uint8_t *data, size_t size)
{
    static const char *const types[] = {"application/json", PD_EXECUTE_NDJSON_TYPE,
                                        PD_EXECUTE_PARTIAL_TYPE};
    char *text = malloc(size + 1);
    size_t index = 0;

    require(text != NULL);
    if (size) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    int err = pd_http_accept_choose(text, types, 3, &index, NULL);
    require(err ? err == -PD_E_NOT_ACCEPTABLE : index < 3);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pd_error error = {0};
    json_t *body;

    check_accept(data, size);
    if (pd_http_body_json((const char *)data, size, &body, &error)) {
        require(error.text[0] != '\0');
        return 0;
    }
    check_question(body);
    json_decref(body);
    return 0;
}
