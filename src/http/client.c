/* SPDX-License-Identifier: Apache-2.0 */
/* Options of libcurl handles. */
#include "http/client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "http/principal.h"
#include "http/url.h"
#include "pd_version.h"

static const char unix_scheme[] = "unix:";

static bool begins_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

/* A literal address, or the name that never leaves the host. */
static bool is_loopback(const char *base)
{
    char host[PD_HTTP_URL_BYTES];

    if (pd_http_url_host(base, host, sizeof host)) {
        return false;
    }
    return !strcmp(host, "localhost") || !strcmp(host, "::1") ||
           (begins_with(host, "127.") && strspn(host, "0123456789.") == strlen(host));
}

static CURLcode set_blob(CURL *curl, CURLoption option, const char *text)
{
    struct curl_blob blob = {(void *)(uintptr_t)text, strlen(text), CURL_BLOB_COPY};

    return curl_easy_setopt(curl, option, &blob);
}

static bool set_tls(CURL *curl, const struct pd_credentials_set *set)
{
    bool failed = curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);

    failed |= curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    failed |= curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (set && set->ca) {
        failed |= set_blob(curl, CURLOPT_CAINFO_BLOB, set->ca) ||
                  curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    if (set && set->crl[0]) {
        failed |= curl_easy_setopt(curl, CURLOPT_CRLFILE, set->crl) != CURLE_OK;
    }
    if (set && set->cert) {
        failed |= set_blob(curl, CURLOPT_SSLCERT_BLOB, set->cert) ||
                  set_blob(curl, CURLOPT_SSLKEY_BLOB, set->key);
    }
    return failed;
}

static bool set_token(CURL *curl, const struct pd_credentials_set *set)
{
    return set && set->token_out &&
           (curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER) ||
            curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, set->token_out));
}

int pd_http_client_set_up(CURL *curl, const char *base, const char *url,
                          const struct pd_credentials_set *set, struct pd_error *error)
{
    bool is_unix = begins_with(base, unix_scheme), failed;

    if (set && (set->ca || set->cert || set->token_out) && begins_with(base, "http://") &&
        !is_loopback(base)) {
        return pd_fail(error, -PD_E_FORBIDDEN,
                       "not asked in clear text, for there are credentials: expects https://");
    }
    failed = curl_easy_setopt(curl, CURLOPT_URL, url);
    failed |= curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    failed |= curl_easy_setopt(curl, CURLOPT_PROXY, "");
    failed |= curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    failed |= curl_easy_setopt(curl, CURLOPT_USERAGENT, "pathdump/" PD_VERSION);
    if (is_unix) {
        failed |= curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, base + strlen(unix_scheme));
    } else {
        failed |= set_token(curl, set);
    }
    failed |= set_tls(curl, set);
    return failed ? pd_fail(error, -ENOMEM, "no memory, or a libcurl without TLS") : 0;
}

int pd_http_client_url(const char *base, const char *route, char *ret_url, size_t size)
{
    size_t len = strlen(base);
    int bytes;

    while (len && base[len - 1] == '/') {
        len--;
    }
    bytes = begins_with(base, unix_scheme)
                ? snprintf(ret_url, size, "http://localhost%s", route)
                : snprintf(ret_url, size, "%.*s%s", (int)len, base, route);
    return (size_t)bytes < size ? 0 : -PD_E_URI_TOO_LONG;
}

const char *pd_http_client_reason(CURLcode result, char *words)
{
    static const char after[] = " after ", unit[] = " ms";
    char *at = words;

    while ((at = strstr(at, after))) {
        const char *end = at + strlen(after);

        end += strspn(end, "0123456789");
        if (end[-1] != ' ' && begins_with(end, unit)) {
            end += strlen(unit);
            memmove(at, end, strlen(end) + 1);
        } else {
            at++;
        }
    }
    return *words ? words : curl_easy_strerror(result);
}
