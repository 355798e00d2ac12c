/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: what each link usually carries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "localise/evidence/model.h"
#include "topology/links.h"

/* Each host has one flow to each other rack, in shares; ECMP splits them hop by hop. One pass for
 * each rack that receives. */
struct usual {
    const struct pd_localise_network *network;
    const struct pd_topology *topology;
    double *carried; /* by link */
    double *hosts;   /* by switch: below it; of one at several a share each */
    uint32_t racks;
    uint32_t *far, *queue;
    double *mass;
};

static void usual_done(struct usual *u)
{
    free(u->hosts);
    free(u->far);
    free(u->queue);
    free(u->mass);
}

static int usual_init(struct usual *u)
{
    uint32_t len = u->topology->switches_len;
    u->hosts = calloc(len, sizeof *u->hosts);
    u->far = calloc(len, sizeof *u->far);
    u->queue = calloc(len, sizeof *u->queue);
    u->mass = calloc(len, sizeof *u->mass);
    if (!u->hosts || !u->far || !u->queue || !u->mass) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < len; s++) {
        u->hosts[s] = pd_localise_hosts(u->topology, s);
        u->racks += u->hosts[s] > 0;
    }
    return 0;
}

static uint32_t count_next(const struct usual *u, uint32_t at)
{
    const struct pd_switch *sw = &u->topology->switches[at];
    uint32_t count = 0;
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        count += u->far[sw->neighbours[n].node] == u->far[at] - 1;
    }
    return count;
}

static void send_on(struct usual *u, uint32_t at)
{
    const struct pd_switch *sw = &u->topology->switches[at];
    double each = u->mass[at] / count_next(u, at);
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        uint32_t next = sw->neighbours[n].node;
        if (u->far[next] == u->far[at] - 1) {
            u->mass[next] += each;
            u->carried[sw->neighbours[n].link] += each;
        }
    }
}

static void send_to(struct usual *u, uint32_t rack)
{
    const struct pd_switch *sw = &u->topology->switches[rack];
    uint32_t reached = 0;
    pd_localise_distances(u->topology, rack, u->far, u->queue);
    for (uint32_t s = 0; s < u->topology->switches_len; s++) {
        reached += u->far[s] != PD_NONE;
        u->mass[s] =
            s == rack || u->far[s] == PD_NONE ? 0 : u->hosts[s] / (u->racks > 1 ? u->racks - 1 : 1);
    }
    for (uint32_t i = reached; i-- > 1;) {
        if (u->mass[u->queue[i]] > 0) {
            send_on(u, u->queue[i]);
        }
    }
    for (uint32_t n = sw->switch_neighbours; n < sw->neighbours_len; n++) {
        double share = pd_localise_share(u->topology, sw->neighbours[n].node);
        u->carried[sw->neighbours[n].link] = share * u->mass[rack] / u->hosts[rack];
        u->carried[pd_links_reverse(sw->neighbours[n].link)] = share;
    }
}

int pd_evidence_model_usual(struct pd_evidence_model *model)
{
    struct usual u = {.network = model->network, .topology = model->network->topology};
    if (model->usual) {
        return 0;
    }
    u.carried = calloc((size_t)model->network->links_len + 1, sizeof *u.carried);
    int err = u.carried ? usual_init(&u) : -ENOMEM;
    for (uint32_t s = 0; s < u.topology->switches_len && !err; s++) {
        if (u.hosts[s] > 0) {
            send_to(&u, s);
        }
    }
    usual_done(&u);
    if (err) {
        free(u.carried);
    } else {
        model->usual = u.carried;
    }
    return err;
}
