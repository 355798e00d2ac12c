/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of applications: one reader for each kind. */
#include "apps/args.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "localise/localise.h"
#include "query/query.h"

#define VALUE_TEXT_BYTES 64

/* A reader returns NULL, or what it expects. Without memory *ret_value is NULL. `text` is that of a
 * JSON text or number, else NULL. */
typedef const char *reader(const char *text, const json_t *given, json_t **ret_value);

static const char *read_text(const char *text, const json_t *given, json_t **ret_value)
{
    if (!json_is_string(given) || !*text || json_string_length(given) > PD_APP_TEXT_MAX) {
        return "a text of 1 to 4096 bytes";
    }
    *ret_value = json_string(text);
    return NULL;
}

static const char *read_integer(const char *text, const json_t *given, json_t **ret_value)
{
    uint64_t number;

    (void)given;
    if (!text || pd_query_number(text, (uint64_t)PD_APP_NUMBER_MAX, &number)) {
        return "a whole number from 0 to 9007199254740991";
    }
    *ret_value = json_integer((json_int_t)number);
    return NULL;
}

/* Digits with at most one point and an exponent: nothing else that strtod knows. */
static bool number_of(const char *text, double *ret_number)
{
    char *end;

    if (!text || !*text || text[strspn(text, "0123456789.eE+-")] || strlen(text) > 40) {
        return false;
    }
    *ret_number = strtod(text, &end);
    return !*end && isfinite(*ret_number) && *ret_number >= 0;
}

static const char *read_number(const char *text, const json_t *given, json_t **ret_value)
{
    double number;

    (void)given;
    if (!number_of(text, &number) || number > PD_APP_NUMBER_MAX) {
        return "a number from 0 on";
    }
    *ret_value = json_real(number);
    return NULL;
}

static const char *read_seconds(const char *text, const json_t *given, json_t **ret_value)
{
    double seconds;

    (void)given;
    if (!number_of(text, &seconds) || seconds <= 0 || seconds > PD_APP_SECONDS_MAX) {
        return "seconds above 0";
    }
    *ret_value = json_real(seconds);
    return NULL;
}

static const char *read_bool(const char *text, const json_t *given, json_t **ret_value)
{
    bool is_true = json_is_true(given) || (text && !strcmp(text, "true"));

    if (!is_true && !json_is_false(given) && !(text && !strcmp(text, "false"))) {
        return "true or false";
    }
    *ret_value = json_boolean(is_true);
    return NULL;
}

static const char *read_time(const char *text, const json_t *given, json_t **ret_value)
{
    uint64_t time_us;

    (void)given;
    if (!text || pd_time_parse(text, &time_us)) {
        return "seconds since the epoch (1700000000.25) or RFC 3339 (2026-11-21T01:02:03Z)";
    }
    *ret_value = json_integer((json_int_t)time_us);
    return NULL;
}

static const char *read_link(const char *text, const json_t *given, json_t **ret_value)
{
    struct pd_link_match link;
    char written[PD_LINK_TEXT_BYTES];

    if (!json_is_string(given) || pd_link_parse(text, &link) || !link.from || !link.to) {
        return "two switch IDs, as in 9-17";
    }
    *ret_value = json_string(pd_link_format(link, written));
    return NULL;
}

static const char *read_address(const char *text, const json_t *given, json_t **ret_value)
{
    char written[PD_ADDR_TEXT_BYTES];
    struct pd_addr addr;
    uint8_t version;

    if (!json_is_string(given) || pd_addr_parse(text, &addr, &version)) {
        return "an IPv4 or IPv6 address";
    }
    *ret_value = json_string(pd_addr_format(&addr, version, written));
    return NULL;
}

/* ---- lists ---- */

/* Takes the list and its member over. */
static bool add(json_t **list, json_t *member)
{
    if (*list && !json_array_append_new(*list, member)) {
        return true;
    }
    json_decref(*list);
    *list = NULL;
    return false;
}

