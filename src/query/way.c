/* SPDX-License-Identifier: Apache-2.0 */
/* Paths with their claims: read from JSON, and as words. */
#include "query/way.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/marks.h"

/* Whose words marks are written in where nothing else is said. */
static const struct pd_mark_scheme *default_scheme(void)
{
    return pd_codec_schemes[0];
}

bool pd_query_way_has(const char *member)
{
    static const char *const members[] = {"path", "mark", "origin", "state", "candidates"};
    bool found = false;

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        found |= !strcmp(members[i], member);
    }
    for (size_t i = 0; pd_codec_schemes[i]; i++) {
        for (size_t k = 0; k < pd_codec_schemes[i]->kinds_len; k++) {
            found |= !strcmp(pd_codec_schemes[i]->kinds[k].name, member);
        }
    }
    return found;
}

/* ---- reading ---- */

static bool is_number(const json_t *value, uint64_t max)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           (uint64_t)json_integer_value(value) <= max;
}

static const char *read_path(const json_t *array, bool gaps, struct pd_path *ret_path)
{
    size_t len = json_array_size(array);

    if (!json_is_array(array) || len > PD_PATH_MAX) {
        return "a list of switch IDs";
    }
    for (size_t i = 0; i < len; i++) {
        const json_t *id = json_array_get(array, i);

        if (!is_number(id, UINT32_MAX) || (!gaps && !json_integer_value(id))) {
            return "a list of switch IDs";
        }
        ret_path->switches[i] = (uint32_t)json_integer_value(id);
    }
    ret_path->len = (uint32_t)len;
    return NULL;
}

const char *pd_query_way_read_switches(const json_t *array, struct pd_path *ret_path)
{
    return read_path(array, false, ret_path);
}

static const char *read_field(const json_t *value, const struct pd_mark_field_kind *kind,
                              struct pd_mark_field *ret_field)
{
    struct pd_mark_field field = {.name = kind->name, .list = kind->list};

    if (kind->list && !json_is_array(value)) {
        return "a list";
    }
    field.len = kind->list ? (uint8_t)(json_array_size(value) & UINT8_MAX) : 1;
    if (kind->list && json_array_size(value) > kind->most) {
        return kind->expected;
    }
    for (size_t i = 0; value && i < field.len; i++) {
        const json_t *item = kind->list ? json_array_get(value, i) : value;

        if (!is_number(item, kind->max)) {
            return kind->expected;
        }
        field.values[i] = (uint32_t)json_integer_value(item);
    }
    *ret_field = field;
    return NULL;
}

static const char *read_fields(const json_t *object, const struct pd_mark_scheme *scheme,
                               struct pd_mark *ret_mark, const char **ret_member)
{
    struct pd_mark_field fields[PD_MARK_FIELDS_MAX] = {{0}};

    for (size_t i = 0; i < scheme->kinds_len; i++) {
        const struct pd_mark_field_kind *kind = &scheme->kinds[i];
        const char *expected = read_field(json_object_get(object, kind->name), kind, &fields[i]);

        *ret_member = kind->name;
        if (expected) {
            return expected;
        }
    }
    *ret_mark = scheme->make(fields);
    return NULL;
}

