/* SPDX-License-Identifier: Apache-2.0 */
/* The socket over which a switch hands its regions to the agent. */
#ifndef PD_INTAKE_OVS_SOCKET_H
#define PD_INTAKE_OVS_SOCKET_H

#include "base/error.h"
#include "trajectory/region.h"

/* Connects to `path`. `ret_pid_fd` becomes readable when the switch's process is gone; -1 when that
 * cannot be known. Returns the socket, non-blocking, or a negative error. */
int pd_ovs_socket_connect(const char *path, int *ret_pid_fd, struct pd_error *error);

/* One message; its descriptors (or -1) are the caller's. 1: got one; 0: none is there; -PD_E_EOF:
 * closed; -PD_E_CORRUPT. */
int pd_ovs_socket_receive(int fd, struct pd_message *ret_message, int ret_fds[2]);

int pd_ovs_socket_send(int fd, enum pd_message_type type);

#endif
