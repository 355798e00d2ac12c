/* SPDX-License-Identifier: Apache-2.0 */
/* PDLY: values of one metric as float32, little-endian (docs/formats/links.md). */
#include <endian.h>
#include <string.h>

#include "controller/links/private.h"

#define MAGIC   "PDLY"
#define VERSION 1u

struct head {
    char magic[4];
    uint32_t version;
    uint64_t from_us, to_us;
    uint32_t n, reserved;
};
_Static_assert(sizeof(struct head) == 32, "docs/formats/links.md");

int pd_links_binary(const struct pd_link_sample *sample, unsigned m, struct pd_answer *answer)
{
    struct head head = {.version = htole32(VERSION),
                        .from_us = htole64(sample->from_us),
                        .to_us = htole64(sample->to_us),
                        .n = htole32(sample->len)};
    int err;

    memcpy(head.magic, MAGIC, sizeof head.magic);
    err = pd_http_answer_write(answer, (const char *)&head, sizeof head);
    for (uint32_t i = 0; i < sample->len && !err; i++) {
        uint32_t bits;

        memcpy(&bits, &sample->values[m][i], sizeof bits);
        bits = htole32(bits);
        err = pd_http_answer_write(answer, (const char *)&bits, sizeof bits);
    }
    return err ? err : pd_http_answer_finish(answer);
}
