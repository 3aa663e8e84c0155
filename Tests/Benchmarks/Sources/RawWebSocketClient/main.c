// The baseline: a client of libwebsockets in C that counts messages and reads nothing of them.
// usage: RawWebSocketClient plain|checked PORT COUNT
// `checked`: the library checks UTF-8, as RFC 6455 asks for. Prints processor and wall time in nanoseconds a message.
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

enum { RECEIVE_BYTES = 65536 };

static long received;
static long expected;
static double cpu;
static double wall;
static int failed;

static int called(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    (void)user, (void)in, (void)length;
    if (reason == LWS_CALLBACK_CLIENT_CONNECTION_ERROR) failed = 1;
    if (reason != LWS_CALLBACK_CLIENT_RECEIVE || !lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi) != 0) {
        return 0;
    }
    if (received++ == 0) {
        cpu = wire_cpu_seconds(0);
        wall = wire_seconds();
    }
    if (received == expected) {
        printf("%.1f %.1f\n", (wire_cpu_seconds(0) - cpu) * 1e9 / (double)received,
               (wire_seconds() - wall) * 1e9 / (double)received);
        fflush(stdout);
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count != 4) return 64;
    wire_end_after(300);
    expected = atol(arguments[3]);
    lws_set_log_level(LLL_ERR, NULL);
    struct lws_protocols protocols[] = {{.name = "benchmark", .callback = called, .rx_buffer_size = RECEIVE_BYTES}, {0}};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .pt_serv_buf_size = RECEIVE_BYTES,
        .gid = -1,
        .uid = -1,
    };
    if (strcmp(arguments[1], "checked") == 0) info.options = LWS_SERVER_OPTION_VALIDATE_UTF8;
    struct lws_context *context = lws_create_context(&info);
    if (context == NULL) return 2;
    struct lws_client_connect_info target = {
        .context = context,
        .address = "127.0.0.1",
        .port = atoi(arguments[2]),
        .path = "/",
        .host = "127.0.0.1",
        .local_protocol_name = "benchmark",
        .ietf_version_or_minus_one = -1,
    };
    if (lws_client_connect_via_info(&target) == NULL) return 2;
    while (received < expected && !failed && lws_service(context, 0) >= 0) {}
    lws_context_destroy(context);
    return received < expected;
}
