/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of answers, written piece by piece. */
#include "query/rows/out.h"

#include "codec/marks.h"

#include <string.h>

#include "query/telemetry_column.h"
#include "telemetry/column.h"

void pd_rows_out_begin(struct pd_rows_out *out, enum pd_query_form form,
                       const struct pd_query_sink *sink)
{
    out->sink = sink;
    out->form = form;
    out->in_object = false;
    out->rows = 0;
    out->len = 0;
    out->error = 0;
}

static void flush(struct pd_rows_out *out)
{
    if (out->len && !out->error) {
        out->error = out->sink->write(out->sink->context, out->buffer, out->len);
    }
    out->len = 0;
}

/* Place for `len` bytes, at most the whole buffer; the caller moves out->len on by what it used. */
static char *room(struct pd_rows_out *out, size_t len)
{
    if (len > sizeof out->buffer - out->len) {
        flush(out);
    }
    return out->buffer + out->len;
}

static void used(struct pd_rows_out *out, const char *end)
{
    out->len = (size_t)(end - out->buffer);
}

/* These put something at `at`, where there is room, and return its end. */

static char *put(char *at, const char *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)
#define NUMBER_BYTES     20 /* digits of UINT64_MAX */

static char *put_number(char *at, uint64_t number)
{
    char digits[NUMBER_BYTES], *first = digits + sizeof digits;
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    return put(at, first, (size_t)(digits + sizeof digits - first));
}

static char *put_octet(char *at, unsigned octet)
{
    if (octet >= 100) {
        *at++ = (char)('0' + octet / 100);
    }
    if (octet >= 10) {
        *at++ = (char)('0' + octet / 10 % 10);
    }
    *at++ = (char)('0' + octet % 10);
    return at;
}

static char *put_addr(char *at, const struct pd_addr *addr, uint8_t ip_version)
{
    if (ip_version == 6) {
        pd_addr_format(addr, ip_version, at); /* room for PD_ADDR_TEXT_BYTES */
        return at + strlen(at);
    }
    for (int i = 0; i < 4; i++) {
        if (i) {
            *at++ = '.';
        }
        at = put_octet(at, addr->bytes[i]);
    }
    return at;
}

void pd_rows_out_text(struct pd_rows_out *out, const char *json)
{
    size_t len = strlen(json);
    for (; len > PD_ROWS_OUT_BYTES; len -= PD_ROWS_OUT_BYTES, json += PD_ROWS_OUT_BYTES) {
        used(out, put(room(out, PD_ROWS_OUT_BYTES), json, PD_ROWS_OUT_BYTES));
    }
    used(out, put(room(out, len), json, len));
}

void pd_rows_out_separator(struct pd_rows_out *out)
{
    if (!out->in_object && out->form == PD_FORM_EVENTS) {
        pd_rows_out_text(out, "event: end\ndata: ");
    }
    pd_rows_out_text(out, out->in_object ? "," : "{");
    out->in_object = true;
}

void pd_rows_out_key(struct pd_rows_out *out, const char *key)
{
    pd_rows_out_separator(out);
    pd_rows_out_text(out, "\"");
    pd_rows_out_text(out, key);
    pd_rows_out_text(out, "\":");
}

/* Where rows stand for themselves: what ends one. */
static const char *row_end(const struct pd_rows_out *out)
{
    return out->form == PD_FORM_EVENTS ? "\n\n" : "\n";
}

void pd_rows_out_list(struct pd_rows_out *out, const char *key)
{
    if (out->form != PD_FORM_JSON) {
        return;
    }
    pd_rows_out_key(out, key);
    pd_rows_out_text(out, "[");
}

void pd_rows_out_row(struct pd_rows_out *out)
{
    if (out->rows++) {
        pd_rows_out_text(out, out->form == PD_FORM_JSON ? "," : row_end(out));
    }
    if (out->form == PD_FORM_EVENTS) {
        pd_rows_out_text(out, "data: ");
    }
}

