/* SPDX-License-Identifier: Apache-2.0 */
/* What "codec_options" says of path filters. */
#include <jansson.h>
#include <string.h>

#include "codec/path_bloom/path_bloom.h"

enum { BITS_MAX = 32, VLAN_BITS_MAX = 15, HASHES_MAX = 8 };

static const char *const carriers[] = {
    [PD_BLOOM_VXLAN] = "vxlan", [PD_BLOOM_VLAN] = "vlan", [PD_BLOOM_VLAN2] = "vlan2"};
static const char *const monitors[] = {"tor", "tor+top"};

/* One of the words, or the first when the key is not there. */
static int read_word(const json_t *object, const char *key, const char *const *words, unsigned len,
                     unsigned *ret_word, struct pd_error *error)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);

    for (unsigned i = 0; i < len; i++) {
        if (!value || (text && !strcmp(text, words[i]))) {
            *ret_word = i;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "path-bloom: %s: expects \"%s\"%s%s%s", key, words[0],
                   len > 2 ? ", \"" : " or \"", words[1], len > 2 ? "\" or \"vlan2\"" : "\"");
}

static int read_number(const json_t *object, const char *key, json_int_t max, json_int_t fallback,
                       uint8_t *ret_number, struct pd_error *error)
{
    const json_t *value = json_object_get(object, key);
    const json_int_t number = value ? json_integer_value(value) : fallback;

    if ((value && !json_is_integer(value)) || number < 1 || number > max) {
        return pd_fail(error, -PD_E_VALUE, "path-bloom: %s: expects an integer from 1 to %lld", key,
                       (long long)max);
    }
    *ret_number = (uint8_t)number;
    return 0;
}

static int read_all(const json_t *object, struct pd_path_bloom_options *options,
                    struct pd_error *error)
{
    const json_t *order = json_object_get(object, "order");
    unsigned carrier = 0, top = 0;

    if (order && !json_is_boolean(order)) {
        return pd_fail(error, -PD_E_VALUE, "path-bloom: order: expects true or false");
    }
    int err = read_word(object, "carrier", carriers, 3, &carrier, error);
    const json_int_t most = carrier == PD_BLOOM_VLAN ? VLAN_BITS_MAX : BITS_MAX;
    if (!err) {
        err = read_word(object, "monitors", monitors, 2, &top, error);
    }
    if (!err) {
        err = read_number(object, "bits", most, most, &options->bits, error);
    }
    if (!err) {
        err = read_number(object, "hashes", HASHES_MAX, 3, &options->hashes, error);
    }
    options->carrier = carrier;
    options->top = top;
    options->order = json_is_true(order);
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