static const char *read_id_array(const json_t *given, json_t **ret_value)
{
    static const char expected[] = "1 to 1024 IDs, as in 17,18";
    size_t len = json_array_size(given), i;
    json_t *list = json_array();
    const json_t *id;

    if (!len || len > PD_APP_LIST_MAX) {
        json_decref(list);
        return expected;
    }
    json_array_foreach((json_t *)(uintptr_t)given, i, id)
    {
        json_int_t number = json_integer_value(id);

        if (!json_is_integer(id) || number < 1 || number > UINT32_MAX) {
            json_decref(list);
            return expected;
        }
        if (!add(&list, json_integer(number))) {
            break;
        }
    }
    *ret_value = list;
    return NULL;
}

static const char *read_list(const char *text, const json_t *given, json_t **ret_value)
{
    uint32_t ids[PD_APP_LIST_MAX], len;
    json_t *list;

    if (!text) {
        return read_id_array(given, ret_value);
    }
    if (pd_switches_parse(text, ids, PD_APP_LIST_MAX, &len)) {
        return "1 to 1024 IDs, as in 17,18";
    }
    list = json_array();
    for (uint32_t i = 0; i < len; i++) {
        if (!add(&list, json_integer(ids[i]))) {
            break;
        }
    }
    *ret_value = list;
    return NULL;
}

/* "SRC>DST", or a pair of texts. */
static json_t *pair_of(const char *src, size_t src_len, const char *dst, size_t dst_len)
{
    char texts[2][VALUE_TEXT_BYTES];
    struct pd_prefix a, b;

    if (src_len >= VALUE_TEXT_BYTES || dst_len >= VALUE_TEXT_BYTES) {
        return NULL;
    }
    memcpy(texts[0], src, src_len);
    memcpy(texts[1], dst, dst_len);
    texts[0][src_len] = texts[1][dst_len] = '\0';
    if (pd_prefix_parse(texts[0], &a) || pd_prefix_parse(texts[1], &b) ||
        a.ip_version != b.ip_version) {
        return NULL;
    }
    return json_pack("[s,s]", texts[0], texts[1]);
}

static json_t *pair_of_text(const char *text, size_t len)
{
    const char *middle = memchr(text, '>', len);

    return middle ? pair_of(text, (size_t)(middle - text), middle + 1,
                            len - (size_t)(middle - text) - 1)
                  : NULL;
}

static json_t *pair_of_json(const json_t *given)
{
    const json_t *src = json_array_get(given, 0), *dst = json_array_get(given, 1);

    if (json_is_string(given)) {
        return pair_of_text(json_string_value(given), json_string_length(given));
    }
    if (json_array_size(given) != 2 || !json_is_string(src) || !json_is_string(dst)) {
        return NULL;
    }
    return pair_of(json_string_value(src), json_string_length(src), json_string_value(dst),
                   json_string_length(dst));
}

/* False: this is no pair, or there are too many of them. */
static bool add_pair(json_t **list, json_t *pair)
{
    if (pair && json_array_size(*list) < PD_APP_LIST_MAX) {
        return add(list, pair);
    }
    json_decref(pair);
    return false;
}

static const char *read_pairs(const char *text, const json_t *given, json_t **ret_value)
{
    json_t *list = json_array();
    bool fine = list && (text || json_array_size(given));
    const json_t *member;
    size_t i;

    for (size_t len; fine && text; text += len + 1) {
        len = strcspn(text, ",");
        fine = add_pair(&list, pair_of_text(text, len));
        if (!text[len]) {
            break;
        }
    }
    json_array_foreach((json_t *)(uintptr_t)(fine && !text ? given : NULL), i, member)
    {
        fine = add_pair(&list, pair_of_json(member));
        if (!fine) {
            break;
        }
    }
    if (!fine) {
        json_decref(list);
        return "1 to 1024 pairs of prefixes of one family, as in 10.0.0.0/24>10.1.0.0/16";
    }
    *ret_value = list;
    return NULL;
}

