/* SPDX-License-Identifier: Apache-2.0 */
/* A port that reads one capture file and writes another. */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "swx/ports/port.h"

#define NS_PER_S UINT64_C(1000000000)

struct capture {
    struct pd_swx_port port;
    pcap_t *in, *form;
    pcap_dumper_t *out;
    struct pcap_pkthdr *header; /* of the next frame */
    const unsigned char *bytes; /* NULL: there is none */
    bool broken;
};

static void read_next(struct capture *capture)
{
    int got = capture->in ? pcap_next_ex(capture->in, &capture->header, &capture->bytes) : -2;
    if (got != 1) {
        capture->bytes = NULL;
        capture->broken = got == -1;
    }
}

/* Captures of this kind have nanoseconds in the place of microseconds. */
static uint64_t next_ns(const struct pd_swx_port *port)
{
    const struct capture *capture = (const struct capture *)port;
    return capture->bytes ? (uint64_t)capture->header->ts.tv_sec * NS_PER_S +
                                (uint64_t)capture->header->ts.tv_usec
                          : UINT64_MAX;
}

static enum pd_swx_received receive(struct pd_swx_port *port, struct pd_swx_frame *frame)
{
    struct capture *capture = (struct capture *)port;
    if (!capture->bytes) {
        return PD_SWX_ENDED;
    }
    const size_t bytes = capture->header->caplen;
    const bool fits = bytes <= PD_SWX_FRAME_MAX && bytes == capture->header->len;
    if (fits) {
        frame->time_ns = next_ns(port);
        frame->bytes = (uint32_t)bytes;
        memcpy(pd_swx_frame_data(frame), capture->bytes, bytes);
    }
    read_next(capture);
    return fits ? PD_SWX_FRAME : PD_SWX_DISCARDED;
}

static int send_frame(struct pd_swx_port *port, struct pd_swx_frame **frame)
{
    struct capture *capture = (struct capture *)port;
    struct pcap_pkthdr header = {.caplen = (*frame)->bytes, .len = (*frame)->bytes};
    if (!capture->out) {
        return 0;
    }
    header.ts.tv_sec = (time_t)((*frame)->time_ns / NS_PER_S);
    header.ts.tv_usec = (suseconds_t)((*frame)->time_ns % NS_PER_S);
    pcap_dump((unsigned char *)capture->out, &header, pd_swx_frame_data(*frame));
    return ferror(pcap_dump_file(capture->out)) ? PD_SWX_PORT_GONE : 0;
}

static void close_capture(struct pd_swx_port *port)
{
    struct capture *capture = (struct capture *)port;
    if (capture->out) {
        pcap_dump_close(capture->out);
    }
    if (capture->form) {
        pcap_close(capture->form);
    }
    if (capture->in) {
        pcap_close(capture->in);
    }
    free(capture);
}

static const struct pd_swx_port_ops capture_ops = {
    .send = send_frame, .receive = receive, .next_ns = next_ns, .close = close_capture};

static int open_in(struct capture *capture, const char *file, struct pd_error *error)
{
    char words[PCAP_ERRBUF_SIZE] = "";
    capture->in = pcap_open_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, words);
    if (!capture->in) {
        return pd_fail(error, -PD_E_SYNTAX, "%s: %.200s", file, words);
    }
    if (pcap_datalink(capture->in) != DLT_EN10MB) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "%s: no capture of Ethernet frames", file);
    }
    read_next(capture);
    return capture->broken
               ? pd_fail(error, -PD_E_SYNTAX, "%s: %.200s", file, pcap_geterr(capture->in))
               : 0;
}

static int open_out(struct capture *capture, const char *file, struct pd_error *error)
{
    capture->form = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, (int)PD_SWX_FRAME_MAX,
                                                         PCAP_TSTAMP_PRECISION_NANO);
    capture->out = capture->form ? pcap_dump_open(capture->form, file) : NULL;
    return capture->out ? 0
                        : pd_fail(error, -EIO, "%.400s",
                                  capture->form ? pcap_geterr(capture->form) : "no memory");
}

int pd_swx_capture_open(const char *in, const char *out, struct pd_swx_port **ret_port,
                        struct pd_error *error)
{
    struct capture *capture = calloc(1, sizeof *capture);
    if (!capture) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    capture->port.ops = &capture_ops;
    capture->port.fd = -1;
    int err = in ? open_in(capture, in, error) : 0;
    err = err || !out ? err : open_out(capture, out, error);
    if (err) {
        close_capture(&capture->port);
        return err;
    }
    *ret_port = &capture->port;
    return 0;
}
