/* SPDX-License-Identifier: Apache-2.0 */
/* The intake that reads capture files: libpcap takes the file apart, packet times drive the
 * trajectory memory. */
#include "intake/pcap/pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "base/clock.h"
#include "intake/frames.h"

#define WORK_NS          (10 * PD_NS_PER_MS) /* of one poll */
#define READ_FRAMES      (4 * PD_FRAMES_BATCH)
#define SWEEP_FRAMES     4096
#define BUFFER_BYTES     (256 * 1024)
#define TIME_MAX_NS      ((UINT64_C(1) << 53) * PD_NS_PER_US) /* what a JSON number holds in us */
#define REFUSED_PAUSE_MS 1

struct pcap_intake {
    struct pd_intake head;
    struct pd_frames frames;
    FILE *stream; /* libpcap's, once it is open */
    pcap_t *pcap;
    bool regular; /* a file on disk: always ready */
    int wake_fd;
    uint64_t swept_frames; /* frames when the last sweep was */
    int end;               /* why reading is over, negative; 0: it is not */
    enum pd_intake_state state;
    char detail[sizeof(((struct pd_intake_status *)NULL)->detail)];
};

static struct pcap_intake *own(struct pd_intake *intake)
{
    return (struct pcap_intake *)intake;
}

/* ---- open and close ------------------------------------------------------------------------- */

static void pcap_intake_close(struct pd_intake *intake)
{
    struct pcap_intake *p = own(intake);

    if (p->pcap) {
        pcap_close(p->pcap);
    } else if (p->stream) {
        fclose(p->stream);
    }
    pd_intake_frames_done(&p->frames);
    free(p);
}

/* Standard input for "-". Folders open well and fail later: they are told here. Returns a
 * descriptor or -errno. */
static int open_file(const char *path, bool *ret_regular)
{
    const int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
                                          : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    struct stat about;
    int r = fd;

    if (fd < 0 || fstat(fd, &about) < 0) {
        r = -errno;
    } else if (S_ISDIR(about.st_mode)) {
        r = -EISDIR;
    } else {
        *ret_regular = S_ISREG(about.st_mode);
    }
    if (r < 0 && fd >= 0) {
        close(fd);
    }
    return r;
}

/* libpcap reads a header, then a record: with a large buffer and without a lock for each. */
static int open_stream(struct pcap_intake *p, const char *path)
{
    const int fd = open_file(path, &p->regular);

    if (fd < 0) {
        return fd;
    }
    p->stream = fdopen(fd, "r");
    if (!p->stream) {
        close(fd);
        return -ENOMEM;
    }
    setvbuf(p->stream, NULL, _IOFBF, BUFFER_BYTES);
    __fsetlocking(p->stream, FSETLOCKING_BYCALLER);
    return 0;
}

static int not_a_capture(const struct pcap_intake *p, const char *path, const char *words,
                         struct pd_error *error)
{
    if (p->regular && feof(p->stream) && ftello(p->stream) == 0) {
        return pd_fail(error, -PD_E_SYNTAX, "%s: empty, expected a pcap or pcapng file", path);
    }
    return pd_fail(error, -PD_E_SYNTAX, "%s: not a whole pcap or pcapng file: %s", path, words);
}

static int check_link_type(pcap_t *pcap, const char *path, struct pd_error *error)
{
    const int type = pcap_datalink(pcap);
    const char *name = pcap_datalink_val_to_name(type);

    if (type == DLT_EN10MB) {
        return 0;
    }
    return pd_fail(error, -PD_E_UNSUPPORTED,
                   "%s: link type %d (%s): link tags are read from Ethernet only (EN10MB)", path,
                   type, name ? name : "unknown");
}

static int open_pcap(struct pcap_intake *p, const char *path, struct pd_error *error)
{
    char words[PCAP_ERRBUF_SIZE] = "";
    const int r = open_stream(p, path);

    if (r < 0) {
        return pd_fail(error, r, "%s: %s", path, strerror(-r));
    }
    p->pcap =
        pcap_fopen_offline_with_tstamp_precision(p->stream, PCAP_TSTAMP_PRECISION_NANO, words);
    return p->pcap ? check_link_type(p->pcap, path, error) : not_a_capture(p, path, words, error);
}

static int pcap_intake_open(const char *argument, const struct pd_intake_config *config,
                            const struct pd_trajectory_sink *sink, struct pd_intake **ret_intake,
                            struct pd_error *error)
{
    struct pcap_intake *p = calloc(1, sizeof(*p));
    int r;

