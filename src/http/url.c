/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a server's URL. */
#include "http/url.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SOCKET_PATH_BYTES 108 /* of struct sockaddr_un */

static bool prints(const char *text)
{
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~') {
            return false;
        }
    }
    return true;
}

/* "name:8001", "10.0.0.1", "[::1]:8001", at most a "/" behind it. Port 0 is of no server. */
static bool is_authority(const char *text)
{
    size_t host = text[0] == '[' ? strspn(text + 1, "0123456789abcdefABCDEF:.") + 1
                                 : strcspn(text, ":/?#@[]\\\"<>{}|^`%");
    size_t port = 0;

    if (text[0] == '[' && text[host++] != ']') {
        return false;
    }
    if (!host) {
        return false;
    }
    text += host;
    if (*text == ':') {
        port = strspn(++text, "0123456789");
        long number = port && port <= 5 ? strtol(text, NULL, 10) : 0;
        if (number < 1 || number > UINT16_MAX) {
            return false;
        }
        text += port;
    }
    return !strcmp(text, "") || !strcmp(text, "/");
}

int pd_http_url_check(const char *url, struct pd_error *error)
{
    bool fits = false;

    if (!strncmp(url, "unix:/", 6)) {
        fits = url[6] && strlen(url + 5) < SOCKET_PATH_BYTES;
    } else if (!strncmp(url, "http://", 7)) {
        fits = is_authority(url + 7);
    } else if (!strncmp(url, "https://", 8)) {
        fits = is_authority(url + 8);
    }
    if (fits && prints(url) && strlen(url) < PD_HTTP_URL_BYTES) {
        return 0;
    }
    return pd_fail(error, -PD_E_VALUE,
                   "expects http://HOST:PORT, https://HOST:PORT or unix:/SOCKET");
}

int pd_http_url_host(const char *url, char *ret_host, size_t size)
{
    const char *host = strstr(url, "://");
    size_t len;

    if (!host) {
        return -PD_E_NOT_FOUND;
    }
    host += 3;
    if (*host == '[') {
        len = strcspn(++host, "]");
    } else {
        len = strcspn(host, ":/");
    }
    if (len >= size) {
        return -PD_E_URI_TOO_LONG;
    }
    memcpy(ret_host, host, len);
    ret_host[len] = '\0';
    return 0;
}
