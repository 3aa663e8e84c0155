#ifndef SIGNALBOX_CLIBWEBSOCKETS_SHIM_H
#define SIGNALBOX_CLIBWEBSOCKETS_SHIM_H

#include <ev.h>
#include <libwebsockets.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <string.h>

// Only what Swift cannot import: macros that compute, variadic functions, tables that libwebsockets keeps a pointer to,
// and questions that would be several calls for each frame.

// Not declared by every C library without _GNU_SOURCE; elsewhere a peer that has finished is found when it is read from.
#if defined(POLLRDHUP)
enum { CLWS_POLL_FINISHED = POLLRDHUP };
#elif defined(__linux__)
enum { CLWS_POLL_FINISHED = 0x2000 };
#else
enum { CLWS_POLL_FINISHED = 0 };
#endif

// LWS_PRE computes with sizeof: "structure not supported".
enum { CLWS_PRE = LWS_PRE };

// In one call, as every frame asks: bit 0 final, bit 1 binary, bit 2 the frame's end, bits 4 to 6 the frame's reserved bits. A
// message is final when its last fragment is there whole.
static inline unsigned int clws_receive_flags(struct lws *wsi) {
    unsigned int flags = lws_remaining_packet_payload(wsi) == 0 ? 4u : 0u;
    flags |= flags && lws_is_final_fragment(wsi) ? 1u : 0u;
    return flags | (lws_frame_is_binary(wsi) ? 2u : 0u) | (lws_get_reserved_bits(wsi) & 0x70u);
}

// Wants memory that outlives every virtual host.
static inline void clws_compression(struct lws_extension *entry, lws_extension_callback_function *callback) {
    entry->name = "permessage-deflate";
    entry->callback = callback;
}

// What a server repeats of the offer that it takes: the library knows only parameters without a value, and takes each that
// begins so.
static inline void clws_answer_options(void *target) {
    static const struct lws_ext_options options[] = {
        {"server_no_context_takeover", EXTARG_NONE}, {"client_no_context_takeover", EXTARG_NONE},
        {"server_max_window_bits=8", EXTARG_NONE},   {"server_max_window_bits=9", EXTARG_NONE},
        {"server_max_window_bits=10", EXTARG_NONE},  {"server_max_window_bits=11", EXTARG_NONE},
        {"server_max_window_bits=12", EXTARG_NONE},  {"server_max_window_bits=13", EXTARG_NONE},
        {"server_max_window_bits=14", EXTARG_NONE},  {"server_max_window_bits=15", EXTARG_NONE},
        {NULL, EXTARG_NONE},
    };
    *(const struct lws_ext_options **)target = options;
}

// libwebsockets' callback type has an enum that Swift takes as a thick function otherwise.
static inline void clws_protocol(struct lws_protocols *entry, const char *name, lws_callback_function *callback,
                                 size_t receive_bytes) {
    memset(entry, 0, sizeof(*entry));
    entry->name = name;
    entry->callback = callback;
    entry->rx_buffer_size = receive_bytes;
    // Otherwise no more is handed to the system at once than is read at once.
    entry->tx_packet_size = 1 << 20;
}

// The member `sul` must be found from a pointer to itself, which takes lws_container_of.
struct clws_timer {
    lws_sorted_usec_list_t sul;
    void (*fired)(void *owner);
    void *owner;
};

static inline void clws_timer_fired(lws_sorted_usec_list_t *sul) {
    struct clws_timer *timer = lws_container_of(sul, struct clws_timer, sul);
    timer->fired(timer->owner);
}

static inline void clws_timer_start(struct lws_context *context, struct clws_timer *timer, lws_usec_t wait) {
    lws_sul_schedule(context, 0, &timer->sul, clws_timer_fired, wait);
}

static inline void clws_timer_stop(struct lws_context *context, struct clws_timer *timer) {
    lws_sul_schedule(context, 0, &timer->sul, NULL, LWS_SET_TIMER_USEC_CANCEL);
}

// libev's timers are set by macros. The first member is the timer, so a pointer to it is one to the whole.
struct clws_tick {
    ev_timer timer;
    struct lws_context *context;
};

static inline void clws_ticked(struct ev_loop *loop, ev_timer *timer, int events) {
    (void)loop;
    (void)events;
    lws_cancel_service(((struct clws_tick *)timer)->context);
}

