/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: answers printed, and what others wrote read. */
#include "cli/json.h"

#include "cli/cli.h"
#include "query/way.h"
#include "json/cursor.h"

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

static struct pd_json_cursor members_of(const struct pd_cli_reader *reader, const json_t *object,
                                        const char *place)
{
    return (struct pd_json_cursor){.object = object,
                                   .file = reader->where,
                                   .place = place,
                                   .err = -PD_E_SYNTAX,
                                   .error = reader->error};
}

int pd_cli_read_bad(const struct pd_cli_reader *reader, const char *key, const char *expected)
{
    const struct pd_json_cursor at = members_of(reader, NULL, NULL);

    return pd_json_wrong(&at, key, "%s", expected);
}

int pd_cli_read_number(const struct pd_cli_reader *reader, const json_t *object, const char *key,
                       uint64_t max, uint64_t *ret_number)
{
    const struct pd_json_cursor at = members_of(reader, object, NULL);

    return pd_json_number(&at, key, 0, max, ret_number);
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
    const struct pd_json_cursor at = members_of(reader, object, NULL);

    return pd_json_addr(&at, key, ret_addr, ret_ip_version);
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

int pd_cli_read_flow(const struct pd_cli_reader *reader, const json_t *object,
                     struct pd_flow_id *ret_flow)
{
    const struct pd_json_cursor at =
        members_of(reader, json_object_get(object, "flow_id"), "flow_id");

    return pd_json_flow(&at, ret_flow);
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
