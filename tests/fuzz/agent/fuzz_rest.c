/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as method and target: the reader of requests either gives a sound query or a sound
 * problem document. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/request.h"
#include "http/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth) {
        abort();
    }
}

static void check_query(const struct pd_query *query)
{
    const struct pd_tib_filter *filter = &query->filter;

    require(query->name < PD_QUERY_COUNT);
    require(filter->from_us <= filter->to_us);
    require((filter->flow.fields & ~(unsigned)PD_FLOW_ALL) == 0);
    require(!filter->path || (query->path.len >= 1 && query->path.len <= PD_PATH_MAX));
    require(!(filter->flow.fields & (PD_FLOW_SRC_IP | PD_FLOW_DST_IP)) ||
            filter->flow.id.ip_version == 4 || filter->flow.id.ip_version == 6);
}

static void check_problem(int err, const struct pd_problem *problem)
{
    struct pd_answer answer;
    json_t *document;

    require(err < 0 && problem->error.code == err && problem->error.text[0]);
    pd_http_answer_init(&answer);
    pd_http_answer_problem(&answer, problem);
    require(answer.http_status >= 400 && answer.http_status < 500);
    document = json_loadb(answer.bytes, answer.len, JSON_REJECT_DUPLICATES, NULL);
    require(json_integer_value(json_object_get(document, "status")) == answer.http_status);
    require(json_string_length(json_object_get(document, "detail")) > 0);
    json_decref(document);
    pd_http_answer_done(&answer);
}

/* The first line is the method, the rest the target: as the HTTP library would pass them, but with
 * NULs as well. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    struct pd_request request = {.route = PD_ROUTE_COUNT};
    struct pd_problem problem = {0};
    char method[16] = "GET";
    size_t target_bytes = size;
    char *target;
    int err;

    if (line) {
        size_t len =
            (size_t)(line - data) < sizeof method ? (size_t)(line - data) : sizeof method - 1;

        memcpy(method, data, len);
        method[len] = '\0';
        target_bytes = size - (size_t)(line - data) - 1;
    }
    /* Of exactly this size, so that one byte too far is found. */
    target = malloc(target_bytes ? target_bytes : 1);
    require(target != NULL);
    if (target_bytes) {
        memcpy(target, data + size - target_bytes, target_bytes);
    }
    struct pd_http_request http = {.role = PD_ROLE_ADMIN,
                                   .method = method,
                                   .target = target,
                                   .target_bytes = target_bytes,
                                   .body = target,
                                   .body_bytes = target_bytes};
    err = pd_agent_request_parse(&http, &request, &problem);
    if (err) {
        check_problem(err, &problem);
    } else if (request.route == PD_ROUTE_QUESTION) {
        require(request.document.question != NULL);
        if (pd_query_document_query(&request.document)) {
            check_query(pd_query_document_query(&request.document));
        }
    } else {
        require(request.route < PD_ROUTE_COUNT);
    }
    pd_agent_request_done(&request);
    free(target);
    return 0;
}
