/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, times and paths as people read them. */
#include "query/rows/text.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "query/protocol.h"
#include "query/way.h"

/* As the shell has it where the terminal does not say. */
static unsigned width_of(FILE *stream)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");

    if (!isatty(fileno(stream))) {
        return 0;
    }
    if (!ioctl(fileno(stream), TIOCGWINSZ, &size) && size.ws_col) {
        return size.ws_col;
    }
    return columns ? (unsigned)strtoul(columns, NULL, 10) : 0;
}

#define NAME_BYTES 64

struct pd_style pd_row_style_of(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return (struct pd_style){
        .utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
        .colour = isatty(fileno(stream)) && !(no_color && *no_color) && term && *term &&
                  strcmp(term, "dumb"),
        .width = width_of(stream),
    };
}

struct pd_style pd_row_style_as(FILE *stream, bool csv)
{
    const struct pd_style plain = {.csv = true};

    return csv ? plain : pd_row_style_of(stream);
}

const char *pd_row_text_number(uint64_t number, char text[PD_TEXT_NUMBER_BYTES])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *at = text;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) {
            *at++ = ',';
        }
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

const char *pd_row_text_bytes(uint64_t bytes, char text[PD_TEXT_NUMBER_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double scaled = (double)bytes;
    int unit = -1;
    while (scaled >= 1024 && unit < 5) {
        scaled /= 1024;
        unit++;
    }
    /* What would be rounded up to the next unit is written in it. */
    if (unit >= 0 && unit < 5 && scaled >= 1023.95) {
        scaled /= 1024;
        unit++;
    }
    if (unit < 0) {
        snprintf(text, PD_TEXT_NUMBER_BYTES, "%" PRIu64 " B", bytes);
    } else {
        snprintf(text, PD_TEXT_NUMBER_BYTES, "%.1f %s", scaled, units[unit]);
    }
    return text;
}

const char *pd_row_text_rate(double bps, char text[PD_TEXT_NUMBER_BYTES])
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s"};
    unsigned unit = 0;

    while (bps >= 999.5 && unit < 5) {
        bps /= 1000;
        unit++;
    }
    snprintf(text, PD_TEXT_NUMBER_BYTES, "%.*f %s", unit && bps < 99.95 ? 1 : 0, bps, units[unit]);
    return text;
}

const char *pd_row_text_span(uint64_t span_us, char text[PD_TEXT_NUMBER_BYTES])
{
    uint64_t seconds = span_us / PD_US_PER_S, minutes = seconds / 60, hours = minutes / 60;
    if (!span_us) {
        return strcpy(text, "0 s");
    }
    if (span_us < 1000) {
        snprintf(text, PD_TEXT_NUMBER_BYTES, "%" PRIu64 " us", span_us);
    } else if (!seconds) {
        snprintf(text, PD_TEXT_NUMBER_BYTES, "%" PRIu64 ".%03" PRIu64 " ms", span_us / 1000,
                 span_us % 1000);
    } else if (!minutes) {
        snprintf(text, PD_TEXT_NUMBER_BYTES, "%" PRIu64 ".%03" PRIu64 " s", seconds,
                 span_us % PD_US_PER_S / 1000);
    } else if (!hours) {
        snprintf(text, PD_TEXT_NUMBER_BYTES, "%" PRIu64 " min %02" PRIu64 " s", minutes,
                 seconds % 60);
    } else {
        snprintf(text, PD_TEXT_NUMBER_BYTES, "%" PRIu64 " h %02" PRIu64 " min", hours,
                 minutes % 60);
    }
    return text;
}

const char *pd_row_text_time(uint64_t wall_us, const struct pd_style *style,
                             char text[PD_TIME_TEXT_BYTES])
{
    char *t = style->local ? NULL : strchr(pd_time_format(wall_us, text), 'T');

    if (style->local) {
        pd_time_format_local(wall_us, text);
        t = strchr(text, 'T');
    }
    if (t) {
        *t = ' ';
    }
    return text;
}

const char *pd_row_text_end(const struct pd_addr *addr, const struct pd_flow_id *flow,
                            uint16_t port, char text[PD_END_TEXT_BYTES])
{
    const char *name = pd_query_protocol_name(flow->protocol);
    bool ports = flow->src_port || flow->dst_port ||
                 (name && (!strcmp(name, "tcp") || !strcmp(name, "udp") || !strcmp(name, "sctp")));

    return ports ? pd_end_format(addr, flow->ip_version, port, text)
                 : pd_addr_format(addr, flow->ip_version, text);
}

const char *pd_row_text_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* A name's control characters do not reach the terminal. */
static char *put_switch(char *at, size_t size, uint32_t id, const struct pd_style *style)
{
    const char *name = style->names ? style->names->of(style->names->context, id) : NULL;

    if (name) {
        pd_row_text_word(name, at, size < NAME_BYTES ? size : NAME_BYTES);
    } else {
        snprintf(at, size, "%" PRIu32, id);
    }
    return at + strlen(at);
}

const char *pd_row_text_path(const struct pd_path *path, const struct pd_style *style,
                             char text[PD_TEXT_PATH_BYTES])
{
    const char *arrow = style->utf8 ? "\u2192" : style->names ? ":" : "-";
    char *at = text, *end = text + PD_TEXT_PATH_BYTES;
    *at = '\0';
    for (unsigned i = 0; i < path->len && i < PD_PATH_MAX; i++) {
        at += snprintf(at, (size_t)(end - at), "%s", i ? arrow : "");
        at = put_switch(at, (size_t)(end - at), path->switches[i], style);
    }
    return text;
}

const char *pd_row_text_way(const struct pd_claim *claim, const struct pd_style *style,
                            char text[PD_TEXT_WAY_BYTES])
{
    char mark[PD_WAY_MARK_TEXT_BYTES];
    bool infeasible = claim->state == PD_CLAIM_INFEASIBLE;
    bool state = claim->state && !(infeasible && !claim->path->len);
    size_t at;

    pd_row_text_path(claim->path, style, text);
    if (!claim->path->len && infeasible) {
        snprintf(text, PD_TEXT_WAY_BYTES, "%s", pd_query_way_mark_text(&claim->mark, mark));
    }
    at = strlen(text);
    if (state || claim->origin) {
        snprintf(text + at, PD_TEXT_WAY_BYTES - at, "%s(%s%s%s)", at ? " " : "",
                 state ? pd_claim_state_id(claim->state) : "", state && claim->origin ? ", " : "",
                 claim->origin ? pd_origin_id(claim->origin) : "");
    }
    return text;
}

const char *pd_row_text_word(const char *text, char *word, size_t size)
{
    const char *from = text ? text : "?";
    size_t len = strnlen(from, size);
    if (len == size) {
        len--;
        while (len && (from[len] & 0xc0) == 0x80) { /* in the middle of a character */
            len--;
        }
    }
    memcpy(word, from, len);
    word[len] = '\0';
    pd_printable(word);
    return word;
}
