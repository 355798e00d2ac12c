/* SPDX-License-Identifier: Apache-2.0 */
/* The inventory: the topology, and which of its hosts run an agent and where. */
#ifndef PD_CONTROLLER_INVENTORY_H
#define PD_CONTROLLER_INVENTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "topology/topology.h"

/* Read from two files that belong together, at start and at each reload, all or nothing. The hosts
 * file is a JSON array of
 *
 *     {"id": 21, "name": "h1", "url": "http://127.0.0.1:8001"}
 *
 * where `id` is the host's ID in the topology, `name` may be missing (then it is the topology's),
 * and IDs, names and URLs are not there twice. Errors name the place: "hosts.json: [3].url: …".
 *
 * Thread safety: immutable once read; whoever uses one holds a reference, so a reload pulls nothing
 * away under a query. */

#define PD_INVENTORY_FILE_BYTES ((size_t)64 << 20)
#define PD_INVENTORY_NAME_BYTES 65 /* with the final NUL */

struct pd_inventory_host {
    uint32_t id;
    uint32_t index; /* in the topology's hosts */
    const char *name;
    const char *url;
};

struct pd_inventory {
    struct pd_topology *topology;
    struct pd_inventory_host *hosts; /* in ascending order of ID */
    size_t hosts_len;
    void *storage; /* owns all of this and counts references */
};

/* -PD_E_SYNTAX, -PD_E_VALUE, -PD_E_UNKNOWN_KEY, -PD_E_TOO_LARGE, what pd_topology_read returns, or
 * -errno; always in words. */
int pd_controller_inventory_read(const char *topology_file, const char *hosts_file,
                                 struct pd_inventory **ret_inventory, struct pd_error *error);

/* The same with a topology that is there already (the inventory's from then on, also after an
 * error) and text instead of a file. */
int pd_controller_inventory_parse(struct pd_topology *topology, const char *json, size_t bytes,
                                  const char *name, struct pd_inventory **ret_inventory,
                                  struct pd_error *error);

struct pd_inventory *pd_controller_inventory_hold(struct pd_inventory *inventory);
void pd_controller_inventory_free(
    struct pd_inventory *inventory); /* lets go of one reference; NULL is fine */

/* Index of the host with this ID or name, or SIZE_MAX. */
size_t pd_controller_inventory_find(const struct pd_inventory *inventory, uint32_t id);
size_t pd_controller_inventory_find_name(const struct pd_inventory *inventory, const char *name);

#endif
