// The baseline: a WebSocket server of libwebsockets in C, with libev, that says its port, counts what a page sends and sends
// it back.
// usage: RawPageServer COUNT all|first       whether all is sent back or the first message alone
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_counter.h"

enum { RECEIVE_BYTES = 4096, LONGEST = 1024 };

struct message {
    struct message *next;
    size_t length;
    unsigned char bytes[];
};

// Per connection: the message that is being read, as it may come in pieces, and what is still to be sent back, in order.
struct session {
    char text[LONGEST + 1];
    size_t length;
    struct message *first;
    struct message *last;
};

static bool sends_all_back;
static long received;

static void send_back(struct lws *wsi, struct session *session) {
    struct message *message = malloc(sizeof *message + LWS_PRE + session->length);
    message->next = NULL;
    message->length = session->length;
    memcpy(message->bytes + LWS_PRE, session->text, session->length);
    *(session->first == NULL ? &session->first : &session->last->next) = message;
    session->last = message;
    lws_callback_on_writable(wsi);
}

static int receive(struct lws *wsi, struct session *session, const void *bytes, size_t length) {
    if (length > LONGEST - session->length) return -1;
    memcpy(session->text + session->length, bytes, length);
    session->length += length;
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi) != 0) return 0;
    session->text[session->length] = 0;
    if (sends_all_back || received == 0) send_back(wsi, session);
    received += 1;
    if (page_counter_take_text(session->text, session->length)) page_counter_print();
    session->length = 0;
    return 0;
}

static int write_next(struct lws *wsi, struct session *session) {
    struct message *message = session->first;
    if (message == NULL) return 0;
    int sent = lws_write(wsi, message->bytes + LWS_PRE, message->length, LWS_WRITE_TEXT);
    session->first = message->next;
    free(message);
    if (session->first != NULL) lws_callback_on_writable(wsi);
    return sent < 0 ? -1 : 0;
}

static int called(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    switch (reason) {
    case LWS_CALLBACK_RECEIVE:
        return receive(wsi, user, in, length);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return write_next(wsi, user);
    default:
        return 0;
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    page_counter_begin(atol(arguments[1]));
    page_counter_end_with_input();
    sends_all_back = strcmp(arguments[2], "all") == 0;
    lws_set_log_level(LLL_ERR, NULL);
    struct lws_protocols protocols[] = {
        {.name = "benchmark", .callback = called, .per_session_data_size = sizeof(struct session), .rx_buffer_size = RECEIVE_BYTES},
        {0},
    };
    struct lws_context_creation_info info = {
        .iface = "127.0.0.1",
        .protocols = protocols,
        .pt_serv_buf_size = RECEIVE_BYTES,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_LIBEV,
        .gid = -1,
        .uid = -1,
    };
    struct lws_context *context = lws_create_context(&info);
    if (context == NULL) return 2;
    struct lws_vhost *host = lws_create_vhost(context, &info);
    if (host == NULL) return 2;
    printf("%d\n", lws_get_vhost_listen_port(host));
    fflush(stdout);
    while (lws_service(context, 0) >= 0) {}
    return 0;
}
