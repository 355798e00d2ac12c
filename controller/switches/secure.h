/* SPDX-License-Identifier: Apache-2.0 */
/* TLS under an OpenFlow connection: what a socket is for one without. */
#ifndef PD_CONTROLLER_SWITCHES_SECURE_H
#define PD_CONTROLLER_SWITCHES_SECURE_H

#include <sys/types.h>

#include "http/principal.h"

/* The controller shows the certificate that it shows to everybody, and asks for one: it has to come
 * from the CA, be meant for clients, and be nobody's who asks or is asked over HTTP. Its names (CN,
 * DNS names) are compared with the switch's once that has said which datapath it is.
 *
 *     pd_switch_tls_open(credentials, fd, &tls);
 *     while ((err = pd_switch_tls_shake(tls, &error)) == -EAGAIN) wait for
 * pd_switch_tls_writes(tls) … pd_switch_tls_recv(tls, room, bytes), pd_switch_tls_send(tls, data,
 * bytes)
 *
 * Internal to controller/switches/. Thread safety: one thread; nothing blocks, the descriptor does
 * not either. */

struct pd_of_tls;

/* The descriptor stays the caller's. -ENOMEM. */
int pd_switch_tls_open(struct pd_credentials *credentials, int fd, struct pd_of_tls **ret_tls);
void pd_switch_tls_close(struct pd_of_tls *tls); /* NULL is fine */

/* Can switches be served over TLS with these? -PD_E_VALUE with what is missing. */
int pd_switch_tls_check(struct pd_credentials *credentials, struct pd_error *error);

/* 0: the peer is trusted; -EAGAIN: more has to be read or written; -PD_E_UNAUTHORIZED with the
 * reason. */
int pd_switch_tls_shake(struct pd_of_tls *tls, struct pd_error *error);
bool pd_switch_tls_writes(const struct pd_of_tls *tls); /* it waits for writing */

/* Bytes; 0 at the end of the connection; -EAGAIN, or another error. What is sent again after
 * -EAGAIN begins with the same bytes. */
ssize_t pd_switch_tls_recv(struct pd_of_tls *tls, void *room, size_t bytes);
ssize_t pd_switch_tls_send(struct pd_of_tls *tls, const void *data, size_t bytes);
bool pd_switch_tls_pending(const struct pd_of_tls *tls); /* more was received than was read */

/* Does the peer's certificate name this switch? `name` of the topology. */
bool pd_switch_tls_names(const struct pd_of_tls *tls, const char *name);

/* After credentials were read anew: whether the peer is trusted still. -PD_E_UNAUTHORIZED. */
int pd_switch_tls_renew(struct pd_of_tls *tls, struct pd_credentials *credentials,
                        struct pd_error *error);

#endif