static int hex_digit(char digit)
{
    const char *digits = "0123456789abcdef", *at = digit ? strchr(digits, digit) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* {"scheme":N,"bytes":"00ff"} */
static const char *read_bytes(const json_t *value, struct pd_mark *ret_mark)
{
    const json_t *scheme = json_object_get(value, "scheme");
    const char *text = json_string_value(json_object_get(value, "bytes"));
    size_t len = text ? strlen(text) : 1;
    struct pd_mark mark = {0};

    if (!is_number(scheme, UINT8_MAX) || len % 2 || len > 2 * (size_t)PD_MARK_BYTES) {
        return "a scheme's number and at most 16 bytes in hexadecimal";
    }
    mark.scheme = (uint8_t)json_integer_value(scheme);
    mark.len = (uint8_t)(len / 2);
    for (size_t i = 0; i < mark.len; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return "a scheme's number and at most 16 bytes in hexadecimal";
        }
        mark.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret_mark = mark;
    return mark.scheme && !pd_codec_mark_check(&mark) ? NULL : "a mark of a scheme that is known";
}

/* An infeasible trajectory has one, in the words of link tags when no other is named. */
static const char *read_mark(const json_t *object, struct pd_claim *claim, const char **ret_member)
{
    const json_t *bytes = json_object_get(object, "mark");

    if (bytes) {
        *ret_member = "mark";
        return read_bytes(bytes, &claim->mark);
    }
    for (size_t i = 0; pd_codec_schemes[i]; i++) {
        const struct pd_mark_scheme *scheme = pd_codec_schemes[i];

        if (scheme->kinds_len && json_object_get(object, scheme->kinds[0].name)) {
            return read_fields(object, scheme, &claim->mark, ret_member);
        }
    }
    if (claim->state != PD_CLAIM_INFEASIBLE || claim->path->len || claim->origin) {
        return NULL;
    }
    return read_fields(object, default_scheme(), &claim->mark, ret_member);
}

static const char *read_ids(const json_t *object, struct pd_claim *claim, const char **ret_member)
{
    const json_t *origin = json_object_get(object, "origin"),
                 *state = json_object_get(object, "state"),
                 *candidates = json_object_get(object, "candidates");

    *ret_member = "origin";
    if (origin &&
        (!json_is_string(origin) || pd_origin_parse(json_string_value(origin), &claim->origin))) {
        return "an origin, as \"tags\" or \"trace\"";
    }
    *ret_member = "state";
    if (state &&
        (!json_is_string(state) || pd_claim_state_parse(json_string_value(state), &claim->state))) {
        return "a state, as \"exact\" or \"undecided\"";
    }
    if (!state && json_is_array(json_object_get(object, "path")) &&
        !json_array_size(json_object_get(object, "path"))) {
        claim->state = PD_CLAIM_INFEASIBLE;
    }
    *ret_member = "candidates";
    if (candidates &&
        (!is_number(candidates, UINT32_MAX) ||
         (claim->state != PD_CLAIM_UNDECIDED && claim->state != PD_CLAIM_AMBIGUOUS))) {
        return "a number, of a path that is undecided or ambiguous";
    }
    claim->candidates = (uint32_t)json_integer_value(candidates);
    return NULL;
}

const char *pd_query_way_read(const json_t *object, struct pd_path *ret_path,
                              struct pd_claim *ret_claim, const char **ret_member)
{
    struct pd_claim claim = {.path = ret_path};
    const char *expected = read_ids(object, &claim, ret_member);

    if (expected) {
        return expected;
    }
    *ret_member = "path";
    expected =
        read_path(json_object_get(object, "path"), claim.state == PD_CLAIM_PARTIAL, ret_path);
    if (!expected && !ret_path->len && claim.state == PD_CLAIM_EXACT) {
        expected = "the switches of an exact path";
    }
    expected = expected ? expected : read_mark(object, &claim, ret_member);
    *ret_claim = claim;
    return expected;
}

/* ---- writing ---- */

static bool put_field(json_t *object, const struct pd_mark_field *field)
{
    json_t *list = field->list ? json_array() : json_integer(field->values[0]);

    for (unsigned i = 0; field->list && i < field->len; i++) {
        json_array_append_new(list, json_integer(field->values[i]));
    }
    return !json_object_set_new(object, field->name, list);
}

/* Its fields as they are where there is no mark. */
static bool put_nothing(json_t *object, const struct pd_mark_scheme *scheme)
{
    bool done = true;

    for (size_t i = 0; i < scheme->kinds_len; i++) {
        const struct pd_mark_field_kind *kind = &scheme->kinds[i];

        done = done &&
               put_field(object, &(struct pd_mark_field){.name = kind->name, .list = kind->list});
    }
    return done;
}

bool pd_query_way_put_mark(json_t *object, const struct pd_mark *mark)
{
    struct pd_mark_field fields[PD_MARK_FIELDS_MAX];
    size_t len = pd_codec_mark_fields(mark, fields);
    bool done = put_nothing(object, default_scheme());

    for (size_t i = 0; i < len; i++) {
        done = done && (fields[i].implied || put_field(object, &fields[i]));
    }
    return done;
}

const char *pd_query_way_mark_text(const struct pd_mark *mark, char text[PD_WAY_MARK_TEXT_BYTES])
{
    struct pd_mark_field fields[PD_MARK_FIELDS_MAX];
    size_t len = pd_codec_mark_fields(mark, fields), at = 0, room = PD_WAY_MARK_TEXT_BYTES;

    snprintf(text, room, "no tags");
    for (size_t i = 0; i < len; i++) {
        bool none = fields[i].list && !fields[i].len;

        if (fields[i].implied) {
            continue;
        }
        at += (size_t)snprintf(text + at, room - at, "%s%s%s", at ? " " : "", none ? "no " : "",
                               fields[i].name);
        for (unsigned j = 0; at < room && j < fields[i].len; j++) {
            at += (size_t)snprintf(text + at, room - at, "%s%" PRIu32, j ? "," : " ",
                                   fields[i].values[j]);
        }
        at = at < room ? at : room - 1;
    }
    return text;
}
