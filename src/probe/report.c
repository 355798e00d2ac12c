/* SPDX-License-Identifier: Apache-2.0 */
/* Reports written and read. */
#include "probe/report.h"

#include <errno.h>

#include "base/grow.h"
#include "telemetry/telemetry.h"

enum { MAGIC = 0x5044, VERSION = 1, KIND = 'R', HEAD_BYTES = 28, NUMBER_BYTES_MAX = 10 };

/* ---- numbers ---- */

/* Seven bits a byte, the lowest first; the highest bit says that more follow. */
static void put(struct pd_probe_report_out *out, uint64_t number)
{
    if (out->err || PD_GROW(out->bytes, out->room, out->len + NUMBER_BYTES_MAX)) {
        out->err = -ENOMEM;
        return;
    }
    for (; number > 127; number >>= 7) {
        out->bytes[out->len++] = (uint8_t)(number | 128);
    }
    out->bytes[out->len++] = (uint8_t)number;
}

static bool get(struct pd_bytes *bytes, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
        const uint8_t *byte = pd_bytes_take(bytes, 1);

        if (!byte || (i == NUMBER_BYTES_MAX - 1 && *byte > 1)) {
            return false;
        }
        number |= (uint64_t)(*byte & 127) << (7 * i);
        if (*byte < 128) {
            *ret_number = number;
            return number <= most;
        }
    }
    return false;
}

static bool get32(struct pd_bytes *bytes, uint32_t *ret_number)
{
    uint64_t number = 0;
    bool good = get(bytes, UINT32_MAX, &number);

    *ret_number = (uint32_t)number;
    return good;
}

/* Small ones of either sign have few bytes. */
static void put_signed(struct pd_probe_report_out *out, int64_t number)
{
    put(out, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

static bool get_signed(struct pd_bytes *bytes, int64_t *ret_number)
{
    uint64_t number = 0;
    bool good = get(bytes, UINT64_MAX, &number);

    *ret_number = (int64_t)(number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
    return good;
}

/* ---- the head ---- */

void pd_probe_report_begin(struct pd_probe_report_out *out, const struct pd_probe_report *report)
{
    const uint32_t words[] = {report->host,  report->plan,     report->order,
                              report->epoch, report->sent_len, report->came_len};

    out->len = 0;
    out->err = PD_GROW(out->bytes, out->room, HEAD_BYTES) ? -ENOMEM : 0;
    if (out->err) {
        return;
    }
    pd_bytes_put(out->bytes, 2, MAGIC);
    out->bytes[2] = VERSION;
    out->bytes[3] = KIND;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        pd_bytes_put(out->bytes + 4 + 4 * i, 4, words[i]);
    }
    out->len = HEAD_BYTES;
}

bool pd_probe_report_read(struct pd_bytes *bytes, struct pd_probe_report *ret_report)
{
    const uint8_t *head = pd_bytes_take(bytes, HEAD_BYTES);

    if (!head || pd_bytes_number(head, 2) != MAGIC || head[2] != VERSION || head[3] != KIND) {
        return false;
    }
    *ret_report = (struct pd_probe_report){.host = (uint32_t)pd_bytes_number(head + 4, 4),
                                           .plan = (uint32_t)pd_bytes_number(head + 8, 4),
                                           .order = (uint32_t)pd_bytes_number(head + 12, 4),
                                           .epoch = (uint32_t)pd_bytes_number(head + 16, 4),
                                           .sent_len = (uint32_t)pd_bytes_number(head + 20, 4),
                                           .came_len = (uint32_t)pd_bytes_number(head + 24, 4)};
    return ret_report->sent_len <= PD_PROBE_ORDER_WAYS_MAX &&
           ret_report->came_len <= PD_PROBE_ORDER_WAYS_MAX;
}

/* ---- what was sent ---- */

void pd_probe_report_put_sent(struct pd_probe_report_out *out,
                              const struct pd_probe_report_sent *sent)
{
    put(out, sent->number);
    put(out, sent->sent.first);
    put(out, sent->sent.next - sent->sent.first);
}

bool pd_probe_report_next_sent(struct pd_bytes *bytes, struct pd_probe_report_sent *ret_sent)
{
    uint32_t len = 0;
    bool good = get32(bytes, &ret_sent->number) && get32(bytes, &ret_sent->sent.first) &&
                get32(bytes, &len);

    ret_sent->sent.next = ret_sent->sent.first + len;
    return good;
}

/* ---- what came ---- */

void pd_probe_report_put_came(struct pd_probe_report_out *out,
                              const struct pd_probe_report_came *came)
{
    put(out, came->number);
    put(out, came->came.any | (came->silent ? 2U : 0U));
    if (came->came.any) {
        put(out, came->came.first);
        put(out, came->came.newest - came->came.first);
        put(out, came->came.missing);
    }
    put(out, came->count);
    put(out, came->hops);
}

bool pd_probe_report_next_came(struct pd_bytes *bytes, struct pd_probe_report_came *ret_came)
{
    uint64_t any = 0, hops = 0;
    uint32_t len = 0;

    *ret_came = (struct pd_probe_report_came){.count = 0};
    bool good = get32(bytes, &ret_came->number) && get(bytes, 3, &any);
    ret_came->silent = any & 2;
    if (good && any & 1) {
        ret_came->came.any = true;
        good = get32(bytes, &ret_came->came.first) && get32(bytes, &len) &&
               get(bytes, UINT64_MAX, &ret_came->came.missing);
        ret_came->came.newest = ret_came->came.first + len;
    }
    good = good && get32(bytes, &ret_came->count) && get(bytes, PD_TELEMETRY_HOPS_MAX, &hops);
    ret_came->hops = (uint32_t)hops;
    return good;
}

/* What came may be any numbers: sums and differences wrap around. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* The least, and how far the others lie above it. */
static void put_sum(struct pd_probe_report_out *out, const struct pd_probe_sum *sum)
{
    put_signed(out, sum->least);
    put_signed(out, minus(sum->mean, sum->least));
    put_signed(out, minus(sum->most, sum->mean));
    put_signed(out, minus(sum->most, sum->p99));
}

static bool is_sane(int64_t value)
{
    return value <= PD_PROBE_REPORT_VALUE_MAX && value >= -PD_PROBE_REPORT_VALUE_MAX;
}

static bool get_sum(struct pd_bytes *bytes, struct pd_probe_sum *ret_sum)
{
    int64_t mean = 0, most = 0, p99 = 0;
    bool good = get_signed(bytes, &ret_sum->least) && get_signed(bytes, &mean) &&
                get_signed(bytes, &most) && get_signed(bytes, &p99);

    ret_sum->mean = plus(ret_sum->least, mean);
    ret_sum->most = plus(ret_sum->mean, most);
    ret_sum->p99 = minus(ret_sum->most, p99);
    return good && is_sane(ret_sum->least) && is_sane(ret_sum->mean) && is_sane(ret_sum->most) &&
           is_sane(ret_sum->p99);
}

void pd_probe_report_put_hop(struct pd_probe_report_out *out, const struct pd_probe_hop *hop)
{
    put_sum(out, &hop->hop_latency_ns);
    put_sum(out, &hop->residence_ns);
    put_sum(out, &hop->queue_bytes);
}

bool pd_probe_report_next_hop(struct pd_bytes *bytes, struct pd_probe_hop *ret_hop)
{
    return get_sum(bytes, &ret_hop->hop_latency_ns) && get_sum(bytes, &ret_hop->residence_ns) &&
           get_sum(bytes, &ret_hop->queue_bytes);
}
