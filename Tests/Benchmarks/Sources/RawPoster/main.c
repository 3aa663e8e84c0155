// The baseline: libcurl in C, which posts a file over one connection, one request at a time.
// usage: RawPoster PORT PATH COUNT FILE
// Prints requests a second, and the median and the 99th percentile of a request in microseconds.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire.h"

static size_t ignore(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

int main(int count, char **arguments) {
    if (count != 5) return 64;
    wire_end_after(300);
    char url[256];
    snprintf(url, sizeof url, "http://127.0.0.1:%s%s", arguments[1], arguments[2]);
    long requests = atol(arguments[3]);
    size_t length;
    uint8_t *body = wire_file(arguments[4], &length);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *client = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(client, CURLOPT_URL, url);
    curl_easy_setopt(client, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(client, CURLOPT_POSTFIELDS, (char *)body);
    curl_easy_setopt(client, CURLOPT_POSTFIELDSIZE, (long)length);
    curl_easy_setopt(client, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(client, CURLOPT_FAILONERROR, 1L);
    double *times = calloc((size_t)requests, sizeof *times);
    double began = wire_seconds();
    for (long index = 0; index < requests; index++) {
        double from = wire_seconds();
        if (curl_easy_perform(client) != CURLE_OK) wire_fail("the request failed");
        times[index] = wire_seconds() - from;
    }
    double seconds = wire_seconds() - began;
    qsort(times, (size_t)requests, sizeof *times, compare);
    printf("%.0f %.1f %.1f\n", (double)requests / seconds, times[requests / 2] * 1e6, times[requests * 99 / 100] * 1e6);
    curl_slist_free_all(headers);
    curl_easy_cleanup(client);
    return 0;
}