static const char *read_localiser(const char *text, const json_t *given, json_t **ret_value)
{
    if (!json_is_string(given) || !pd_localiser_find(text)) {
        return "a localiser of pathdump localise --help";
    }
    *ret_value = json_string(text);
    return NULL;
}

static const struct kind {
    const char *words;
    reader *read;
} kinds[PD_APP_KIND_COUNT] = {
#define X(id, given, got) [PD_APP_##id].words = (given),
    PD_APP_KINDS(X)
#undef X
        [PD_APP_TEXT]
            .read = read_text,
    [PD_APP_INTEGER].read = read_integer,
    [PD_APP_NUMBER].read = read_number,
    [PD_APP_BOOL].read = read_bool,
    [PD_APP_TIME].read = read_time,
    [PD_APP_SECONDS].read = read_seconds,
    [PD_APP_LINK].read = read_link,
    [PD_APP_LIST].read = read_list,
    [PD_APP_PAIRS].read = read_pairs,
    [PD_APP_ADDRESS].read = read_address,
    [PD_APP_LOCALISER].read = read_localiser,
};

/* ---- against the topology ---- */

static int check_link(const struct pd_topology *topology, const char *name, const char *text,
                      struct pd_error *error)
{
    struct pd_link_match link = {0};
    uint32_t from, to;

    pd_link_parse(text, &link);
    from = pd_topology_switch(topology, link.from);
    to = pd_topology_switch(topology, link.to);
    if (from == PD_NONE || to == PD_NONE) {
        return pd_fail(error, -PD_E_VALUE, "%s: the topology has no switch %" PRIu32, name,
                       from == PD_NONE ? link.from : link.to);
    }
    if (!pd_topology_link(topology, from, to)) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: switches %" PRIu32 " and %" PRIu32 " have no link between them", name,
                       link.from, link.to);
    }
    return 0;
}

static int check_list(const struct pd_topology *topology, const char *name, const json_t *list,
                      struct pd_error *error)
{
    const json_t *member;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, member)
    {
        uint32_t id = (uint32_t)json_integer_value(member);

        if (pd_topology_switch(topology, id) == PD_NONE &&
            pd_topology_host(topology, id) == PD_NONE) {
            return pd_fail(error, -PD_E_VALUE,
                           "%s: the topology has no switch and no host %" PRIu32, name, id);
        }
    }
    return 0;
}

static int check_topology(const struct pd_topology *topology, const struct pd_app_param *param,
                          const json_t *value, struct pd_error *error)
{
    if (topology && param->kind == PD_APP_LINK) {
        return check_link(topology, param->name, json_string_value(value), error);
    }
    if (topology && param->kind == PD_APP_LIST) {
        return check_list(topology, param->name, value, error);
    }
    return 0;
}

/* ---- all of them ---- */

/* Text of a text or number without NULs; NULL of anything else. */
static const char *text_of(const json_t *given, char room[VALUE_TEXT_BYTES])
{
    const char *text = json_string_value(given);

    if (text) {
        return strlen(text) == json_string_length(given) ? text : NULL;
    }
    if (json_is_integer(given)) {
        snprintf(room, VALUE_TEXT_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(given));
    } else if (json_is_real(given)) {
        snprintf(room, VALUE_TEXT_BYTES, "%.17g", json_real_value(given));
    } else {
        return NULL;
    }
    return room;
}

