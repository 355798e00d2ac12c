/* SPDX-License-Identifier: Apache-2.0 */
/* What "codec_options" says of path filters. */
#include <jansson.h>

#include "codec/path_bloom/path_bloom.h"
#include "json/cursor.h"

enum { BITS_MAX = 32, VLAN_BITS_MAX = 15, HASHES_MAX = 8 };

static const char *const carriers[] = {
    [PD_BLOOM_VXLAN] = "vxlan", [PD_BLOOM_VLAN] = "vlan", [PD_BLOOM_VLAN2] = "vlan2"};
static const char *const monitors[] = {"tor", "tor+top"};

static int read_small(const struct pd_json_cursor *at, const char *member, uint64_t most,
                      uint64_t otherwise, uint8_t *ret_number)
{
    uint64_t number = otherwise;
    int err = pd_json_number_or(at, member, 1, most, &number);

    *ret_number = (uint8_t)number;
    return err;
}

static int read_all(const json_t *object, struct pd_path_bloom_options *options,
                    struct pd_error *error)
{
    const struct pd_json_cursor at = {
        .object = object, .file = "path-bloom", .err = -PD_E_VALUE, .error = error};
    unsigned carrier = 0, top = 0;
    int err = pd_json_flag_or(&at, "order", &options->order);

    err = err ? err : pd_json_word_or(&at, "carrier", carriers, 3, &carrier);
    err = err ? err : pd_json_word_or(&at, "monitors", monitors, 2, &top);
    const uint64_t most = carrier == PD_BLOOM_VLAN ? VLAN_BITS_MAX : BITS_MAX;
    err = err ? err : read_small(&at, "bits", most, most, &options->bits);
    err = err ? err : read_small(&at, "hashes", HASHES_MAX, 3, &options->hashes);
    options->carrier = carrier;
    options->top = top;
    return err;
}

int pd_path_bloom_options_read(const char *text, struct pd_path_bloom_options *ret_options,
                               struct pd_error *error)
{
    struct pd_path_bloom_options options = {0};
    json_error_t where;
    json_t *object = json_loads(text ? text : "{}", 0, &where);
    int err = json_is_object(object)
                  ? read_all(object, &options, error)
                  : pd_fail(error, -PD_E_VALUE, "path-bloom: options are no JSON object");

    json_decref(object);
    if (!err) {
        *ret_options = options;
    }
    return err;
}
