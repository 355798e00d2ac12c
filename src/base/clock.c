/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, and times as people write them. */
#include "base/clock.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

#define MAX_US (UINT64_C(1) << 53)    /* JSON numbers are exact below */
#define LAST_S UINT64_C(253402300799) /* 9999-12-31T23:59:59Z, the last that RFC 3339 can say */

static uint64_t read_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * PD_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t pd_clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t pd_clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

uint64_t pd_clock_thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t pd_clock_wall_us(void)
{
    return pd_clock_wall_ns() / PD_NS_PER_US;
}

/* Exactly `digits` decimal digits; moves `at` behind them. */
static bool take_number(const char **at, int digits, int *ret_number)
{
    int number = 0;
    for (; digits; digits--, ++*at) {
        if (!isdigit((unsigned char)**at)) {
            return false;
        }
        number = number * 10 + (**at - '0');
    }
    *ret_number = number;
    return true;
}

static bool take_char(const char **at, const char *one_of)
{
    return **at && strchr(one_of, **at) && ++*at;
}

/* ".25" as microseconds; digits behind the sixth are dropped. Nothing there is 0. */
static bool take_fraction(const char **at, uint64_t *ret_us)
{
    *ret_us = 0;
    if (**at != '.') {
        return true;
    }
    if (!isdigit((unsigned char)*++*at)) {
        return false;
    }
    for (uint64_t weight = PD_US_PER_S / 10; isdigit((unsigned char)**at); ++*at, weight /= 10) {
        *ret_us += weight * (uint64_t)(**at - '0');
    }
    return true;
}

/* "Z", "+02:00" or "-02:00" as seconds east of UTC. */
static bool take_zone(const char **at, int *ret_east_s)
{
    int hours, minutes;
    *ret_east_s = 0;
    if (take_char(at, "Zz")) {
        return true;
    }
    int sign = **at == '-' ? -1 : 1;
    if (!take_char(at, "+-") || !take_number(at, 2, &hours) || !take_char(at, ":") ||
        !take_number(at, 2, &minutes) || hours > 23 || minutes > 59) {
        return false;
    }
    *ret_east_s = sign * (hours * 3600 + minutes * 60);
    return true;
}

/* Is the calendar date one that exists? timegm would turn 30 February into 2 March. */
static bool date_exists(const struct tm *given, time_t seconds)
{
    struct tm back;
    return gmtime_r(&seconds, &back) && back.tm_mday == given->tm_mday &&
           back.tm_mon == given->tm_mon;
}

/* Nothing is recorded from MAX_US on: a later time, as people write "for ever", means the same as
 * the last before it. */
static int join(uint64_t seconds, uint64_t fraction_us, uint64_t *ret_us)
{
    uint64_t us = seconds * PD_US_PER_S + fraction_us;
    if (seconds > LAST_S) {
        return -PD_E_VALUE;
    }
    *ret_us = us < MAX_US ? us : MAX_US - 1;
    return 0;
}

static int parse_rfc3339(const char *text, uint64_t *ret_us)
{
    struct tm tm = {0};
    uint64_t fraction_us;
    int east_s;
    if (!take_number(&text, 4, &tm.tm_year) || !take_char(&text, "-") ||
        !take_number(&text, 2, &tm.tm_mon) || !take_char(&text, "-") ||
        !take_number(&text, 2, &tm.tm_mday) || !take_char(&text, "Tt ") ||
        !take_number(&text, 2, &tm.tm_hour) || !take_char(&text, ":") ||
        !take_number(&text, 2, &tm.tm_min) || !take_char(&text, ":") ||
        !take_number(&text, 2, &tm.tm_sec) || !take_fraction(&text, &fraction_us) ||
        !take_zone(&text, &east_s) || *text) {
        return -PD_E_VALUE;
    }
    if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 59) {
        return -PD_E_VALUE;
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    struct tm date = tm;
    date.tm_hour = date.tm_min = date.tm_sec = 0;
    if (!date_exists(&tm, timegm(&date))) {
        return -PD_E_VALUE;
    }
    int64_t seconds = timegm(&tm) - east_s;
    return seconds < 0 ? -PD_E_VALUE : join((uint64_t)seconds, fraction_us, ret_us);
}

static int parse_seconds(const char *text, uint64_t *ret_us)
{
    uint64_t seconds = 0, fraction_us;
    if (!isdigit((unsigned char)*text)) {
        return -PD_E_VALUE;
    }
    for (; isdigit((unsigned char)*text); text++) {
        if ((seconds = seconds * 10 + (uint64_t)(*text - '0')) > LAST_S) {
            return -PD_E_VALUE;
        }
    }
    if (!take_fraction(&text, &fraction_us) || *text) {
        return -PD_E_VALUE;
    }
    return join(seconds, fraction_us, ret_us);
}

int pd_time_parse(const char *text, uint64_t *ret_us)
{
    size_t digits = strspn(text, "0123456789");
    return text[digits] == '-' ? parse_rfc3339(text, ret_us) : parse_seconds(text, ret_us);
}

const char *pd_time_format(uint64_t wall_us, char text[PD_TIME_TEXT_BYTES])
{
    time_t seconds = (time_t)(wall_us / PD_US_PER_S);
    struct tm tm;
    char date[24] = "?";
    if (gmtime_r(&seconds, &tm)) {
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    }
    snprintf(text, PD_TIME_TEXT_BYTES, "%.20s.%06uZ", date, (unsigned)(wall_us % PD_US_PER_S));
    return text;
}