static inline void clws_tick_start(struct ev_loop *loop, struct clws_tick *tick, struct lws_context *context,
                                   double seconds) {
    tick->context = context;
    ev_timer_init(&tick->timer, clws_ticked, seconds, seconds);
    ev_timer_start(loop, &tick->timer);
}

static inline void clws_tick_stop(struct ev_loop *loop, struct clws_tick *tick) {
    ev_timer_stop(loop, &tick->timer);
}

// A watcher of a descriptor's writability, beside the library's own. The first member is the watcher, as above.
struct clws_writable {
    ev_io io;
    void (*ready)(void *owner);
    void *owner;
};

static inline void clws_writable_ready(struct ev_loop *loop, ev_io *io, int events) {
    struct clws_writable *watcher = (struct clws_writable *)io;
    (void)events;
    // One shot, as the owner may no longer exist after the call.
    ev_io_stop(loop, io);
    watcher->ready(watcher->owner);
}

static inline void clws_writable_start(struct ev_loop *loop, struct clws_writable *watcher, int descriptor) {
    ev_io_init(&watcher->io, clws_writable_ready, descriptor, EV_WRITE);
    ev_io_start(loop, &watcher->io);
}

static inline void clws_writable_stop(struct ev_loop *loop, struct clws_writable *watcher) {
    ev_io_stop(loop, &watcher->io);
}

// A watcher of a listening socket that the library did not open. The first member is the watcher, as above.
struct clws_readable {
    ev_io io;
    void (*ready)(void *owner);
    void *owner;
};

static inline void clws_readable_ready(struct ev_loop *loop, ev_io *io, int events) {
    struct clws_readable *watcher = (struct clws_readable *)io;
    (void)loop;
    (void)events;
    watcher->ready(watcher->owner);
}

static inline void clws_readable_start(struct ev_loop *loop, struct clws_readable *watcher, int descriptor) {
    ev_io_init(&watcher->io, clws_readable_ready, descriptor, EV_READ);
    ev_io_start(loop, &watcher->io);
}

static inline void clws_readable_stop(struct ev_loop *loop, struct clws_readable *watcher) {
    ev_io_stop(loop, &watcher->io);
}

// Hands a connection to a virtual host, as if one of its own sockets had accepted it. Swift cannot combine the options.
static inline void clws_adopt(struct lws_vhost *host, int descriptor) {
    lws_sock_file_fd_type accepted;
    accepted.sockfd = descriptor;
    lws_adopt_descriptor_vhost(host, (lws_adoption_type)(LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL), accepted,
                               NULL, NULL);
}

// libwebsockets continues with files that it could not use.

// The options that disable everything before TLS 1.2 (RFC 8996). Swift cannot import these macros.
static inline long clws_old_tls(void) { return (long)(SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1); }

// OpenSSL would ask for a passphrase at the terminal, and wait.
static inline int clws_no_passphrase(char *buffer, int size, int writing, void *user) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)user;
    return 0;
}

static inline X509 *clws_read_certificate(const char *file) {
    BIO *input = BIO_new_file(file, "r");
    X509 *certificate = input == NULL ? NULL : PEM_read_bio_X509(input, NULL, clws_no_passphrase, NULL);
    BIO_free(input);
    return certificate;
}

static inline int clws_has_certificate(const char *file) {
    X509 *certificate = clws_read_certificate(file);
    X509_free(certificate);
    ERR_clear_error();
    return certificate != NULL;
}

static inline int clws_has_key(const char *file) {
    BIO *input = BIO_new_file(file, "r");
    EVP_PKEY *key = input == NULL ? NULL : PEM_read_bio_PrivateKey(input, NULL, clws_no_passphrase, NULL);
    BIO_free(input);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return key != NULL;
}

// Whether a private key belongs to a certificate.
static inline int clws_is_pair(const char *certificate_file, const char *key_file) {
    X509 *certificate = clws_read_certificate(certificate_file);
    BIO *input = BIO_new_file(key_file, "r");
    EVP_PKEY *key = input == NULL ? NULL : PEM_read_bio_PrivateKey(input, NULL, clws_no_passphrase, NULL);
    int fits = certificate != NULL && key != NULL && X509_check_private_key(certificate, key) == 1;
    BIO_free(input);
    EVP_PKEY_free(key);
    X509_free(certificate);
    ERR_clear_error();
    return fits;
}

#endif
