/* SPDX-License-Identifier: Apache-2.0 */
/* Transports: their members of a scenario, and bytes on the wire. */
#include "sim/transport.h"

#include <string.h>

#include "json/cursor.h"

static int read_whole(const json_t *root, const char *key, json_int_t most, uint32_t *value,
                      struct pd_error *error)
{
    const json_t *given = json_object_get(root, key);

    if (!given) {
        return 0;
    }
    if (!json_is_integer(given) || json_integer_value(given) < 0 ||
        json_integer_value(given) > most) {
        return pd_fail(error, -PD_E_VALUE, "%s: expected an integer from 0 to %d", key, (int)most);
    }
    *value = (uint32_t)json_integer_value(given);
    return 0;
}

static int read_kind(const json_t *root, enum pd_sim_transport_kind *kind, struct pd_error *error)
{
    static const char *const names[] = {
        [PD_SIM_TCP] = "tcp", [PD_SIM_HPCC_INT] = "hpcc-int", [PD_SIM_HPCC_PINT] = "hpcc-pint"};
    const json_t *given = json_object_get(root, "transport");
    const char *text = given ? json_string_value(given) : "tcp";

    for (unsigned i = 0; text && i < sizeof names / sizeof *names; i++) {
        if (!strcmp(text, names[i])) {
            *kind = (enum pd_sim_transport_kind)i;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE,
                   "transport: expected \"tcp\", \"hpcc-int\" or \"hpcc-pint\"");
}

int pd_sim_transport_read(const json_t *root, bool packets, struct pd_sim_transport *ret_transport,
                          struct pd_error *error)
{
    static const char *const roomy[] = {"transport", "overhead_bytes", "telemetry"};
    struct pd_sim_transport read = {.hop_ns = 10000};

    for (unsigned i = 0; i < sizeof roomy / sizeof *roomy; i++) {
        if (json_object_get(root, roomy[i])) {
            read.roomy = true;
            if (!packets) {
                return pd_fail(error, -PD_E_VALUE, "%s: only at the level of packets", roomy[i]);
            }
        }
    }
    int err = read_kind(root, &read.kind, error);
    err =
        err ? err
            : read_whole(root, "overhead_bytes", PD_SIM_OVERHEAD_MAX, &read.overhead_bytes, error);
    err = err ? err : read_whole(root, "hop_ns", 10000000, &read.hop_ns, error);
    if (!err) {
        read.overhead_given = json_object_get(root, "overhead_bytes") != NULL;
        if (!read.overhead_given && read.kind == PD_SIM_HPCC_PINT) {
            read.overhead_bytes = PD_SIM_TAG_BYTES;
        }
        *ret_transport = read;
    }
    return err;
}

double pd_sim_transport_overhead(const struct pd_sim_transport *transport, uint32_t hop)
{
    if (transport->overhead_given || transport->kind != PD_SIM_HPCC_INT) {
        return transport->overhead_bytes;
    }
    return PD_SIM_INT_BYTES + PD_SIM_INT_HOP_BYTES * (double)hop;
}

double pd_sim_transport_ack(const struct pd_sim_transport *transport, uint32_t switches)
{
    double echo = transport->kind == PD_SIM_HPCC_INT
                      ? PD_SIM_INT_BYTES + PD_SIM_INT_HOP_BYTES * (double)switches
                  : transport->kind == PD_SIM_HPCC_PINT ? PD_SIM_TAG_BYTES
                                                        : 0;

    return PD_SIM_ACK_BYTES + echo;
}
