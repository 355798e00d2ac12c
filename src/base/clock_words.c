/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people type them and as their clocks on the wall show them. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"

#define MINUTE_S 60
#define LAST_S   (UINT64_C(1) << 33) /* JSON's exact microseconds end before */

/* ---- so long ago ---- */

static uint64_t unit_s(char suffix)
{
    switch (suffix) {
    case '\0':
    case 's': return 1;
    case 'm': return MINUTE_S;
    case 'h': return 60 * MINUTE_S;
    case 'd': return 24 * 60 * MINUTE_S;
    default: return 0;
    }
}

/* "-5m", "-1h30m", "-90": before now, and not before the epoch. */
static int parse_ago(const char *text, uint64_t now_us, uint64_t *ret_us)
{
    uint64_t ago_s = 0;

    do {
        uint64_t number = 0, unit;
        if (!isdigit((unsigned char)*++text)) {
            return -PD_E_VALUE;
        }
        for (; isdigit((unsigned char)*text); text++) {
            number = number * 10 + (uint64_t)(*text - '0');
            if (number > LAST_S) {
                return -PD_E_VALUE;
            }
        }
        unit = unit_s(*text);
        ago_s += number * unit;
        if (!unit || ago_s > now_us / PD_US_PER_S) {
            return -PD_E_VALUE;
        }
    } while (*text && text[1]);
    *ret_us = now_us - ago_s * PD_US_PER_S;
    return 0;
}

/* ---- by the clock on the wall ---- */

static int join_local(struct tm *tm, uint64_t fraction_us, uint64_t *ret_us)
{
    int day = tm->tm_mday, month = tm->tm_mon;

    tm->tm_isdst = -1;
    time_t seconds = mktime(tm);
    if (seconds < 0 || (uint64_t)seconds > LAST_S || tm->tm_mday != day || tm->tm_mon != month) {
        return -PD_E_VALUE; /* mktime turns 30 February into 2 March */
    }
    *ret_us = (uint64_t)seconds * PD_US_PER_S + fraction_us;
    return 0;
}

/* Midnight of now, or of the day before. */
static int parse_day(uint64_t now_us, int before, uint64_t *ret_us)
{
    time_t now = (time_t)(now_us / PD_US_PER_S);
    struct tm tm;

    if (!localtime_r(&now, &tm)) {
        return -PD_E_VALUE;
    }
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    tm.tm_mday -= before;
    now = mktime(&tm);
    if (now < 0) {
        return -PD_E_VALUE;
    }
    *ret_us = (uint64_t)now * PD_US_PER_S;
    return 0;
}

/* ".25" behind the seconds; nothing is 0. */
static bool take_fraction(const char *text, uint64_t *ret_us)
{
    *ret_us = 0;
    if (*text == '.' && isdigit((unsigned char)text[1])) {
        uint64_t weight = PD_US_PER_S / 10;
        for (text++; isdigit((unsigned char)*text); text++, weight /= 10) {
            *ret_us += weight * (uint64_t)(*text - '0');
        }
    }
    return !*text;
}

static int parse_local(const char *text, uint64_t now_us, uint64_t *ret_us)
{
    static const char *const forms[] = {
        "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
        "%Y-%m-%d",          "%H:%M:%S",          "%H:%M"};
    time_t now = (time_t)(now_us / PD_US_PER_S);
    uint64_t fraction_us;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm tm;
        if (!localtime_r(&now, &tm)) {
            return -PD_E_VALUE;
        }
        tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
        const char *rest = strptime(text, forms[i], &tm);
        bool seconds = strstr(forms[i], "%S");
        if (rest && take_fraction(rest, &fraction_us) && (seconds || !*rest)) {
            return join_local(&tm, fraction_us, ret_us);
        }
    }
    return -PD_E_VALUE;
}

int pd_time_parse_words(const char *text, uint64_t now_us, uint64_t *ret_us)
{
    if (!pd_time_parse(text, ret_us)) {
        return 0;
    }
    if (!strcmp(text, "now")) {
        *ret_us = now_us;
        return 0;
    }
    if (!strcmp(text, "today") || !strcmp(text, "yesterday")) {
        return parse_day(now_us, *text == 'y', ret_us);
    }
    return *text == '-' ? parse_ago(text, now_us, ret_us) : parse_local(text, now_us, ret_us);
}

const char *pd_time_format_local(uint64_t wall_us, char text[PD_TIME_TEXT_BYTES])
{
    time_t seconds = (time_t)(wall_us / PD_US_PER_S);
    struct tm tm;

    if (!localtime_r(&seconds, &tm)) {
        return pd_time_format(wall_us, text);
    }
    char date[24] = "?", zone[8] = "";
    long east_min = tm.tm_gmtoff / MINUTE_S;
    char sign = east_min < 0 ? '-' : '+';
    unsigned away = (unsigned)(east_min < 0 ? -east_min : east_min);

    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(zone, sizeof zone, "%c%02u:%02u", sign, away / 60 % 24, away % 60);
    snprintf(text, PD_TIME_TEXT_BYTES, "%.20s.%06u%s", date, (unsigned)(wall_us % PD_US_PER_S),
             zone);
    return text;
}
