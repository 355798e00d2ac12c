/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of answers, written piece by piece. */
#include "query/out.h"

#include <string.h>

void pd_query_out_begin(struct pd_query_out *out, enum pd_query_form form,
                        const struct pd_query_sink *sink)
{
    out->sink = sink;
    out->form = form;
    out->in_object = false;
    out->rows = 0;
    out->len = 0;
    out->error = 0;
}

static void flush(struct pd_query_out *out)
{
    if (out->len && !out->error) {
        out->error = out->sink->write(out->sink->context, out->buffer, out->len);
    }
    out->len = 0;
}

/* Place for `len` bytes, at most the whole buffer; the caller moves out->len on by what it used. */
static char *room(struct pd_query_out *out, size_t len)
{
    if (len > sizeof out->buffer - out->len) {
        flush(out);
    }
    return out->buffer + out->len;
}

static void used(struct pd_query_out *out, const char *end)
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

void pd_query_out_text(struct pd_query_out *out, const char *json)
{
    size_t len = strlen(json);
    for (; len > PD_QUERY_OUT_BYTES; len -= PD_QUERY_OUT_BYTES, json += PD_QUERY_OUT_BYTES) {
        used(out, put(room(out, PD_QUERY_OUT_BYTES), json, PD_QUERY_OUT_BYTES));
    }
    used(out, put(room(out, len), json, len));
}

void pd_query_out_separator(struct pd_query_out *out)
{
    pd_query_out_text(out, out->in_object ? "," : "{");
    out->in_object = true;
}

void pd_query_out_key(struct pd_query_out *out, const char *key)
{
    pd_query_out_separator(out);
    pd_query_out_text(out, "\"");
    pd_query_out_text(out, key);
    pd_query_out_text(out, "\":");
}

void pd_query_out_list(struct pd_query_out *out, const char *key)
{
    if (out->form == PD_FORM_NDJSON) {
        return;
    }
    pd_query_out_key(out, key);
    pd_query_out_text(out, "[");
}

void pd_query_out_row(struct pd_query_out *out)
{
    if (out->rows++) {
        pd_query_out_text(out, out->form == PD_FORM_NDJSON ? "\n" : ",");
    }
}

void pd_query_out_list_end(struct pd_query_out *out)
{
    if (out->form == PD_FORM_JSON) {
        pd_query_out_text(out, "]");
    } else if (out->rows) {
        pd_query_out_text(out, "\n");
    }
}

void pd_query_out_member(struct pd_query_out *out, const char *json_key, uint64_t number)
{
    size_t len = strlen(json_key);
    char *at = put(room(out, len + NUMBER_BYTES), json_key, len);
    used(out, put_number(at, number));
}

void pd_query_out_bool(struct pd_query_out *out, bool value)
{
    pd_query_out_text(out, value ? "true" : "false");
}

void pd_query_out_addr(struct pd_query_out *out, const struct pd_addr *addr, uint8_t ip_version)
{
    char *at = room(out, 2 + PD_ADDR_TEXT_BYTES);
    at = put_addr(PUT(at, "\""), addr, ip_version);
    used(out, PUT(at, "\""));
}

void pd_query_out_flow_id(struct pd_query_out *out, const struct pd_flow_id *flow)
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

void pd_query_out_switches(struct pd_query_out *out, const struct pd_path *path)
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

void pd_query_out_tags(struct pd_query_out *out, const struct pd_path *path)
{
    char *at = room(out, 64); /* keys 20, four tags 24, the DSCP 3 */
    at = PUT(at, "\"tags\":[");
    for (unsigned i = 0; i < path->tags_len && i < PD_RAW_TAGS_MAX; i++) {
        if (i) {
            *at++ = ',';
        }
        at = put_number(at, path->tags[i]);
    }
    at = PUT(at, "]");
    if (path->dscp) {
        at = put_number(PUT(at, ",\"dscp\":"), path->dscp);
    }
    used(out, at);
}

void pd_query_out_path(struct pd_query_out *out, const struct pd_path *path)
{
    pd_query_out_text(out, "\"path\":");
    pd_query_out_switches(out, path);
    if (path->len) {
        return;
    }
    pd_query_out_text(out, ",");
    pd_query_out_tags(out, path);
}

void pd_query_out_record(struct pd_query_out *out, const struct pd_tib_record *record)
{
    pd_query_out_text(out, "{\"flow_id\":");
    pd_query_out_flow_id(out, &record->flow);
    pd_query_out_text(out, ",");
    pd_query_out_path(out, record->path);
    pd_query_out_member(out, ",\"stime_us\":", record->stime_us);
    pd_query_out_member(out, ",\"etime_us\":", record->etime_us);
    pd_query_out_member(out, ",\"bytes\":", record->bytes);
    pd_query_out_member(out, ",\"pkts\":", record->pkts);
    pd_query_out_text(out, "}");
}

int pd_query_out_end(struct pd_query_out *out)
{
    if (out->in_object) {
        pd_query_out_text(out, out->form == PD_FORM_NDJSON ? "}\n" : "}");
    }
    flush(out);
    return out->error;
}
