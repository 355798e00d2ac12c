/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of eight, each written in a circle. */
#include "agent/installed/raised.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"

#define WAYS       8
#define SETS       (PD_RAISED_MAX / WAYS)
#define RULE_BYTES 64

struct pd_raised {
    uint64_t secret[2];
    uint64_t known[SETS][WAYS]; /* 0: free */
    uint8_t next[SETS];         /* way to be written next */
};

/* What is hashed: no padding. */
struct violation {
    uint64_t secret[2];
    struct pd_flow_id flow;
    uint64_t path; /* its hash */
    char rule[RULE_BYTES];
};
_Static_assert(sizeof(struct violation) == 16 + 40 + 8 + RULE_BYTES, "hashed as bytes");

int pd_installed_raised_new(struct pd_raised **ret_raised)
{
    struct pd_raised *raised = calloc(1, sizeof *raised);

    if (!raised) {
        return -ENOMEM;
    }
    while (getrandom(raised->secret, sizeof raised->secret, 0) < 0) {
        if (errno != EINTR) {
            int err = -errno;

            free(raised);
            return err;
        }
    }
    *ret_raised = raised;
    return 0;
}

void pd_installed_raised_free(struct pd_raised *raised)
{
    free(raised);
}

/* Nobody who does not know the secret can choose paths of one hash, or marks where there is none.
 */
static uint64_t hash_of(const struct pd_raised *raised, const struct pd_tib_record *record)
{
    const struct pd_path *path = record->path;
    uint64_t hash = raised->secret[0];

    for (uint32_t i = 0; i < path->len; i++) {
        hash = pd_hash_mix((hash ^ path->switches[i]) * raised->secret[1] | 1);
    }
    if (!path->len && record->claim) {
        hash ^= pd_claim_hash(record->claim) * (raised->secret[1] | 1);
    }
    return hash;
}

static uint64_t key_of(const struct pd_raised *raised, const struct pd_tib_record *record,
                       const char *rule)
{
    struct violation violation = {.flow = record->flow, .path = hash_of(raised, record)};
    uint64_t key;

    memcpy(violation.secret, raised->secret, sizeof violation.secret);
    strncpy(violation.rule, rule, sizeof violation.rule - 1);
    key = pd_hash(&violation, sizeof violation);
    return key ? key : 1;
}

bool pd_installed_raised_add(struct pd_raised *raised, const struct pd_tib_record *record,
                             const char *rule)
{
    uint64_t key = key_of(raised, record, rule);
    size_t set = key % SETS;

    for (unsigned i = 0; i < WAYS; i++) {
        if (raised->known[set][i] == key) {
            return false;
        }
    }
    raised->known[set][raised->next[set]] = key;
    raised->next[set] = (uint8_t)((raised->next[set] + 1) % WAYS);
    return true;
}
