/* SPDX-License-Identifier: Apache-2.0 */
/* One request of a fan-out to one server, and the watch over it: what fanout.c, transfer.c and
 * pulse.c share. */
#ifndef PD_FLEET_TRANSFER_H
#define PD_FLEET_TRANSFER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/fanout.h"
#include "fleet/pace.h"
#include "http/principal.h"

/* A slow server and a hung one look alike to who waits for an answer. So when a server has been
 * silent for longer than its pace allows it is asked for a sign of life, GET PD_PULSE_ROUTE, over a
 * connection of its own. Any status is one: then the answer is waited for on, to the deadline. When
 * none comes the server is hung, and its transfer ends with -PD_E_SILENT. Where answers of other
 * servers keep coming the machines may just be busy, and the sign gets longer, but not for ever.
 *
 * Thread safety: everything belongs to the thread that runs the fan-out, but the paces. */

#define PD_PULSE_ROUTE "/v1/status"
/* At least so long has a server for its sign of life, and at most so many times as long. */
#define PD_PULSE_LEAST_NS         UINT64_C(600000000)
#define PD_PULSE_STRETCH          4u

#define PD_TRANSFER_PROBLEM_BYTES 4096u

struct pd_transfer;

/* All of one question. */
struct pd_asking {
    struct pd_fanout *fanout;
    const struct pd_fanout_request *request;
    const struct pd_fanout_source *source;
    const struct pd_fanout_sink *sink;
    struct pd_credentials_set *credentials;
    struct curl_slist *headers;
    CURLM *multi;
    struct pd_transfer *open; /* those under way */
    uint64_t heard_ns;        /* when any of them was heard of last */
};

struct pd_transfer {
    struct pd_asking *asking;
    struct pd_transfer *next, *prev; /* of asking->open */
    struct pd_fanout_peer peer;
    size_t i;
    CURL *curl;
    struct curl_slist *headers;  /* its own; NULL: those of all */
    uint64_t begun_ns, heard_ns; /* monotonic; heard: the last byte, or sign of life */
    uint64_t patience_ns;
    bool answered;   /* a byte of the answer came */
    CURL *pulse;     /* asks for a sign of life; NULL: none is under way */
    bool suspect;    /* nothing was heard since that was asked */
    uint64_t due_ns; /* the sign, if others are not heard of meanwhile; else up to due_by_ns */
    uint64_t due_by_ns;
    uint64_t taken_bytes;
    int refused; /* by the sink, or as too large */
    size_t problem_len;
    char problem[PD_TRANSFER_PROBLEM_BYTES];
    char words[CURL_ERROR_SIZE];
};

/* ---- transfer.c ---- */

/* Begins a transfer, which is among asking->open then. An error: it never began, and the sink has
 * been told of its end. */
bool pd_fleet_transfer_begin(struct pd_asking *asking, size_t i, const struct pd_fanout_peer *peer);

/* The library is done with it: tells the sink, and frees it. */
void pd_fleet_transfer_end(struct pd_transfer *transfer, CURLcode result);

/* Ends it before the library does, with this error. */
void pd_fleet_transfer_abandon(struct pd_transfer *transfer, const struct pd_error *error);

/* A byte of its answer has come. */
void pd_fleet_transfer_heard(struct pd_transfer *transfer);

/* ---- pulse.c ---- */

/* Looks after those that are silent; ends the hung ones. Returns how many ended, and how long there
 * is nothing to look after. */
size_t pd_fleet_pulse_look(struct pd_asking *asking, uint64_t *ret_wait_ns);

/* The library is done with a sign of life. Returns how many transfers ended by that: 0 or 1. */
size_t pd_fleet_pulse_end(struct pd_transfer *transfer, CURLcode result);

void pd_fleet_pulse_stop(struct pd_transfer *transfer); /* none under way: fine */

/* ---- fanout.c ---- */

uint64_t pd_fleet_fanout_patience_ns(struct pd_fanout *fanout, const char *url);
void pd_fleet_fanout_note(struct pd_fanout *fanout, const char *url, uint64_t first_byte_ns);

#endif
