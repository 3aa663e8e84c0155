// The baseline: an HTTP server of libwebsockets in C, with libev, that says its port, reads the body of each POST and answers it
// with the same, or a GET with two bytes. It checks nothing. It runs until it is ended.
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVICE_BYTES = 4096, LONGEST = 2048, HEAD = 512 };

// Per connection: the body of its request, until it is answered.
struct session {
    size_t length;
    char *body;
};

static int answer(struct lws *wsi, struct session *session) {
    unsigned char buffer[LWS_PRE + HEAD + LONGEST];
    unsigned char *start = buffer + LWS_PRE;
    unsigned char *place = start;
    unsigned char *end = buffer + LWS_PRE + HEAD;
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, "application/json", session->length, &place, end) != 0 ||
        lws_finalize_http_header(wsi, &place, end) != 0) {
        return -1;
    }
    memcpy(place, session->body, session->length);
    size_t length = (size_t)(place - start) + session->length;
    free(session->body);
    *session = (struct session){0};
    if (lws_write(wsi, start, length, LWS_WRITE_HTTP_FINAL) != (int)length) return -1;
    return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
}

static int called(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    struct session *session = user;
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        session->length = 0;
        session->body = realloc(session->body, LONGEST);
        if (session->body == NULL) return -1;
        if (lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0) return 0;
        memcpy(session->body, "{}", 2);
        session->length = 2;
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_HTTP_BODY:
        if (length > LONGEST - session->length) return -1;
        memcpy(session->body + session->length, in, length);
        session->length += length;
        return 0;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_CLOSED_HTTP:
        if (session != NULL) free(session->body);
        return 0;
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return session->length == 0 ? 0 : answer(wsi, session);
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, length);
    }
}

int main(void) {
    lws_set_log_level(LLL_ERR, NULL);
    struct lws_protocols protocols[] = {
        {.name = "benchmark", .callback = called, .per_session_data_size = sizeof(struct session)},
        {0},
    };
    struct lws_context_creation_info info = {
        .iface = "127.0.0.1",
        .protocols = protocols,
        .pt_serv_buf_size = SERVICE_BYTES,
        .keepalive_timeout = 600,
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
