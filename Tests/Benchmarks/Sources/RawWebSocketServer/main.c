// The baseline: a server of libwebsockets in C, with libev, that says its port and then counts, echoes or broadcasts.
// usage: RawWebSocketServer count|count-checked COUNT     prints processor and wall time in nanoseconds a message, and ends
//        RawWebSocketServer echo COUNT                    the same; 0: until it is ended
//        RawWebSocketServer broadcast 0                   until it is ended
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

enum { RECEIVE_BYTES = 4096, MESSAGES = 1 << 16 };

struct message {
    struct message *next;
    size_t length;
    unsigned char bytes[];
};

// Per connection: what is still to be echoed, in order, or the number of the next message that is broadcast to it.
struct session {
    struct message *first;
    struct message *last;
    unsigned long next;
};

static enum { COUNTING, ECHOING, BROADCASTING } work;
static long received;
static long expected;
static double cpu;
static double wall;
// Shared by all connections, as no frame of a server is masked and so each has the same bytes.
static struct message *messages[MESSAGES];
static unsigned long made;

static void count_message(void) {
    if (received++ == 0) {
        cpu = wire_cpu_seconds(0);
        wall = wire_seconds();
    }
    if (received != expected) return;
    printf("%.1f %.1f\n", (wire_cpu_seconds(0) - cpu) * 1e9 / (double)received,
           (wire_seconds() - wall) * 1e9 / (double)received);
    fflush(stdout);
    exit(0);
}

static struct message *copy(const void *bytes, size_t length) {
    struct message *message = malloc(sizeof *message + LWS_PRE + length);
    message->next = NULL;
    message->length = length;
    memcpy(message->bytes + LWS_PRE, bytes, length);
    return message;
}

static void receive(struct lws *wsi, struct session *session, const void *bytes, size_t length) {
    if (work == COUNTING) {
        if (lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0) count_message();
    } else if (work == ECHOING) {
        struct message *message = copy(bytes, length);
        *(session->first == NULL ? &session->first : &session->last->next) = message;
        session->last = message;
        lws_callback_on_writable(wsi);
    } else {
        free(messages[made % MESSAGES]);
        messages[made++ % MESSAGES] = copy(bytes, length);
        lws_callback_on_writable_all_protocol(lws_get_context(wsi), lws_get_protocol(wsi));
    }
}

static int write_next(struct lws *wsi, struct session *session) {
    if (work == ECHOING) {
        struct message *message = session->first;
        if (message == NULL) return 0;
        int sent = lws_write(wsi, message->bytes + LWS_PRE, message->length, LWS_WRITE_TEXT);
        session->first = message->next;
        free(message);
        count_message();
        if (session->first != NULL) lws_callback_on_writable(wsi);
        return sent < 0 ? -1 : 0;
    }
    if (session->next >= made) return 0;
    struct message *message = messages[session->next++ % MESSAGES];
    if (session->next < made) lws_callback_on_writable(wsi);
    return lws_write(wsi, message->bytes + LWS_PRE, message->length, LWS_WRITE_TEXT) < 0 ? -1 : 0;
}

static int called(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    struct session *session = user;
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        session->next = made;
        return 0;
    case LWS_CALLBACK_CLOSED:
        while (session->first != NULL) {
            struct message *message = session->first;
            session->first = message->next;
            free(message);
        }
        return 0;
    case LWS_CALLBACK_RECEIVE:
        receive(wsi, session, in, length);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return write_next(wsi, session);
    default:
        return 0;
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    wire_end_after(300);
    work = strcmp(arguments[1], "echo") == 0 ? ECHOING : strcmp(arguments[1], "broadcast") == 0 ? BROADCASTING : COUNTING;
    expected = atol(arguments[2]);
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
    if (strcmp(arguments[1], "count-checked") == 0) info.options |= LWS_SERVER_OPTION_VALIDATE_UTF8;
    struct lws_context *context = lws_create_context(&info);
    if (context == NULL) return 2;
    struct lws_vhost *host = lws_create_vhost(context, &info);
    if (host == NULL) return 2;
    printf("%d\n", lws_get_vhost_listen_port(host));
    fflush(stdout);
    while (lws_service(context, 0) >= 0) {}
    return 0;
}