static int read_value(const struct pd_topology *topology, const struct pd_app_param *param,
                      const json_t *given, json_t **ret_value, struct pd_error *error)
{
    char room[VALUE_TEXT_BYTES];
    const char *text = text_of(given, room), *expected;
    json_t *value = NULL;
    int err;

    if (json_is_string(given) && !text) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects a text without NULs", param->name);
    }
    /* whole numbers that came as reals, and times with their fraction */
    if (json_is_real(given) && param->kind == PD_APP_TIME && json_real_value(given) >= 0) {
        snprintf(room, sizeof room, "%.6f", fmin(json_real_value(given), 1e15));
    }
    expected = kinds[param->kind].read(text, given, &value);
    if (expected) {
        pd_fail(error, -PD_E_VALUE, text ? "%s: expects %s, not \"%.64s\"" : "%s: expects %s",
                param->name, expected, text);
        if (error) {
            pd_printable(error->text);
        }
        return -PD_E_VALUE;
    }
    err = value ? check_topology(topology, param, value, error)
                : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    if (err) {
        json_decref(value);
    } else {
        *ret_value = value;
    }
    return err;
}

static int read_param(const struct pd_topology *topology, const struct pd_app_param *param,
                      const json_t *given, json_t *args, struct pd_error *error)
{
    json_t *fallback = NULL, *value = NULL;
    int err;

    if (!given && param->required) {
        return pd_fail(error, -PD_E_VALUE, "%s: is missing: %s", param->name, param->help);
    }
    if (!given && !param->fallback) {
        return 0;
    }
    if (!given) {
        given = fallback = json_string(param->fallback);
    }
    err = read_value(topology, param, given, &value, error);
    json_decref(fallback);
    if (!err && json_object_set_new(args, param->name, value)) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    return err;
}

static bool knows(const struct pd_app_ops *ops, const char *name)
{
    for (const struct pd_app_param *param = ops->params; param && param->name; param++) {
        if (!strcmp(param->name, name)) {
            return true;
        }
    }
    return false;
}

static int check_names(const struct pd_app_ops *ops, const json_t *given, struct pd_error *error)
{
    const char *name;
    const json_t *value;

    if (given && !json_is_object(given)) {
        return pd_fail(error, -PD_E_VALUE, "the arguments are no JSON object");
    }
    json_object_foreach((json_t *)(uintptr_t)given, name, value)
    {
        if (knows(ops, name)) {
            continue;
        }
        pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown argument of %s", name, ops->name);
        if (error) {
            pd_printable(error->text);
        }
        return -PD_E_UNKNOWN_KEY;
    }
    return 0;
}

int pd_app_args_read(const struct pd_app_ops *ops, const struct pd_topology *topology,
                     const json_t *given, json_t **ret_args, struct pd_error *error)
{
    int err = check_names(ops, given, error);
    json_t *args;

    if (err) {
        return err;
    }
    args = json_object();
    if (!args) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    for (const struct pd_app_param *param = ops->params; !err && param && param->name; param++) {
        err = read_param(topology, param, json_object_get(given, param->name), args, error);
    }
    if (err) {
        json_decref(args);
    } else {
        *ret_args = args;
    }
    return err;
}

json_t *pd_app_params_json(const struct pd_app_ops *ops)
{
    json_t *list = json_array();

    for (const struct pd_app_param *param = ops->params; list && param && param->name; param++) {
        if (!add(&list,
                 json_pack("{s:s, s:s, s:s, s:s?, s:b, s:s}", "name", param->name, "kind",
                           kinds[param->kind].words, "value", param->value, "fallback",
                           param->fallback, "required", param->required, "help", param->help))) {
            break;
        }
    }
    return list;
}

/* ---- values ---- */

uint64_t pd_app_arg_u64(const json_t *args, const char *name, uint64_t fallback)
{
    const json_t *value = json_object_get(args, name);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : fallback;
}

double pd_app_arg_number(const json_t *args, const char *name, double fallback)
{
    const json_t *value = json_object_get(args, name);

    return json_is_number(value) ? json_number_value(value) : fallback;
}

const char *pd_app_arg_text(const json_t *args, const char *name)
{
    return json_string_value(json_object_get(args, name));
}

struct pd_link_match pd_app_arg_link(const json_t *args, const char *name)
{
    struct pd_link_match link = {0};
    const char *text = pd_app_arg_text(args, name);

    return text && !pd_link_parse(text, &link) ? link : (struct pd_link_match){0};
}
