/* SPDX-License-Identifier: Apache-2.0 */
/* Any document as an order of probes: what is read can be sent. */
#include <stdlib.h>

#include "probe/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_all(const struct pd_probe_order *order, const struct pd_topology *topology)
{
    for (size_t i = 0; i < order->ways_len; i++) {
        const struct pd_probe_carrier_request request =
            pd_probe_order_request(order, &order->ways[i], topology, 1, 2);
        uint8_t frame[PD_PROBE_CARRIER_FRAME_MAX];
        size_t bytes = 0;

        if (order->carrier->encode(&request, frame, &bytes, NULL) || bytes > sizeof frame) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pd_topology *topology;
    struct pd_probe_order order;

    if (!topology && pd_topology_fat_tree(4, &topology, NULL)) {
        abort();
    }
    json_t *document = json_loadb((const char *)data, size, 0, NULL);
    if (document && !pd_probe_order_read(document, topology, &order, NULL)) {
        send_all(&order, topology);
    }
    if (document) {
        pd_probe_order_done(&order);
    }
    json_decref(document);
    return 0;
}
