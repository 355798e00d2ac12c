/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver `http:`: the load balancer is asked, once a flow and for 50 ms at most. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <jansson.h>

#include "trace/resolver.h"

/* GET URL?src_ip=…&src_port=…&dst_ip=…&dst_port=…&protocol=6 → {"dip","dip_port"}. Redirections are
 * not followed: who says where else to ask could have anybody asked. */

#define ANSWER_BYTES 4096u

struct asking {
    CURL *curl;
    char *url;
    char bytes[ANSWER_BYTES];
    size_t len;
};

static void close_asking(void *state)
{
    struct asking *asking = state;

    if (asking) {
        curl_easy_cleanup(asking->curl);
        free(asking->url);
        free(asking);
    }
}

/* More than there is room for is no answer: curl then fails. */
static size_t take(char *bytes, size_t size, size_t n, void *context)
{
    struct asking *asking = context;
    size_t len = size * n;

    if (len > sizeof asking->bytes - asking->len) {
        return 0;
    }
    memcpy(asking->bytes + asking->len, bytes, len);
    asking->len += len;
    return len;
}

static int set_up(struct asking *asking)
{
    CURL *curl = asking->curl;
    bool failed = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");

    failed |= curl_easy_setopt(curl, CURLOPT_PROXY, "");
    failed |= curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    failed |= curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)PD_TRACE_RESOLVE_MS);
    failed |= curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    failed |= curl_easy_setopt(curl, CURLOPT_WRITEDATA, asking);
    return failed ? -ENOMEM : 0;
}

/* "http:" may be the scheme already: http://slb/dip, http:https://slb/dip, http:slb:8080/dip. */
static int make_url(const char *value, char **ret_url)
{
    const char *before = !strncmp(value, "//", 2) ? "http:" : strstr(value, "://") ? "" : "http://";

    return asprintf(ret_url, "%s%s", before, value) < 0 ? -ENOMEM : 0;
}

static int open_asking(const char *value, void **ret_state, struct pd_error *error)
{
    struct asking *asking = calloc(1, sizeof *asking);
    int err = asking ? make_url(value, &asking->url) : -ENOMEM;

    if (!err && !(asking->curl = curl_easy_init())) {
        err = -ENOMEM;
    }
    if (!err) {
        err = set_up(asking);
    }
    if (err) {
        close_asking(asking);
        return pd_fail(error, err, "no memory");
    }
    *ret_state = asking;
    return 0;
}

static int read_answer(const struct asking *asking, const struct pd_flow_id *flow,
                       struct pd_trace_end *ret_end)
{
    json_t *answer = json_loadb(asking->bytes, asking->len, 0, NULL);
    int err = pd_trace_end_read(answer, flow, ret_end);

    json_decref(answer);
    return err;
}

static int resolve(void *state, const struct pd_flow_id *flow, struct pd_trace_end *ret_end)
{
    struct asking *asking = state;
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES], *url;
    long status = 0;
    int got = asprintf(&url, "%s%csrc_ip=%s&src_port=%u&dst_ip=%s&dst_port=%u&protocol=6",
                       asking->url, strchr(asking->url, '?') ? '&' : '?',
                       pd_addr_format(&flow->src, flow->ip_version, src), flow->src_port,
                       pd_addr_format(&flow->dst, flow->ip_version, dst), flow->dst_port);

    if (got < 0) {
        return -ENOMEM;
    }
    asking->len = 0;
    bool failed = curl_easy_setopt(asking->curl, CURLOPT_URL, url) ||
                  curl_easy_perform(asking->curl) ||
                  curl_easy_getinfo(asking->curl, CURLINFO_RESPONSE_CODE, &status);
    free(url);
    if (failed) {
        return -PD_E_UNREACHABLE;
    }
    return status == 200 ? read_answer(asking, flow, ret_end) : -PD_E_NOT_FOUND;
}

const struct pd_trace_resolver_ops pd_trace_by_http = {
    .name = "http",
    .value = "URL",
    .help = "the load balancer is asked, once a flow",
    .open = open_asking,
    .resolve = resolve,
    .close = close_asking,
};
