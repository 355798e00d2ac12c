/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef PD_CONTROLLER_LINKS_PRIVATE_H
#define PD_CONTROLLER_LINKS_PRIVATE_H

#include <pthread.h>

#include "controller/events/types.h"
#include "controller/links/history.h"
#include "controller/links/sample.h"

/* Locks: `lock`, and inside it none. Who asks hosts holds none: `taking` says that somebody does,
 * and all who want the same sample wait for it. */

struct pd_links_options {
    uint64_t period_ms;
};

/* An event of one metric, made once for all streams. */
struct pd_link_text {
    uint64_t number; /* of the sample; 0: none yet */
    char *bytes;
    size_t len;
};

struct pd_link_texts {
    struct pd_link_text full, changed;
    float *sent; /* what streams have that got each event; NULL: nothing yet */
    uint64_t sent_number;
    uint32_t sent_len;
};

/* The topology as text, of one inventory. */
struct pd_links_topology {
    struct pd_inventory *inventory; /* held; NULL: none yet */
    struct {
        char *bytes, *packed;
        size_t len, packed_len;
        char version[24];
    } forms[2]; /* without hosts, with them */
};

struct pd_links {
    struct pd_controller *controller;
    uint64_t period_us;
    pthread_mutex_t lock; /* of all below but the thread */
    pthread_cond_t changed;
    unsigned streams;
    bool taking, stopping;
    uint64_t number;               /* of the newest sample */
    struct pd_link_sample *newest; /* NULL: none, or too old */
    struct pd_link_history history;
    struct pd_link_texts texts[PD_LINK_METRICS_MAX];
    struct pd_links_topology topology;
    bool started;
    pthread_t thread;
};

/* Counted since the start. */
extern _Atomic uint64_t pd_links_samples, pd_links_asked;

/* ---- live.c ---- */

uint64_t pd_links_now_us(struct pd_controller *controller);
/* Of links of which the topology does not say. */
uint64_t pd_links_mbps(struct pd_controller *controller);
/* The sample of the last whole period: taken once, whoever asks. 0 or -ENOMEM. */
int pd_links_newest(struct pd_links *links, struct pd_link_sample **ret_sample);
void *pd_links_work(void *links);
/* A stream begins, ends. */
void pd_links_follow(struct pd_links *links);
void pd_links_unfollow(struct pd_links *links);
/* Topology or hosts are others now: what is newest is taken again. */
void pd_links_forget(struct pd_links *links);
void pd_links_done(struct pd_links *links);

/* ---- topology.c ---- */

void pd_links_topology_done(struct pd_links_topology *topology); /* works on zeroed memory */

/* ---- text.c ---- */

#define PD_LINK_VALUE_BYTES 24
/* A JSON number or null. */
const char *pd_link_value_text(float value, char text[PD_LINK_VALUE_BYTES]);
/* With `lock` held: the event of metric `m` of the newest sample, full or of what has changed since
 * the sample before. NULL: no such text can be made (ask for the full one), or no memory. */
const struct pd_link_text *pd_links_text(struct pd_links *links, unsigned m, bool full);
void pd_links_texts_done(struct pd_links *links);

/* ---- image.c, binary.c ---- */

/* A window's values as float32: docs/formats/links.md. */
int pd_links_binary(const struct pd_link_sample *sample, unsigned m, struct pd_answer *answer);
/* Rows are from, columns to. `samples` are of one topology. */
int pd_links_png(const struct pd_link_sample *sample, unsigned m, struct pd_answer *answer);
int pd_links_npy(struct pd_link_sample *const *samples, size_t len, unsigned m,
                 struct pd_answer *answer);
int pd_links_image_json(struct pd_link_sample *const *samples, size_t len, unsigned m,
                        struct pd_answer *answer);
/* Indexes of switches by pod and role; the caller's. NULL: no memory. */
uint32_t *pd_links_order(const struct pd_topology *topology);
#define PD_LINKS_IMAGE_BYTES (UINT64_C(256) << 20)

#endif
