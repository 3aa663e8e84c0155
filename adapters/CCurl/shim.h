#ifndef SIGNALBOX_CCURL_SHIM_H
#define SIGNALBOX_CCURL_SHIM_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Contains only what Swift cannot import: variadic functions, a union, macros, and options that older versions lack.

typedef size_t (*ccurl_sink)(char *bytes, size_t size, size_t count, void *owner);
typedef int (*ccurl_socket_hook)(void *owner, curl_socket_t socket, curlsocktype purpose);

// Must have returned before any other function is called. It is not safe to call from two threads at the same time.
static inline CURLcode ccurl_start(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

static inline CURLcode ccurl_set_number(CURL *transfer, CURLoption option, long value) {
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode ccurl_set_size(CURL *transfer, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode ccurl_set_text(CURL *transfer, CURLoption option, const char *value) {
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *transfer, CURLoption option, void *value) {
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode ccurl_set_sink(CURL *transfer, CURLoption option, ccurl_sink value) {
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode ccurl_set_socket_hook(CURL *transfer, ccurl_socket_hook value) {
    return curl_easy_setopt(transfer, CURLOPT_SOCKOPTFUNCTION, value);
}

// Restricts a transfer to HTTP and HTTPS.
static inline CURLcode ccurl_set_protocols(CURL *transfer) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(transfer, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(transfer, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// Lets the end of a transfer not wait for the thread that resolves its host's name, and each connection read the file of
// authorities again. Versions before 7.87 have neither option; they read the file again anyway.
static inline CURLcode ccurl_set_independence(CURL *transfer) {
#if LIBCURL_VERSION_NUM >= 0x075700
    CURLcode result = curl_easy_setopt(transfer, CURLOPT_QUICK_EXIT, 1L);
    if (result != CURLE_OK) return result;
    return curl_easy_setopt(transfer, CURLOPT_CA_CACHE_TIMEOUT, 0L);
#else
    (void)transfer;
    return CURLE_OK;
#endif
}

static inline CURLcode ccurl_get_number(CURL *transfer, CURLINFO info, long *value) {
    return curl_easy_getinfo(transfer, info, value);
}

// The text belongs to the transfer.
static inline CURLcode ccurl_get_text(CURL *transfer, CURLINFO info, const char **value) {
    return curl_easy_getinfo(transfer, info, value);
}

static inline CURLMcode ccurl_set_limit(CURLM *transfers, CURLMoption option, long value) {
    return curl_multi_setopt(transfers, option, value);
}

// Returns the next transfer that has ended, and how, or NULL.
static inline CURL *ccurl_next_ended(CURLM *transfers, CURLcode *result) {
    int left = 0;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(transfers, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

#endif
