#ifndef SIGNALBOX_COPENSSL_SHIM_H
#define SIGNALBOX_COPENSSL_SHIM_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

// Contains only what Swift cannot import: function-like macros, and callbacks that OpenSSL calls during a handshake.
// All strings returned by OpenSSL are static. Errors left in the thread's error queue would be attributed to the next
// call, so these functions clear it.

// The record of a client's handshake, and its pre-shared key. Belongs to one SSL, which points to it.
struct cssl_record {
    // The first verification error of the server's certificate (X509_V_ERR_...), or 0.
    int certificate_error;
    // The first alert from the server other than close_notify (RFC 8446, 6), or -1.
    int alert;
    // Whether the server requested a certificate.
    int is_certificate_requested;
    char identity[257];
    unsigned int key_length;
    unsigned char key[256];
};

static inline struct cssl_record *cssl_record_of(const SSL *connection) {
    return (struct cssl_record *)SSL_get_app_data(connection);
}

static inline int cssl_verified(int is_trusted, X509_STORE_CTX *verification) {
    SSL *connection =
        (SSL *)X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct cssl_record *record = connection == NULL ? NULL : cssl_record_of(connection);
    if (!is_trusted && record != NULL && record->certificate_error == 0) {
        record->certificate_error = X509_STORE_CTX_get_error(verification);
    }
    return is_trusted;
}

static inline void cssl_info(const SSL *connection, int where, int value) {
    struct cssl_record *record = cssl_record_of(connection);
    if (record == NULL) return;
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && (value & 0xff) != SSL_AD_CLOSE_NOTIFY && record->alert < 0) {
        record->alert = value & 0xff;
    }
}

// Returning 1 continues the handshake with the configured certificate, if any.
static inline int cssl_certificate_requested(SSL *connection, void *owner) {
    struct cssl_record *record = cssl_record_of(connection);
    (void)owner;
    if (record != NULL) record->is_certificate_requested = 1;
    return 1;
}

static inline unsigned int cssl_psk(SSL *connection, const char *hint, char *identity, unsigned int identity_size,
                                    unsigned char *key, unsigned int key_size) {
    struct cssl_record *record = cssl_record_of(connection);
    (void)hint;
    if (record == NULL || strlen(record->identity) >= identity_size || record->key_length > key_size) return 0;
    memcpy(identity, record->identity, strlen(record->identity) + 1);
    memcpy(key, record->key, record->key_length);
    return record->key_length;
}

// The size of the buffer into which OpenSSL reads ahead, so that one system call reads many records.
enum { CSSL_READ_BUFFER = 65536 };

// Creates a client context for TLS 1.2 or later, whose connections have their records set with cssl_connect. It verifies
// certificates and trusts none yet. NULL: out of memory.
static inline SSL_CTX *cssl_new_client(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(context);
        ERR_clear_error();
        return NULL;
    }
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // With a renegotiation, a write could have to wait for bytes from the server (TLS 1.2).
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, CSSL_READ_BUFFER);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, cssl_verified);
    SSL_CTX_set_info_callback(context, cssl_info);
    SSL_CTX_set_cert_cb(context, cssl_certificate_requested, NULL);
    return context;
}

// Creates a connection on a socket, which it does not close. The record must outlive it. NULL: out of memory.
static inline SSL *cssl_connect(SSL_CTX *context, struct cssl_record *record, int socket) {
    SSL *connection = SSL_new(context);
    if (connection == NULL || SSL_set_app_data(connection, record) != 1 || SSL_set_fd(connection, socket) != 1) {
        SSL_free(connection);
        ERR_clear_error();
        return NULL;
    }
    SSL_set_connect_state(connection);
    return connection;
}

// Tells the server which name the client wants (RFC 6066, 3). The name must not be an address.
static inline int cssl_send_name(SSL *connection, const char *name) {
    int is_set = SSL_set_tlsext_host_name(connection, name) == 1;
    ERR_clear_error();
    return is_set;
}

// Offers application protocols (RFC 7301, 3.1), each of which is preceded by a byte with its length.
static inline int cssl_offer_protocols(SSL *connection, const unsigned char *list, unsigned int length) {
    int is_set = SSL_set_alpn_protos(connection, list, length) == 0;
    ERR_clear_error();
    return is_set;
}

static inline void cssl_disable_verification(SSL_CTX *context) { SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL); }

// Requires the server's certificate to be for this name or numeric address.
static inline int cssl_expect_host(SSL *connection, const char *host) {
    X509_VERIFY_PARAM *parameters = SSL_get0_param(connection);
    X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    int is_set =
        X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 || X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1;
    ERR_clear_error();
    return is_set;
}

static inline int cssl_trust_system(SSL_CTX *context) {
    int is_set = SSL_CTX_set_default_verify_paths(context) == 1;
    ERR_clear_error();
    return is_set;
}

static inline int cssl_trust_file(SSL_CTX *context, const char *file) {
    int is_set = SSL_CTX_load_verify_locations(context, file, NULL) == 1;
    ERR_clear_error();
    return is_set;
}

// Without this callback, OpenSSL would prompt for a passphrase at the terminal and block.
static inline int cssl_no_passphrase(char *buffer, int size, int writing, void *user) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)user;
    return 0;
}

static inline int cssl_use_certificate(SSL_CTX *context, const char *file) {
    int is_set = SSL_CTX_use_certificate_chain_file(context, file) == 1;
    ERR_clear_error();
    return is_set;
}

static inline int cssl_use_key(SSL_CTX *context, const char *file) {
    SSL_CTX_set_default_passwd_cb(context, cssl_no_passphrase);
    int is_set = SSL_CTX_use_PrivateKey_file(context, file, SSL_FILETYPE_PEM) == 1;
    ERR_clear_error();
    return is_set;
}

// Returns whether the file has a private key, for any certificate.
static inline int cssl_has_key(const char *file) {
    BIO *input = BIO_new_file(file, "r");
    EVP_PKEY *key = input == NULL ? NULL : PEM_read_bio_PrivateKey(input, NULL, cssl_no_passphrase, NULL);
    BIO_free(input);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return key != NULL;
}

static inline int cssl_set_pre_shared_key(struct cssl_record *record, const char *identity, const unsigned char *key,
                                          unsigned int length) {
    if (strlen(identity) >= sizeof(record->identity) || length > sizeof(record->key)) return 0;
    memcpy(record->identity, identity, strlen(identity) + 1);
    memcpy(record->key, key, length);
    record->key_length = length;
    return 1;
}

// Refuses servers that lack the key of their connection's record: no certificate is trusted.
static inline int cssl_expect_pre_shared_key(SSL_CTX *context) {
    SSL_CTX_set_psk_client_callback(context, cssl_psk);
    // "PSK" alone would include suites without encryption.
    int is_set = SSL_CTX_set_cipher_list(context, "PSK:!eNULL:!aNULL:!MD5") == 1;
    ERR_clear_error();
    return is_set;
}

static inline void cssl_cleanse(struct cssl_record *record) { OPENSSL_cleanse(record, sizeof(*record)); }

#endif