void pd_rows_out_list_end(struct pd_rows_out *out)
{
    if (out->form == PD_FORM_JSON) {
        pd_rows_out_text(out, "]");
    } else if (out->rows) {
        pd_rows_out_text(out, row_end(out));
    }
}

int pd_rows_out_pass(struct pd_rows_out *out)
{
    if (out->form != PD_FORM_JSON) {
        pd_rows_out_list_end(out);
        out->rows = 0;
    }
    flush(out);
    return out->error;
}

void pd_rows_out_member(struct pd_rows_out *out, const char *json_key, uint64_t number)
{
    size_t len = strlen(json_key);
    char *at = put(room(out, len + NUMBER_BYTES), json_key, len);
    used(out, put_number(at, number));
}

void pd_rows_out_bool(struct pd_rows_out *out, bool value)
{
    pd_rows_out_text(out, value ? "true" : "false");
}

void pd_rows_out_addr(struct pd_rows_out *out, const struct pd_addr *addr, uint8_t ip_version)
{
    char *at = room(out, 2 + PD_ADDR_TEXT_BYTES);
    at = put_addr(PUT(at, "\""), addr, ip_version);
    used(out, PUT(at, "\""));
}

void pd_rows_out_flow_id(struct pd_rows_out *out, const struct pd_flow_id *flow)
{
    char *at = room(out, 256); /* keys 70, addresses 92, numbers 13 */
    at = PUT(at, "{\"src_ip\":\"");
    at = put_addr(at, &flow->src, flow->ip_version);
    at = PUT(at, "\",\"dst_ip\":\"");
    at = put_addr(at, &flow->dst, flow->ip_version);
    at = PUT(at, "\",\"src_port\":");
    at = put_number(at, flow->src_port);
    at = PUT(at, ",\"dst_port\":");
    at = put_number(at, flow->dst_port);
    at = PUT(at, ",\"protocol\":");
    at = put_number(at, flow->protocol);
    used(out, PUT(at, "}"));
}

void pd_rows_out_switches(struct pd_rows_out *out, const struct pd_path *path)
{
    char *at = room(out, 2 + PD_PATH_MAX * 11); /* 10 digits and a comma each */
    at = PUT(at, "[");
    for (unsigned i = 0; i < path->len && i < PD_PATH_MAX; i++) {
        if (i) {
            *at++ = ',';
        }
        at = put_number(at, path->switches[i]);
    }
    used(out, PUT(at, "]"));
}

static void put_field(struct pd_rows_out *out, const struct pd_mark_field *field)
{
    char *at;
    pd_rows_out_text(out, "\"");
    pd_rows_out_text(out, field->name);
    pd_rows_out_text(out, field->list ? "\":[" : "\":");
    at = room(out, PD_MARK_BYTES * 11 + 1);
    for (unsigned i = 0; i < field->len; i++) {
        if (i) {
            *at++ = ',';
        }
        at = put_number(at, field->values[i]);
    }
    used(out, field->list ? PUT(at, "]") : at);
}

static void put_hex(struct pd_rows_out *out, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        char *at = room(out, 2);
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
        used(out, at);
    }
}

static void put_bytes(struct pd_rows_out *out, const struct pd_mark *mark)
{
    pd_rows_out_member(out, "\"mark\":{\"scheme\":", mark->scheme);
    pd_rows_out_text(out, ",\"bytes\":\"");
    put_hex(out, mark->bytes, mark->len);
    pd_rows_out_text(out, "\"}");
}

void pd_rows_out_mark(struct pd_rows_out *out, const struct pd_mark *mark)
{
    const struct pd_mark_scheme *scheme = pd_codec_scheme(mark->scheme);
    struct pd_mark_field fields[PD_MARK_FIELDS_MAX];
    size_t len = pd_codec_mark_fields(mark, fields);

    if (!mark->scheme) {
        pd_rows_out_text(out, "\"tags\":[]");
    } else if (!len || !scheme->kinds_len) {
        put_bytes(out, mark);
        len = 0;
    }
    for (size_t i = 0, written = 0; i < len; i++) {
        if (fields[i].implied) {
            continue;
        }
        pd_rows_out_text(out, written++ ? "," : "");
        put_field(out, &fields[i]);
    }
}

