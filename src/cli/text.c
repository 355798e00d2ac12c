/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, times and paths as people read them. */
#include "cli/text.h"
#include "query/way.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

struct pd_style pd_cli_style(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return (struct pd_style){
        .utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
        .colour = isatty(fileno(stream)) && !(no_color && *no_color) && term && *term &&
                  strcmp(term, "dumb"),
    };
}

struct pd_style pd_cli_style_as(FILE *stream, bool csv)
{
    return csv ? (struct pd_style){.csv = true} : pd_cli_style(stream);
}

const char *pd_cli_number(uint64_t number, char text[PD_CLI_NUMBER_BYTES])
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

const char *pd_cli_bytes(uint64_t bytes, char text[PD_CLI_NUMBER_BYTES])
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
        snprintf(text, PD_CLI_NUMBER_BYTES, "%" PRIu64 " B", bytes);
    } else {
        snprintf(text, PD_CLI_NUMBER_BYTES, "%.1f %s", scaled, units[unit]);
    }
    return text;
}

const char *pd_cli_span(uint64_t span_us, char text[PD_CLI_NUMBER_BYTES])
{
    uint64_t seconds = span_us / PD_US_PER_S, minutes = seconds / 60, hours = minutes / 60;
    if (!span_us) {
        return strcpy(text, "0 s");
    }
    if (span_us < 1000) {
        snprintf(text, PD_CLI_NUMBER_BYTES, "%" PRIu64 " us", span_us);
    } else if (!seconds) {
        snprintf(text, PD_CLI_NUMBER_BYTES, "%" PRIu64 ".%03" PRIu64 " ms", span_us / 1000,
                 span_us % 1000);
    } else if (!minutes) {
        snprintf(text, PD_CLI_NUMBER_BYTES, "%" PRIu64 ".%03" PRIu64 " s", seconds,
                 span_us % PD_US_PER_S / 1000);
    } else if (!hours) {
        snprintf(text, PD_CLI_NUMBER_BYTES, "%" PRIu64 " min %02" PRIu64 " s", minutes,
                 seconds % 60);
    } else {
        snprintf(text, PD_CLI_NUMBER_BYTES, "%" PRIu64 " h %02" PRIu64 " min", hours, minutes % 60);
    }
    return text;
}

const char *pd_cli_path(const struct pd_path *path, const struct pd_style *style,
                        char text[PD_CLI_PATH_BYTES])
{
    const char *arrow = style->utf8 ? "\u2192" : "-";
    char *at = text, *end = text + PD_CLI_PATH_BYTES;
    *at = '\0';
    for (unsigned i = 0; i < path->len && i < PD_PATH_MAX; i++) {
        at += snprintf(at, (size_t)(end - at), "%s%" PRIu32, i ? arrow : "", path->switches[i]);
    }
    return text;
}

const char *pd_cli_way(const struct pd_claim *claim, const struct pd_style *style,
                       char text[PD_CLI_WAY_BYTES])
{
    char mark[PD_WAY_MARK_TEXT_BYTES];
    bool infeasible = claim->state == PD_CLAIM_INFEASIBLE;
    bool state = claim->state && !(infeasible && !claim->path->len);
    size_t at;

    pd_cli_path(claim->path, style, text);
    if (!claim->path->len && infeasible) {
        snprintf(text, PD_CLI_WAY_BYTES, "%s", pd_way_mark_text(&claim->mark, mark));
    }
    at = strlen(text);
    if (state || claim->origin) {
        snprintf(text + at, PD_CLI_WAY_BYTES - at, "%s(%s%s%s)", at ? " " : "",
                 state ? pd_claim_state_id(claim->state) : "", state && claim->origin ? ", " : "",
                 claim->origin ? pd_origin_id(claim->origin) : "");
    }
    return text;
}

const char *pd_cli_word(const char *text, char *word, size_t size)
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
