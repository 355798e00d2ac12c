/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands `pathdump codec …` share: options, and the codec of a topology. */
#include "cli/codec.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "packet/tags.h"

/* ---- options ---- */

int pd_cli_codec_set_end(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct pd_cli_codec_settings *set = target;
    struct pd_cli_end *end = strcmp(name, "src") ? &set->dst : &set->src;
    if (pd_addr_parse(value, &end->addr, &end->ip_version)) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects an IPv4 or IPv6 address, not \"%.100s\"",
                       name, value);
    }
    pd_addr_format(&end->addr, end->ip_version, end->text);
    return 0;
}

int pd_cli_codec_set_path(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct pd_cli_codec_settings *set = target;
    if (pd_path_parse(value, &set->path)) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: expects 1 to %d switch IDs as in 1,9,17, not \"%.100s\"", name,
                       PD_PATH_MAX, value);
    }
    return 0;
}

/* One tag of a list and the comma behind it, if another one follows. */
static bool take_tag(const char **at, struct pd_tags *tags)
{
    char *end;
    unsigned long tag = strtoul(*at, &end, 10);
    if (**at < '0' || **at > '9' || tag > 4095 || tags->len == PD_TAGS_MAX) {
        return false;
    }
    if (*end && (*end != ',' || !end[1])) {
        return false;
    }
    tags->vids[tags->len++] = (uint16_t)tag;
    *at = end + (*end == ',');
    return true;
}

/* "9,14"; nothing at all is no tag. */
int pd_cli_codec_set_tags(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct pd_cli_codec_settings *set = target;
    struct pd_tags tags = {.len = 0};
    for (const char *at = value; *at;) {
        if (!take_tag(&at, &tags)) {
            return pd_fail(error, -PD_E_VALUE,
                           "%s: expects at most %d tags from 0 to 4095, as in 9,14, not \"%.100s\"",
                           name, PD_TAGS_MAX, value);
        }
    }
    set->tags = pd_tags_pack(&tags);
    set->tags_given = true;
    return 0;
}

int pd_cli_codec_set_filter(void *target, const char *name, const char *value,
                            struct pd_error *error)
{
    struct pd_cli_codec_settings *set = target;
    char *end;
    errno = 0;
    unsigned long long filter = strtoull(value, &end, 0);
    if (*value < '0' || *value > '9' || *end || errno || filter > UINT32_MAX) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: expects a number below 2^32, as 1234 or 0x4d2, not \"%.100s\"", name,
                       value);
    }
    set->filter = filter;
    set->filter_given = true;
    return 0;
}

int pd_cli_codec_set_depth(void *target, const char *name, const char *value,
                           struct pd_error *error)
{
    struct pd_cli_codec_settings *set = target;
    if (strcmp(value, "pcp") && strcmp(value, "plain")) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects pcp or plain, not \"%.100s\"", name, value);
    }
    set->depth = strcmp(value, "pcp") ? PD_DEPTH_PLAIN : PD_DEPTH_PCP;
    return 0;
}

/* ---- what the commands share ---- */

/* The file's options with those of the command line in their places. NULL without memory. */
static char *override_options(const struct pd_cli_codec_settings *set, const char *options)
{
    json_t *object = json_loads(options ? options : "{}", 0, NULL);
    char *text = NULL;
    if (set->carrier) {
        json_object_set_new(object, "carrier", json_string(set->carrier));
    }
    if (set->monitors) {
        json_object_set_new(object, "monitors", json_string(set->monitors));
    }
    if (set->bits) {
        json_object_set_new(object, "bits", json_integer((json_int_t)set->bits));
    }
    if (set->hashes) {
        json_object_set_new(object, "hashes", json_integer((json_int_t)set->hashes));
    }
    if (set->order) {
        json_object_set_new(object, "order", json_true());
    }
    text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text;
}

static int open_codec(const struct pd_cli_codec_settings *set, const struct pd_topology *topology,
                      struct pd_codec **ret_codec, struct pd_error *error)
{
    const char *name = set->codec ? set->codec : pd_codec_key_name(topology);
    const struct pd_codec_choice *choice = pd_topology_codec(topology, name);
    char *options = override_options(set, choice && *choice->options ? choice->options : NULL);
    if (!options) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    int err = pd_codec_new_with(topology, name, options, ret_codec, error);
    free(options);
    return err;
}

int pd_cli_codec_with(const struct pd_cli_codec_settings *set, struct pd_error *error,
                      int (*work)(const struct pd_cli_codec_settings *set,
                                  const struct pd_codec *codec, struct pd_error *error))
{
    struct pd_topology *topology = NULL;
    struct pd_codec *codec = NULL;
    int err = pd_topology_read(set->topology, &topology, error);
    if (err) {
        return err;
    }
    err = open_codec(set, topology, &codec, error);
    if (err) {
        pd_fail_within(error, set->topology);
    } else {
        err = work(set, codec, error);
    }
    pd_codec_free(codec);
    pd_topology_free(topology);
    return err;
}

int pd_cli_codec_tors(const struct pd_cli_codec_settings *set, const struct pd_topology *topology,
                      const char *flag, const struct pd_cli_end *end,
                      uint32_t ret_tors[PD_HOMES_MAX], uint32_t *ret_len, struct pd_error *error)
{
    *ret_len = pd_topology_tors_of(topology, &end->addr, end->ip_version, ret_tors);
    return *ret_len ? 0
                    : pd_fail(error, -PD_E_UNKNOWN_HOST, "--%s: %s belongs to no rack of %.300s",
                              flag, end->text, set->topology);
}
