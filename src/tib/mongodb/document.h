/* SPDX-License-Identifier: Apache-2.0 */
/* Records as documents (docs/formats/mongodb.md), written and read back with every field checked.
 */
#ifndef PD_TIB_MONGODB_DOCUMENT_H
#define PD_TIB_MONGODB_DOCUMENT_H

#include <bson/bson.h>

#include "tib/tib.h"

/* Everything that is matched, sorted or grouped by on the server is one string or one number whose
 * order there is the order here: addresses and paths are hexadecimal text of fixed width per part.
 * All functions work on the caller's memory only. */

/* Which record of which writer: numbers of one writer ascend in the order of commits. */
struct pd_mongo_id {
    uint32_t host;
    uint32_t writer; /* < 2^20: each spool that ever wrote for the host is one */
    uint64_t seq;    /* 1 …, < 2^42 */
};
#define PD_MONGO_WRITERS  (UINT32_C(1) << 20)
#define PD_MONGO_SEQ_MAX  ((UINT64_C(1) << 42) - 1)
#define PD_MONGO_ID_BYTES 26 /* "HHHHHHHH-NNNNNNNNNNNNNNNN" and NUL */

const char *pd_mongodb_id_text(struct pd_mongo_id id, char text[PD_MONGO_ID_BYTES]);
int pd_mongodb_id_parse(const char *text, struct pd_mongo_id *ret_id);

#define PD_MONGO_ADDR_BYTES 34 /* "6" or "4", the digits, NUL */
const char *pd_mongodb_addr_text(const struct pd_addr *addr, uint8_t ip_version,
                                 char text[PD_MONGO_ADDR_BYTES]);

/* A path with its claim; of an exact path from tags, the switches alone. */
#define PD_MONGO_PATH_BYTES (8 * PD_PATH_MAX + 64)
const char *pd_mongodb_path_text(const struct pd_claim *claim, char text[PD_MONGO_PATH_BYTES]);
/* ret_claim->path is ret_path. */
int pd_mongodb_path_parse(const char *text, struct pd_path *ret_path, struct pd_claim *ret_claim);

/* expire_us: wall clock, when a TTL index shall remove it; 0: never. */
void pd_mongodb_document(const struct pd_tib_record *record, struct pd_mongo_id id,
                         uint64_t expire_us, bson_t *document);

/* A document read back. Of a group, what its records have not in common is 0. */
struct pd_mongo_row {
    struct pd_mongo_id id;
    struct pd_tib_record record;
    struct pd_path path;   /* record.path and .claim are NULL, for the caller to set */
    struct pd_claim claim; /* its path is `path` */
    bool has_path;
    /* record.extra points into the document */
};

/* -PD_E_CORRUPT: a field is missing or is not what it should be. */
int pd_mongodb_row(const bson_t *document, struct pd_mongo_row *ret_row);
int pd_mongodb_group_row(const bson_t *document, bool with_times, struct pd_mongo_row *ret_row);

/* A number that is not negative, of any of the types that servers answer with. */
int pd_mongodb_number(const bson_iter_t *at, uint64_t *ret_number);
/* The same of a member of a document; `otherwise` where there is none. */
uint64_t pd_mongodb_member(const bson_t *document, const char *name, uint64_t otherwise);

#endif