static void put_claim(struct pd_rows_out *out, const struct pd_claim *claim, bool with_infeasible)
{
    bool state =
        claim->state != PD_CLAIM_EXACT && (with_infeasible || claim->state != PD_CLAIM_INFEASIBLE);

    if (claim->mark.scheme ||
        (claim->state == PD_CLAIM_INFEASIBLE && !claim->path->len && !claim->origin)) {
        pd_rows_out_text(out, ",");
        pd_rows_out_mark(out, &claim->mark);
    }
    if (claim->origin) {
        pd_rows_out_text(out, ",\"origin\":\"");
        pd_rows_out_text(out, pd_origin_id(claim->origin));
        pd_rows_out_text(out, "\"");
    }
    if (state) {
        pd_rows_out_text(out, ",\"state\":\"");
        pd_rows_out_text(out, pd_claim_state_id(claim->state));
        pd_rows_out_text(out, "\"");
    }
    if (claim->candidates) {
        pd_rows_out_member(out, ",\"candidates\":", claim->candidates);
    }
}

static void put_way(struct pd_rows_out *out, const struct pd_tib_record *record,
                    bool with_infeasible)
{
    pd_rows_out_text(out, "\"path\":");
    pd_rows_out_switches(out, record->path);
    if (record->claim || !record->path->len) {
        const struct pd_claim claim = pd_tib_claim(record);
        put_claim(out, &claim, with_infeasible);
    }
}

void pd_rows_out_path(struct pd_rows_out *out, const struct pd_tib_record *record)
{
    put_way(out, record, false);
}

/* The first one is shown in words, unless it is damaged. */
static bool put_telemetry(struct pd_rows_out *out, const struct pd_tib_record *record,
                          uint32_t *ret_at)
{
    struct pd_tib_extra extra;
    uint32_t at = 0;

    while (pd_tib_extra_next(record, &at, &extra)) {
        if (extra.kind == PD_TELEMETRY_COLUMN_KIND) {
            *ret_at = at;
            return pd_query_rows_out_telemetry(out, record->path, extra.bytes, extra.len);
        }
    }
    return false;
}

static void put_extra(struct pd_rows_out *out, const struct pd_tib_record *record)
{
    struct pd_tib_extra extra;
    uint32_t at = 0, shown_at = 0;
    const bool shown = put_telemetry(out, record, &shown_at);
    unsigned written = 0;

    while (pd_tib_extra_next(record, &at, &extra)) {
        if (shown && at == shown_at) {
            continue;
        }
        pd_rows_out_text(out, written++ ? "," : ",\"extra\":[");
        pd_rows_out_member(out, "{\"kind\":", extra.kind);
        pd_rows_out_text(out, ",\"bytes\":\"");
        put_hex(out, extra.bytes, extra.len);
        pd_rows_out_text(out, "\"}");
    }
    pd_rows_out_text(out, written ? "]" : "");
}

void pd_rows_out_record(struct pd_rows_out *out, const struct pd_tib_record *record)
{
    pd_rows_out_text(out, "{\"flow_id\":");
    pd_rows_out_flow_id(out, &record->flow);
    pd_rows_out_text(out, ",");
    put_way(out, record, true);
    pd_rows_out_member(out, ",\"stime_us\":", record->stime_us);
    pd_rows_out_member(out, ",\"etime_us\":", record->etime_us);
    pd_rows_out_member(out, ",\"bytes\":", record->bytes);
    pd_rows_out_member(out, ",\"pkts\":", record->pkts);
    if (record->retransmissions) {
        pd_rows_out_member(out, ",\"retransmissions\":", record->retransmissions);
    }
    if (record->extra_bytes) {
        put_extra(out, record);
    }
    pd_rows_out_text(out, "}");
}

int pd_rows_out_end(struct pd_rows_out *out)
{
    if (out->in_object) {
        pd_rows_out_text(out, "}");
        pd_rows_out_text(out, out->form == PD_FORM_JSON ? "" : row_end(out));
    }
    flush(out);
    return out->error;
}
