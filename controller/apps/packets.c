/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of switches on their way to applications: a bounded queue and its thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/apps/private.h"

#define PACKETS_MAX   4096u
#define PACKETS_BYTES ((size_t)4 << 20)

struct packet {
    struct packet *next;
    struct pd_app_packet packet; /* its data lies behind it */
    uint8_t data[];
};

struct pd_apps_packets {
    struct pd_controller *controller;
    pthread_t thread;
    bool started, stopped;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;
    struct packet *first, **last;
    size_t len, bytes;
    bool stopping;
};

/* With the lock held, which is let go while it works. */
static void work_off(struct pd_apps_packets *packets)
{
    struct packet *packet = packets->first;

    packets->first = packet->next;
    if (!packets->first) {
        packets->last = &packets->first;
    }
    packets->len--;
    packets->bytes -= packet->packet.bytes;
    pthread_mutex_unlock(&packets->lock);
    pd_apps_residents_packet(packets->controller->apps->residents, &packet->packet);
    free(packet);
    pthread_mutex_lock(&packets->lock);
}

static void *work(void *context)
{
    struct pd_apps_packets *packets = context;

    pthread_mutex_lock(&packets->lock);
    while (!packets->stopping) {
        if (packets->first) {
            work_off(packets);
        } else {
            pthread_cond_wait(&packets->wake, &packets->lock);
        }
    }
    pthread_mutex_unlock(&packets->lock);
    return NULL;
}

int pd_apps_packets_open(struct pd_controller *controller, struct pd_apps_packets **ret_packets)
{
    struct pd_apps_packets *packets = calloc(1, sizeof *packets);
    int err;

    if (!packets) {
        return -ENOMEM;
    }
    packets->controller = controller;
    packets->last = &packets->first;
    pthread_mutex_init(&packets->lock, NULL);
    pthread_cond_init(&packets->wake, NULL);
    *ret_packets = packets;
    err = pd_apps_thread(&packets->thread, work, packets);
    packets->started = !err;
    return err;
}

void pd_apps_packets_stop(struct pd_apps_packets *packets)
{
    pthread_mutex_lock(&packets->lock);
    packets->stopping = true;
    pthread_cond_broadcast(&packets->wake);
    pthread_mutex_unlock(&packets->lock);
    if (packets->started && !packets->stopped) {
        pthread_join(packets->thread, NULL);
    }
    packets->stopped = true;
}

void pd_apps_packets_close(struct pd_apps_packets *packets)
{
    if (!packets) {
        return;
    }
    while (packets->first) {
        struct packet *next = packets->first->next;

        free(packets->first);
        packets->first = next;
    }
    pthread_cond_destroy(&packets->wake);
    pthread_mutex_destroy(&packets->lock);
    free(packets);
}

static struct packet *copy_of(const struct pd_switches_packet_in *from)
{
    struct packet *packet = malloc(sizeof *packet + from->bytes);

    if (!packet) {
        return NULL;
    }
    memcpy(packet->data, from->data, from->bytes);
    packet->next = NULL;
    packet->packet = (struct pd_app_packet){
        .switch_id = from->switch_id,
        .in_port = from->in_port,
        .data = packet->data,
        .bytes = from->bytes,
        .received_ns = pd_clock_monotonic_ns(),
        .limited = from->limited,
    };
    return packet;
}

void pd_apps_packet(struct pd_controller *controller, const struct pd_switches_packet_in *from)
{
    struct pd_apps *apps = controller->apps;
    struct pd_apps_packets *packets = apps->packets;
    struct packet *packet;
    bool room;

    if (!pd_apps_residents_any(apps->residents)) {
        return;
    }
    packet = copy_of(from);
    pthread_mutex_lock(&packets->lock);
    room = packet && !packets->stopping && packets->len < PACKETS_MAX &&
           from->bytes <= PACKETS_BYTES - packets->bytes;
    if (room) {
        *packets->last = packet;
        packets->last = &packet->next;
        packets->len++;
        packets->bytes += from->bytes;
        pthread_cond_signal(&packets->wake);
    }
    pthread_mutex_unlock(&packets->lock);
    pd_count(room ? &controller->counters.apps_packets : &controller->counters.apps_packets_lost,
             1);
    if (!room) {
        free(packet);
    }
}
