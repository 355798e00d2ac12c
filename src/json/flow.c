/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects: addresses and flow IDs. */
#include "json/cursor.h"

int pd_json_addr(const struct pd_json_cursor *at, const char *member, struct pd_addr *ret_addr,
                 uint8_t *ret_ip_version)
{
    char text[PD_ADDR_TEXT_BYTES];
    int err = pd_json_text(at, member, text, sizeof text);

    if (err) {
        return err;
    }
    return pd_addr_parse(text, ret_addr, ret_ip_version)
               ? pd_json_wrong(at, member, "an IPv4 or IPv6 address")
               : 0;
}

int pd_json_flow(const struct pd_json_cursor *at, struct pd_flow_id *ret_flow)
{
    struct pd_flow_id flow = {.zero = {0}};
    uint64_t src_port, dst_port, protocol;
    uint8_t version;
    int err = json_is_object(at->object) ? 0 : pd_json_wrong(at, "", "an object");

    err = err ? err : pd_json_addr(at, "src_ip", &flow.src, &flow.ip_version);
    err = err ? err : pd_json_addr(at, "dst_ip", &flow.dst, &version);
    err = err ? err : pd_json_number(at, "src_port", 0, UINT16_MAX, &src_port);
    err = err ? err : pd_json_number(at, "dst_port", 0, UINT16_MAX, &dst_port);
    err = err ? err : pd_json_number(at, "protocol", 0, UINT8_MAX, &protocol);
    if (err) {
        return err;
    }
    if (version != flow.ip_version) {
        return pd_json_wrong(at, "dst_ip", "an address of the family of src_ip");
    }
    flow.src_port = (uint16_t)src_port;
    flow.dst_port = (uint16_t)dst_port;
    flow.protocol = (uint8_t)protocol;
    *ret_flow = flow;
    return 0;
}
