// Publishes COUNT messages on loopback.
// usage: RawPublisher PORT TOPIC COUNT QOS FILE    the bytes of FILE, as fast as the broker takes them
//        RawPublisher PORT TOPIC COUNT QOS RATE/s  payments at an even rate, which say when they were published: "amount" is
//                                                  the monotonic clock and "transactionId" the time of day, in nanoseconds;
//                                                  prints how many seconds it took
// Each has an id of its own, where there are ids: their first digits are its number.
#define _GNU_SOURCE
#include <mosquitto.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static atomic_long acknowledged;

static void on_publish(struct mosquitto *client, void *context, int id) {
    (void)client, (void)context, (void)id;
    atomic_fetch_add(&acknowledged, 1);
}

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static char *id_of(char *payload, int length) {
    static const char key[] = "\"id\":\"";
    char *found = memmem(payload, length, key, sizeof key - 1);
    return found == NULL ? NULL : found + sizeof key - 1;
}

static void write_number(char *id, long number) {
    if (id == NULL) return;
    for (int digit = 7; digit >= 0; digit--, number /= 10) id[digit] = (char)('0' + number % 10);
}

static int flood(struct mosquitto *client, const char *topic, long messages, int qos, const char *path) {
    static char payload[1 << 20];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 66;
    int length = (int)fread(payload, 1, sizeof payload, file);
    fclose(file);
    char *id = id_of(payload, length);
    if (mosquitto_loop_start(client) != MOSQ_ERR_SUCCESS) return 2;
    for (long sent = 0; sent < messages; sent++) {
        while (sent - atomic_load(&acknowledged) > 2000) usleep(200);
        write_number(id, sent);
        if (mosquitto_publish(client, NULL, topic, length, payload, qos, false) != MOSQ_ERR_SUCCESS) return 2;
    }
    while (atomic_load(&acknowledged) < messages) usleep(1000);
    mosquitto_disconnect(client);
    mosquitto_loop_stop(client, false);
    return 0;
}

// What the broker says is read while it waits, on one thread, so that a message is written within the call that publishes it.
static bool wait_until(struct mosquitto *client, long long moment) {
    do {
        long long left = moment - now(CLOCK_MONOTONIC);
        if (left < 0) left = 0;
        struct timespec timeout = {left / 1000000000LL, left % 1000000000LL};
        int socket = mosquitto_socket(client);
        fd_set readable, writable;
        FD_ZERO(&readable);
        FD_ZERO(&writable);
        if (socket < 0) return false;
        FD_SET(socket, &readable);
        if (mosquitto_want_write(client)) FD_SET(socket, &writable);
        if (pselect(socket + 1, &readable, &writable, NULL, &timeout, NULL) <= 0) continue;
        if (FD_ISSET(socket, &writable) && mosquitto_loop_write(client, 1) != MOSQ_ERR_SUCCESS) return false;
        if (FD_ISSET(socket, &readable) && mosquitto_loop_read(client, 1) != MOSQ_ERR_SUCCESS) return false;
    } while (now(CLOCK_MONOTONIC) < moment);
    return true;
}

static bool publish_payment(struct mosquitto *client, const char *topic, long number, int qos) {
    char payload[512];
    int length = snprintf(
        payload, sizeof payload,
        "{\"action\":\"payment\",\"id\":\"%08ld-8b86-d011-b42d-00c04fc964ff\",\"body\":{\"amount\":%lld,"
        "\"transactionId\":\"%lld\",\"paymentId\":\"pay_5f3c9a\",\"paymentGoodsName\":\"Noise cancelling headphones\"}}",
        number, now(CLOCK_MONOTONIC), now(CLOCK_REALTIME));
    return mosquitto_publish(client, NULL, topic, length, payload, qos, false) == MOSQ_ERR_SUCCESS;
}

static int pace(struct mosquitto *client, const char *topic, long messages, int qos, long rate) {
    bool connected = true;
    while (connected && mosquitto_want_write(client)) connected = mosquitto_loop_write(client, 1) == MOSQ_ERR_SUCCESS;
    if (!connected || !wait_until(client, now(CLOCK_MONOTONIC) + 100000000LL)) return 2;
    long long began = now(CLOCK_MONOTONIC);
    for (long sent = 0; sent < messages; sent++) {
        if (!wait_until(client, began + sent * 1000000000LL / rate)) return 2;
        if (!publish_payment(client, topic, sent, qos)) return 2;
    }
    printf("%.3f\n", (now(CLOCK_MONOTONIC) - began) / 1e9);
    while (qos > 0 && atomic_load(&acknowledged) < messages) {
        if (!wait_until(client, now(CLOCK_MONOTONIC) + 1000000LL)) return 2;
    }
    mosquitto_disconnect(client);
    return 0;
}

int main(int count, char **arguments) {
    if (count != 6) return 64;
    // So that what hangs is ended.
    alarm(180);
    const char *topic = arguments[2];
    long messages = atol(arguments[3]);
    int qos = atoi(arguments[4]);
    char *unit = NULL;
    long rate = strtol(arguments[5], &unit, 10);
    bool is_paced = rate > 0 && strcmp(unit, "/s") == 0;
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(NULL, true, NULL);
    mosquitto_publish_callback_set(client, on_publish);
    mosquitto_max_inflight_messages_set(client, is_paced ? 0 : 500);
    if (mosquitto_connect(client, "127.0.0.1", atoi(arguments[1]), 60) != MOSQ_ERR_SUCCESS) return 2;
    return is_paced ? pace(client, topic, messages, qos, rate) : flood(client, topic, messages, qos, arguments[5]);
}
