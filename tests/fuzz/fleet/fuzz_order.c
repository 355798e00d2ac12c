/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an order: refused, or one whose parts lie within it and whose way can be gone. The
 * signature is not looked at: nobody could make one here. */
#include <gnutls/gnutls.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth) {
        abort();
    }
}

static void check(struct pd_fleet_order *order, size_t size)
{
    const struct pd_fleet_proof_hash none = {{0}};
    struct pd_bytes bytes = {order->bytes + order->way_at, order->way_bytes};
    struct pd_fleet_proof_way way;
    struct pd_fleet_proof_hash top;

    require(order->chain_len && order->chain_len <= PD_TLS_CHAIN_MAX);
    require(order->signed_bytes < order->signature_at);
    require(order->signature_at + order->signature_bytes < order->way_at);
    require(order->way_at + order->way_bytes == size);
    if (!pd_fleet_proof_go(&bytes, order->way_steps, &none, &way, &top)) {
        require(way.len == order->way_steps && bytes.left <= order->way_bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnutls_datum_t from = {(unsigned char *)(uintptr_t)data, (unsigned)size}, text = {0};
    struct pd_fleet_order order;
    struct pd_error error = {0};
    char *copy;
    int err;

    if (gnutls_base64_encode2(&from, &text) < 0) {
        return 0;
    }
    copy = strndup((char *)text.data, text.size);
    gnutls_free(text.data);
    require(copy != NULL);
    err = pd_fleet_order_read(copy, &order, &error);
    require(err ? err == -PD_E_FORBIDDEN && *error.text : 1);
    if (!err) {
        check(&order, size);
        pd_fleet_order_done(&order);
    }
    free(copy);
    return 0;
}
