/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of resolvers. */
#include "trace/resolver.h"

#include <string.h>

extern const struct pd_trace_resolver_ops pd_trace_by_none, pd_trace_by_file, pd_trace_by_http,
    pd_trace_by_conntrack;

const struct pd_trace_resolver_ops *const pd_trace_resolvers[] = {
    &pd_trace_by_none, &pd_trace_by_file, &pd_trace_by_http, &pd_trace_by_conntrack, NULL};

static int nobody(void *state, const struct pd_flow_id *flow, struct pd_trace_end *ret_end)
{
    (void)state;
    (void)flow;
    (void)ret_end;
    return -PD_E_NOT_FOUND;
}

const struct pd_trace_resolver_ops pd_trace_by_none = {
    .name = "none", .help = "no flow to a virtual address is traced", .resolve = nobody};

static const struct pd_trace_resolver_ops *find(const char *spec, const char **ret_value)
{
    for (size_t i = 0; pd_trace_resolvers[i]; i++) {
        const struct pd_trace_resolver_ops *ops = pd_trace_resolvers[i];
        size_t len = strlen(ops->name);

        if (!strncmp(spec, ops->name, len) && spec[len] == (ops->value ? ':' : '\0') &&
            (!ops->value || spec[len + 1])) {
            *ret_value = ops->value ? spec + len + 1 : NULL;
            return ops;
        }
    }
    return NULL;
}

int pd_trace_resolver_open(const char *spec, struct pd_trace_resolver *ret_resolver,
                           struct pd_error *error)
{
    const char *value = NULL;
    struct pd_trace_resolver resolver = {.ops = find(spec, &value)};
    int err = 0;

    if (!resolver.ops) {
        return pd_fail(error, -PD_E_VALUE,
                       "expects none, file:FILE, http:URL or conntrack, not \"%.100s\"", spec);
    }
    if (resolver.ops->open) {
        err = resolver.ops->open(value, &resolver.state, error);
    }
    if (!err) {
        *ret_resolver = resolver;
    }
    return err;
}

void pd_trace_resolver_close(struct pd_trace_resolver *resolver)
{
    if (resolver->ops && resolver->ops->close) {
        resolver->ops->close(resolver->state);
    }
    *resolver = (struct pd_trace_resolver){0};
}

int pd_trace_end_read(const json_t *object, const struct pd_flow_id *flow,
                      struct pd_trace_end *ret_end)
{
    const char *dip = json_string_value(json_object_get(object, "dip"));
    const json_t *port = json_object_get(object, "dip_port");
    json_int_t number = port ? json_integer_value(port) : flow->dst_port;
    struct pd_trace_end end = {0};
    uint8_t version;

    if (!dip || pd_addr_parse(dip, &end.addr, &version) || version != flow->ip_version ||
        number < 1 || number > UINT16_MAX) {
        return -PD_E_VALUE;
    }
    end.port = (uint16_t)number;
    *ret_end = end;
    return 0;
}
