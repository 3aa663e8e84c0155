#ifndef SIGNALBOX_COPENSSL_SHIM_H
#define SIGNALBOX_COPENSSL_SHIM_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

// Contains only what Swift cannot import: function-like macros, and callbacks that OpenSSL calls during a handshake.
// All strings returned by OpenSSL are static. Errors left in the thread's error queue would be attributed to the next
// call, so these functions clear it.

// The record of a client's handshake, and its pre-shared key. Belongs to one SSL_CTX, which points to it.
struct cssl_record {
    // The first verification error of the server's certificate (X509_V_ERR_...), or 0.
    int certificate_error;
    // The first alert from the server other than close_notify (RFC 8446, 6), or -1.
    int alert;
    // Whether the server requested a certificate.
    int is_certificate_requested;
    int is_secured;
    // Set when the SSL_CTX is freed.
    int is_freed;
    char identity[257];
    unsigned int key_length;
    unsigned char key[256];
};

static inline struct cssl_record *cssl_record_of(const SSL *connection) {
    return (struct cssl_record *)SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection));
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
    if ((where & SSL_CB_HANDSHAKE_DONE) != 0) record->is_secured = 1;
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

static inline void cssl_freed(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *pointer) {
    (void)parent;
    (void)data;
    (void)index;
    (void)number;
    (void)pointer;
    if (value != NULL) ((struct cssl_record *)value)->is_freed = 1;
}

// Allocates the SSL_CTX index of the record that cssl_freed marks as freed. Call once per process.
static inline int cssl_record_index(void) { return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, cssl_freed); }

// Creates a client context for TLS 1.2 or later that verifies certificates and trusts none yet. NULL: out of memory.
static inline SSL_CTX *cssl_new(struct cssl_record *record, int index) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) {
        ERR_clear_error();
        return NULL;
    }
    if (index < 0 || SSL_CTX_set_ex_data(context, index, record) != 1 || SSL_CTX_set_app_data(context, record) != 1 ||
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(context);
        ERR_clear_error();
        return NULL;
    }
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, cssl_verified);
    SSL_CTX_set_info_callback(context, cssl_info);
    SSL_CTX_set_cert_cb(context, cssl_certificate_requested, NULL);
    return context;
}

static inline void cssl_disable_verification(SSL_CTX *context) { SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL); }

// Requires the server's certificate to be for this name or numeric address.
static inline int cssl_expect_host(SSL_CTX *context, const char *host) {
    X509_VERIFY_PARAM *parameters = SSL_CTX_get0_param(context);
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

// Refuses servers that lack the key: no certificate is trusted.
static inline int cssl_use_pre_shared_key(SSL_CTX *context, struct cssl_record *record, const char *identity,
                                          const unsigned char *key, unsigned int length) {
    if (strlen(identity) >= sizeof(record->identity) || length > sizeof(record->key)) return 0;
    memcpy(record->identity, identity, strlen(identity) + 1);
    memcpy(record->key, key, length);
    record->key_length = length;
    SSL_CTX_set_psk_client_callback(context, cssl_psk);
    // "PSK" alone would include suites without encryption.
    int is_set = SSL_CTX_set_cipher_list(context, "PSK:!eNULL:!aNULL:!MD5") == 1;
    ERR_clear_error();
    return is_set;
}

static inline void cssl_cleanse(struct cssl_record *record) { OPENSSL_cleanse(record, sizeof(*record)); }

// Sends a few bytes at once and completely. 0: the connection is unusable, because OpenSSL requires a retry with the
// same bytes before any others.
static inline int cssl_send(void *connection, const void *bytes, int count) {
    ERR_clear_error();
    int is_sent = SSL_write((SSL *)connection, bytes, count) == count;
    ERR_clear_error();
    return is_sent;
}

#endif
