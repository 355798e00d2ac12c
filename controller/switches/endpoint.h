/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint's insides: what its thread owns, and what it shares with the callers. */
#ifndef PD_CONTROLLER_SWITCHES_ENDPOINT_H
#define PD_CONTROLLER_SWITCHES_ENDPOINT_H

#include <pthread.h>
#include <sys/queue.h>

#include "controller/switches/secure.h"
#include "controller/switches/session.h"
#include "http/listen.h"

/* The thread owns the connections and never waits for anybody but epoll. Callers leave commands
 * under the lock and wake it; it publishes what it knows of each switch under the same lock. No
 * callback and no system call happens under the lock.
 *
 * Internal to controller/switches/. */

#define PD_ENDPOINT_COMMAND_BYTES_MAX (4 << 20) /* that wait for the thread */
#define PD_ENDPOINT_LISTENERS_MAX     16
#define PD_ENDPOINT_UNKNOWN_MAX       256 /* switches that were reported lately */
#define PD_ENDPOINT_UNKNOWN_NS        (60 * UINT64_C(1000000000))

enum pd_command_kind { PD_COMMAND_CHECK, PD_COMMAND_PACKET_OUT };

struct pd_command {
    STAILQ_ENTRY(pd_command) next;
    enum pd_command_kind kind;
    uint32_t sw;
    uint32_t in_port, out_port;
    size_t bytes;
    uint8_t data[];
};
STAILQ_HEAD(pd_commands, pd_command);

/* Where a connection is listed: before the handshake, while it waits for a check, or nowhere else
 * than at its switch. */
enum pd_connection_list { PD_LIST_NONE, PD_LIST_STRANGERS, PD_LIST_WAITING, PD_LIST_ENDED };

struct pd_connection {
    struct pd_of_session session;
    struct pd_switches *owner;
    TAILQ_ENTRY(pd_connection) link; /* of `list` */
    enum pd_connection_list list;
    int fd;
    struct pd_of_tls *tls; /* NULL: plain */
    bool shaking;          /* it is not known yet who it is, by its certificate */
    uint32_t sw;           /* PD_NONE before the handshake */
    bool checking;
    bool wants_check; /* another one, behind that which runs */
    bool writing;     /* epoll tells when it can be written */
    char peer[64];
};
TAILQ_HEAD(pd_connections, pd_connection);

struct pd_endpoint_listener {
    struct pd_listener listener;
    bool tls;
};

struct pd_published {
    struct pd_switch_status status;
    char *changes; /* NULL: not checked */
};

struct pd_switches {
    const struct pd_codec *codec;
    struct pd_switches_settings settings; /* without zeros */
    struct pd_endpoint_listener listeners[PD_ENDPOINT_LISTENERS_MAX];
    unsigned listeners_len;
    char address[512]; /* of all of them */
    int epoll, wake;   /* file descriptors, -1 when not open */
    pthread_t thread;
    bool running; /* the thread was started */
    atomic_bool stopping;
    _Atomic uint64_t counters[PD_SWITCHES_COUNTER_COUNT];

    /* The thread's own. */
    struct pd_connection **by_switch;                /* index of the topology; NULL: away */
    struct pd_connections strangers, waiting, ended; /* oldest first; ended: freed after the turn */
    uint32_t strangers_len, checks_len;
    bool deaf; /* no descriptors: nothing is accepted until the next tick */
    struct {
        uint64_t datapath_id, until_ns;
    } unknown[PD_ENDPOINT_UNKNOWN_MAX];
    unsigned unknown_next;

    pthread_mutex_t lock; /* of all below */
    struct pd_published *published;
    struct pd_commands commands;
    size_t commands_bytes;
};

/* accept.c: listens at all addresses of the settings; listeners are closed by who opened them, also
 * after an error. */
int pd_switch_endpoint_listen(struct pd_switches *s, struct pd_error *error);
/* -errno; the connection is the caller's, and in no list. */
int pd_switch_endpoint_accept(struct pd_switches *s, const struct pd_endpoint_listener *listener,
                              struct pd_connection **ret_connection);
/* Bytes; 0 at the end of the connection; -EAGAIN, or another error. */
ssize_t pd_switch_endpoint_recv(struct pd_connection *c, uint8_t *room, size_t bytes);
ssize_t pd_switch_endpoint_send(struct pd_connection *c, const uint8_t *data, size_t bytes);

/* loop.c */
void *pd_switch_endpoint_run(void *switches); /* until `stopping` */

#endif
