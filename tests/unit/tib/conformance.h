/* SPDX-License-Identifier: Apache-2.0 */
/* The suite that every TIB backend passes: what its files share. Each test begins with an empty
 * place for a store. */
#ifndef PD_TESTS_TIB_CONFORMANCE_H
#define PD_TESTS_TIB_CONFORMANCE_H

#include "records.h"

extern struct pool pool;
extern struct random rnd;

bool on_server(void);
/* At most so many as the backend at hand takes in good time. */
size_t few(size_t records);
unsigned questions(unsigned n);

struct pd_tib *open_tib(enum pd_tib_mode mode, const struct pd_tib_config *config);

/* n random records into the store and the oracle. */
void append(struct pd_tib *tib, struct list *oracle, size_t n);

/* Of a snapshot taken now; the caller frees it. */
char *token_of(struct pd_tib *tib);

/* A visitor that wants no more; `context` is a size_t that counts what came. Returns 42. */
int stop_at_once(void *context, const struct pd_tib_record *records, size_t n);

/* conformance_groups.c */
void test_groups(void **state);
void test_group_limits(void **state);

#endif
