/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands `pathdump meters …` share. */
#include "cli/meters.h"

int pd_cli_meters_open(const char *topology, struct pd_cli_meters *ret_meters,
                       struct pd_error *error)
{
    *ret_meters = (struct pd_cli_meters){.topology = NULL};
    int err = pd_topology_read(topology, &ret_meters->topology, error);

    if (!err && pd_codec_new(ret_meters->topology, &ret_meters->codec, error)) {
        pd_fail_within(error, topology);
        err = error->code;
    }
    if (!err && pd_codec_carriers(ret_meters->codec) & PD_CARRIER_DSCP) {
        err = pd_fail(error, -PD_E_TOPOLOGY,
                      "%.300s: meters mark packets in the DSCP, and so does the codec %s", topology,
                      ret_meters->codec->ops->name);
    }
    return err;
}

void pd_cli_meters_close(struct pd_cli_meters *meters)
{
    pd_codec_free(meters->codec);
    pd_topology_free(meters->topology);
}

int pd_cli_meters_load(const char *file, json_t **ret_document, struct pd_error *error)
{
    json_error_t where;
    json_t *document = json_load_file(file, JSON_REJECT_DUPLICATES, &where);

    if (!json_is_object(document)) {
        json_decref(document);
        return pd_fail(error, -PD_E_SYNTAX, "%.300s:%d: %s", file, document ? 1 : where.line,
                       document ? "expected an object" : where.text);
    }
    *ret_document = document;
    return 0;
}
