/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/topology: written and packed once for each inventory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "controller/links/private.h"
#include "controller/routes.h"

void pd_links_topology_done(struct pd_links_topology *topology)
{
    for (unsigned i = 0; i < 2; i++) {
        free(topology->forms[i].bytes);
        free(topology->forms[i].packed);
    }
    pd_controller_inventory_free(topology->inventory);
    *topology = (struct pd_links_topology){0};
}

static uint64_t hash_of(const char *bytes, size_t len)
{
    char tail[4] = "";

    memcpy(tail, bytes + (len & ~(size_t)3), len & 3);
    return pd_hash_mix(pd_hash(bytes, len & ~(size_t)3) ^ pd_hash(tail, sizeof tail) ^ len);
}

static int make_form(struct pd_links_topology *topology, bool with_hosts)
{
    const struct pd_topology *source = topology->inventory->topology;
    char **bytes = &topology->forms[with_hosts].bytes;
    size_t *len = &topology->forms[with_hosts].len;
    FILE *out = open_memstream(bytes, len);
    int err;

    if (!out) {
        return -ENOMEM;
    }
    err = with_hosts ? pd_topology_write(source, out) : pd_topology_write_switches(source, out);
    if (fclose(out) && !err) {
        err = -ENOMEM;
    }
    if (!err) {
        snprintf(topology->forms[with_hosts].version, sizeof topology->forms[with_hosts].version,
                 "%016" PRIx64, hash_of(*bytes, *len));
        err = pd_http_answer_gzip(*bytes, *len, &topology->forms[with_hosts].packed,
                                  &topology->forms[with_hosts].packed_len);
    }
    return err;
}

/* With the lock held. */
static int make_ready(struct pd_links *links, bool with_hosts)
{
    struct pd_links_topology *topology = &links->topology;
    struct pd_inventory *inventory = pd_controller_hosts_inventory(links->controller->hosts);
    int err = 0;

    if (topology->inventory != inventory) {
        pd_links_topology_done(topology);
        topology->inventory = pd_controller_inventory_hold(inventory);
    }
    pd_controller_inventory_free(inventory);
    if (!topology->forms[with_hosts].packed) {
        err = make_form(topology, with_hosts);
    }
    return err;
}

static int read_hosts(struct pd_call *call, bool *ret_with_hosts, struct pd_problem *problem)
{
    char value[PD_TARGET_MAX_BYTES];
    int more;

    *ret_with_hosts = true;
    while ((more = pd_http_target_next(&call->parameters, problem->parameter,
                                       sizeof problem->parameter, value, sizeof value,
                                       &problem->error)) > 0) {
        if (strcmp(problem->parameter, "hosts") != 0) {
            return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY, "%s: unknown parameter",
                           problem->parameter);
        }
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
            return pd_fail(&problem->error, -PD_E_VALUE, "hosts: expects true or false");
        }
        *ret_with_hosts = !strcmp(value, "true");
    }
    return more;
}

/* With the lock held. */
static int send(const struct pd_links_topology *topology, bool with_hosts,
                const struct pd_http_request *http, struct pd_answer *answer)
{
    if (pd_http_answer_version(answer, topology->forms[with_hosts].version, http->if_none_match)) {
        return 0;
    }
    if (!pd_http_answer_gzip_accepted(http->accept_encoding)) {
        return pd_http_answer_write(answer, topology->forms[with_hosts].bytes,
                                    topology->forms[with_hosts].len);
    }
    answer->encoding = "gzip";
    return pd_http_answer_write(answer, topology->forms[with_hosts].packed,
                                topology->forms[with_hosts].packed_len);
}

int pd_links_topology_answer(struct pd_controller *controller, struct pd_call *call,
                             struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_links *links = controller->links;
    bool with_hosts;
    int err = read_hosts(call, &with_hosts, problem);

    if (err) {
        return err;
    }
    pthread_mutex_lock(&links->lock);
    err = make_ready(links, with_hosts);
    if (!err) {
        err = send(&links->topology, with_hosts, call->http, answer);
    }
    pthread_mutex_unlock(&links->lock);
    return err ? err : pd_http_answer_finish(answer);
}
