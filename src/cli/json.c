/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: answers printed, and what others wrote read. */
#include "cli/json.h"

#include "cli/cli.h"
#include "query/way.h"

int pd_cli_json_print(json_t *document, struct pd_error *error)
{
    int err = PD_CLI_OK;
    if (!document || json_dumpf(document, stdout, JSON_COMPACT)) {
        err = pd_fail(error, -PD_E_FULL, "the answer could not be written");
    } else {
        putchar('\n');
    }
    json_decref(document);
    return err;
}

int pd_cli_read_bad(const struct pd_cli_reader *reader, const char *key, const char *expected)
{
    return pd_fail(reader->error, -PD_E_SYNTAX, "%s \"%s\" is not %s", reader->where, key,
                   expected);
}

static bool is_number(const json_t *value, uint64_t max)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           (uint64_t)json_integer_value(value) <= max;
}

int pd_cli_read_number(const struct pd_cli_reader *reader, const json_t *object, const char *key,
                       uint64_t max, uint64_t *ret_number)
{
    const json_t *value = json_object_get(object, key);
    if (!is_number(value, max)) {
        return pd_cli_read_bad(reader, key, "a number in its range");
    }
    *ret_number = (uint64_t)json_integer_value(value);
    return 0;
}

int pd_cli_read_array(const struct pd_cli_reader *reader, const json_t *object, const char *key,
                      const json_t **ret_array)
{
    const json_t *array = json_object_get(object, key);
    if (!json_is_array(array)) {
        return pd_cli_read_bad(reader, key, "a list");
    }
    *ret_array = array;
    return 0;
}

int pd_cli_read_addr(const struct pd_cli_reader *reader, const json_t *object, const char *key,
                     struct pd_addr *ret_addr, uint8_t *ret_ip_version)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text || pd_addr_parse(text, ret_addr, ret_ip_version)) {
        return pd_cli_read_bad(reader, key, "an address");
    }
    return 0;
}

int pd_cli_read_switches(const struct pd_cli_reader *reader, const json_t *array,
                         struct pd_path *path)
{
    const char *expected = pd_query_way_read_switches(array, path);

    return expected ? pd_cli_read_bad(reader, "path", expected) : 0;
}

int pd_cli_read_path(const struct pd_cli_reader *reader, const json_t *object,
                     struct pd_path *ret_path, struct pd_claim *ret_claim)
{
    const char *member, *expected = pd_query_way_read(object, ret_path, ret_claim, &member);

    return expected ? pd_cli_read_bad(reader, member, expected) : 0;
}

static int read_addrs(const struct pd_cli_reader *reader, const json_t *id, struct pd_flow_id *flow)
{
    uint8_t dst_version;
    int err = pd_cli_read_addr(reader, id, "src_ip", &flow->src, &flow->ip_version);
    if (!err) {
        err = pd_cli_read_addr(reader, id, "dst_ip", &flow->dst, &dst_version);
    }
    if (!err && dst_version != flow->ip_version) {
        err = pd_cli_read_bad(reader, "dst_ip", "an address of the same family as \"src_ip\"");
    }
    return err;
}

int pd_cli_read_flow(const struct pd_cli_reader *reader, const json_t *object,
                     struct pd_flow_id *ret_flow)
{
    const json_t *id = json_object_get(object, "flow_id");
    struct pd_flow_id flow = {0};
    uint64_t src_port, dst_port, protocol;
    int err = json_is_object(id) ? read_addrs(reader, id, &flow)
                                 : pd_cli_read_bad(reader, "flow_id", "an object");
    if (!err) {
        err = pd_cli_read_number(reader, id, "src_port", UINT16_MAX, &src_port);
    }
    if (!err) {
        err = pd_cli_read_number(reader, id, "dst_port", UINT16_MAX, &dst_port);
    }
    if (!err) {
        err = pd_cli_read_number(reader, id, "protocol", UINT8_MAX, &protocol);
    }
    if (err) {
        return err;
    }
    flow.src_port = (uint16_t)src_port;
    flow.dst_port = (uint16_t)dst_port;
    flow.protocol = (uint8_t)protocol;
    *ret_flow = flow;
    return 0;
}

int pd_cli_read_times(const struct pd_cli_reader *reader, const json_t *object,
                      struct pd_tib_record *record)
{
    uint64_t stime_us, etime_us;
    int err = pd_cli_read_number(reader, object, "stime_us", PD_READ_MAX, &stime_us);
    if (!err) {
        err = pd_cli_read_number(reader, object, "etime_us", PD_READ_MAX, &etime_us);
    }
    if (!err && etime_us < stime_us) {
        err = pd_cli_read_bad(reader, "etime_us", "at or after \"stime_us\"");
    }
    if (err) {
        return err;
    }
    record->stime_us = stime_us;
    record->etime_us = etime_us;
    return 0;
}

int pd_cli_read_counts(const struct pd_cli_reader *reader, const json_t *object, uint64_t max,
                       struct pd_tib_record *record)
{
    uint64_t bytes, pkts;
    int err = pd_cli_read_number(reader, object, "bytes", max, &bytes);
    if (!err) {
        err = pd_cli_read_number(reader, object, "pkts", max, &pkts);
    }
    if (err) {
        return err;
    }
    record->bytes = bytes;
    record->pkts = pkts;
    return 0;
}