    if (!p) {
        return pd_fail(error, -ENOMEM, "%s: no memory", argument);
    }
    p->head.ops = &pd_intake_pcap;
    p->state = PD_INTAKE_RUNNING;
    p->wake_fd = config->wake_fd;
    r = pd_intake_frames_init(&p->frames, config, sink);
    if (r < 0) {
        pd_fail(error, r, "%s: trajectory memory: %s", argument, pd_error_text(r));
        goto out;
    }
    r = open_pcap(p, argument, error);
out:
    if (r < 0) {
        pcap_intake_close(&p->head);
        return r;
    }
    *ret_intake = &p->head;
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Hostile files have any time: before the epoch counts as the epoch, and there is a last moment. */
static uint64_t frame_time_ns(const struct timeval *stamp)
{
    if (stamp->tv_sec < 0 || stamp->tv_usec < 0) {
        return 0;
    }
    if ((uint64_t)stamp->tv_sec >= TIME_MAX_NS / PD_NS_PER_S) {
        return TIME_MAX_NS - 1;
    }
    /* With nanosecond precision tv_usec holds nanoseconds. */
    return (uint64_t)stamp->tv_sec * PD_NS_PER_S + (uint64_t)stamp->tv_usec % PD_NS_PER_S;
}

static void on_frame(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
    struct pcap_intake *p = (struct pcap_intake *)user;
    const size_t wire = header->len > header->caplen ? header->len : header->caplen;

    pd_intake_frames_add(&p->frames, data, header->caplen, wire, frame_time_ns(&header->ts));
}

/* Reading stopped: why, and what the owner is told about it. */
static int why_over(struct pcap_intake *p, int dispatched)
{
    const bool interrupted = ferror(p->stream) && errno == EINTR;
    const long long at = ftello(p->stream);
    const unsigned long long frames = p->frames.frames;
    char where[80];

    if (dispatched == 0) {
        return -PD_E_EOF;
    }
    snprintf(where, sizeof(where), "at byte %lld, after %llu frames", at < 0 ? 0 : at, frames);
    if (interrupted) {
        snprintf(p->detail, sizeof(p->detail), "reading was interrupted in a record %s", where);
        return -PD_E_TRUNCATED;
    }
    if (ferror(p->stream)) {
        snprintf(p->detail, sizeof(p->detail), "reading failed %s: %.100s", where,
                 pcap_geterr(p->pcap));
        return -EIO;
    }
    if (feof(p->stream)) {
        snprintf(p->detail, sizeof(p->detail), "cut in the middle of a record %s", where);
        return -PD_E_TRUNCATED;
    }
    snprintf(p->detail, sizeof(p->detail), "corrupt %s: %.100s", where, pcap_geterr(p->pcap));
    return -PD_E_CORRUPT;
}

/* Waits for what comes next from a pipe. Only the start of a record is waited for: a writer that
 * stops in the middle of one holds up the reader, until it goes on or a signal interrupts it. */
static bool wait_for_input(const struct pcap_intake *p, int timeout_ms)
{
    struct pollfd fds[] = {{fileno(p->stream), POLLIN, 0}, {p->wake_fd, POLLIN, 0}};

    /* Bytes in the buffer: glibc has no function that tells. */
    if (p->regular || p->stream->_IO_read_ptr < p->stream->_IO_read_end) {
        return true;
    }
    return poll(fds, 2, timeout_ms) > 0 && fds[0].revents;
}

/* When idle flows are swept changes no record, only how long it stays in memory. Where packets are
 * far apart in time a sweep that goes through the whole table for each few of them would be all
 * that is done here. */
static void commit(struct pcap_intake *p)
{
    const uint64_t since = p->frames.frames - p->swept_frames;
    const bool due = since >= SWEEP_FRAMES;

    pd_intake_frames_commit(&p->frames, due ? p->frames.newest_ns : 0);
    if (due) {
        p->swept_frames = p->frames.frames;
    }
}

static void pause_for_sink(const struct pcap_intake *p)
{
    struct pollfd wake = {p->wake_fd, POLLIN, 0};

    poll(&wake, 1, REFUSED_PAUSE_MS);
}

/* Gives all that is left to the sink; the end is told once it has taken everything. */
static int finish(struct pcap_intake *p)
{
    if (p->state != PD_INTAKE_RUNNING) {
        return p->end;
    }
    if (pd_intake_frames_flush(&p->frames) > 0) {
        pause_for_sink(p);
        return 0;
    }
    p->state =
        p->end == -PD_E_EOF || p->end == -PD_E_TRUNCATED ? PD_INTAKE_FINISHED : PD_INTAKE_FAILED;
    return p->end;
}

/* A file is never read faster than the sink takes what it yields: a refusal ends the poll. */
static int pcap_intake_poll(struct pd_intake *intake, int timeout_ms)
{
    struct pcap_intake *p = own(intake);
    const uint64_t until_ns = pd_clock_monotonic_ns() + WORK_NS;
    const uint64_t refused = pd_intake_frames_refused(&p->frames);

    while (!p->end && wait_for_input(p, timeout_ms)) {
        const int dispatched =
            pcap_dispatch(p->pcap, p->regular ? READ_FRAMES : 1, on_frame, (u_char *)p);

        if (dispatched <= 0) {
            p->end = why_over(p, dispatched);
            break;
        }
        commit(p);
        if (pd_intake_frames_refused(&p->frames) != refused) {
            pause_for_sink(p);
            break;
        }
        if (pd_clock_monotonic_ns() >= until_ns) {
            break;
        }
        timeout_ms = 0;
    }
    return p->end ? finish(p) : 0;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static size_t pcap_intake_flush(struct pd_intake *intake)
{
    return pd_intake_frames_flush(&own(intake)->frames);
}

static void pcap_intake_walk(struct pd_intake *intake,
                             void (*visit)(void *context,
                                           const struct pd_trajectory_record *record),
                             void *context)
{
    pd_intake_frames_walk(&own(intake)->frames, visit, context);
}

static void pcap_intake_status(const struct pd_intake *intake, struct pd_intake_status *ret_status)
{
    const struct pcap_intake *p = (const struct pcap_intake *)intake;
    struct pd_intake_status status = {.kind = pd_intake_pcap.kind, .state = p->state};

    memcpy(status.detail, p->detail, sizeof(status.detail));
    pd_intake_frames_status(&p->frames, &status);
    *ret_status = status;
}

const struct pd_intake_ops pd_intake_pcap = {
    .kind = "pcap",
    .argument = "FILE",
    .source = "file",
    .can = PD_INTAKE_FRAMES,
    .open = pcap_intake_open,
    .close = pcap_intake_close,
    .poll = pcap_intake_poll,
    .flush = pcap_intake_flush,
    .walk = pcap_intake_walk,
    .status = pcap_intake_status,
};
