/* SPDX-License-Identifier: Apache-2.0 */
/* TIB: each call goes to the backend that opened the store; what a filter means is said once, here.
 */
#include "tib/tib.h"

#include <endian.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tib/group.h"

#define EXTRA_HEAD (sizeof(uint16_t) + sizeof(uint32_t))

bool pd_tib_filter_matches(const struct pd_tib_filter *filter, const struct pd_tib_record *record)
{
    return record->stime_us <= filter->to_us && record->etime_us >= filter->from_us &&
           pd_flow_matches(&filter->flow, &record->flow) &&
           (!filter->path || pd_path_equal(filter->path, record->path)) &&
           pd_tib_wants_origin(filter, record->claim) &&
           pd_path_crosses(record->path, filter->link);
}

bool pd_tib_same_way(const struct pd_tib_record *a, const struct pd_tib_record *b)
{
    if (a->path == b->path && a->claim == b->claim) {
        return true;
    }
    if (!a->claim && !b->claim) {
        return pd_path_equal(a->path, b->path);
    }
    const struct pd_claim ca = pd_tib_claim(a), cb = pd_tib_claim(b);
    return pd_claim_equal(&ca, &cb);
}

uint64_t pd_tib_way_hash(const struct pd_tib_record *record)
{
    return record->claim ? pd_claim_hash(record->claim) : pd_path_hash(record->path);
}

bool pd_tib_extra_next(const struct pd_tib_record *record, uint32_t *at,
                       struct pd_tib_extra *ret_extra)
{
    uint16_t kind;
    uint32_t len, left = record->extra_bytes - *at;
    const uint8_t *bytes;
    if (*at >= record->extra_bytes || left < EXTRA_HEAD) {
        return false;
    }
    bytes = record->extra + *at;
    memcpy(&kind, bytes, sizeof kind);
    memcpy(&len, bytes + sizeof kind, sizeof len);
    len = le32toh(len);
    if (len > left - EXTRA_HEAD) {
        return false;
    }
    *ret_extra = (struct pd_tib_extra){le16toh(kind), len, bytes + EXTRA_HEAD};
    *at += EXTRA_HEAD + len;
    return true;
}

bool pd_tib_extra_valid(const uint8_t *bytes, uint32_t len)
{
    const struct pd_tib_record record = {.extra = bytes, .extra_bytes = len};
    struct pd_tib_extra extra;
    uint32_t at = 0;
    while (pd_tib_extra_next(&record, &at, &extra)) {
    }
    return at == len && len <= PD_TIB_EXTRA_BYTES;
}

int pd_tib_open(const char *location, enum pd_tib_mode mode, const struct pd_tib_config *config,
                struct pd_tib **ret_tib, struct pd_error *error)
{
    const char *mark = strstr(location, "://");
    size_t len = mark ? (size_t)(mark - location) : 0;
    char shown[PD_TIB_SHOWN_BYTES];
    for (const struct pd_tib_ops *const *ops = pd_tib_backends; *ops; ops++) {
        if (strlen((*ops)->scheme) == len && !strncmp((*ops)->scheme, location, len)) {
            return (*ops)->open(location, mode, config, ret_tib, error);
        }
    }
    return pd_fail(error, -PD_E_UNSUPPORTED,
                   "%s: no such kind of TIB; expected a directory or mongodb://…",
                   pd_tib_shown(location, shown));
}

/* A password that was not escaped may hold any sign: all up to the last '@' goes. */
const char *pd_tib_shown(const char *location, char text[PD_TIB_SHOWN_BYTES])
{
    const char *mark = strstr(location, "://"), *at = strrchr(location, '@');
    if (!mark) {
        snprintf(text, PD_TIB_SHOWN_BYTES, "%s", location);
        return text;
    }
    const char *rest = at > mark ? at + 1 : mark + 3;
    snprintf(text, PD_TIB_SHOWN_BYTES, "%.*s://%.*s", (int)(mark - location), location,
             (int)strcspn(rest, "?"), rest);
    return text;
}

void pd_tib_close(struct pd_tib *tib)
{
    if (tib) {
        tib->ops->close(tib);
    }
}

int pd_tib_append(struct pd_tib *tib, const struct pd_tib_record *records, size_t n)
{
    return tib->ops->append(tib, records, n);
}

int pd_tib_commit(struct pd_tib *tib)
{
    return tib->ops->commit(tib);
}

int pd_tib_set_cursor(struct pd_tib *tib, uint64_t key, uint64_t value)
{
    return tib->ops->set_cursor(tib, key, value);
}

int pd_tib_cursor(struct pd_tib *tib, uint64_t key, uint64_t *ret_value)
{
    return tib->ops->cursor(tib, key, ret_value);
}

int pd_tib_maintain(struct pd_tib *tib, uint64_t now_us)
{
    return tib->ops->maintain(tib, now_us);
}

void pd_tib_retain(struct pd_tib *tib, uint64_t max_bytes, uint64_t max_age_s)
{
    tib->ops->retain(tib, max_bytes, max_age_s);
}

int pd_tib_stat(struct pd_tib *tib, struct pd_tib_stat *ret_stat)
{
    return tib->ops->stat(tib, ret_stat);
}

int pd_tib_snapshot(struct pd_tib *tib, struct pd_tib_snapshot **ret_snapshot)
{
    return tib->ops->snapshot(tib, ret_snapshot);
}

void pd_tib_release(struct pd_tib_snapshot *snapshot)
{
    if (snapshot) {
        snapshot->ops->release(snapshot);
    }
}

int pd_tib_scan(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                void *context)
{
    return snapshot->ops->scan(snapshot, filter, visit, context);
}

int pd_tib_group(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                 const struct pd_tib_grouping *grouping,
                 int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                 void *context)
{
    if (snapshot && snapshot->ops->group) {
        return snapshot->ops->group(snapshot, filter, grouping, visit, context);
    }
    return pd_tib_group_scanned(snapshot, filter, grouping, visit, context);
}

int pd_tib_token(struct pd_tib_snapshot *snapshot, char **ret_token)
{
    return snapshot->ops->token ? snapshot->ops->token(snapshot, ret_token) : -PD_E_UNSUPPORTED;
}

uint64_t pd_tib_version(const struct pd_tib_snapshot *snapshot)
{
    return snapshot->ops->version ? snapshot->ops->version(snapshot) : 0;
}

uint64_t pd_tib_snapshot_damaged(const struct pd_tib_snapshot *snapshot)
{
    return atomic_load_explicit(&snapshot->damaged, memory_order_relaxed);
}

int pd_tib_check(struct pd_tib *tib, void (*report)(void *context, const char *finding),
                 void *context)
{
    return tib->ops->check(tib, report, context);
}

int pd_tib_compact(struct pd_tib *tib, void (*progress)(void *context, uint64_t done, uint64_t all),
                   void *context)
{
    return tib->ops->compact ? tib->ops->compact(tib, progress, context) : -PD_E_UNSUPPORTED;
}
