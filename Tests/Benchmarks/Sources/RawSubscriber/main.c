// The baseline: a raw libmosquitto subscriber that only counts, in external-batch form or with the library's own loop.
// usage: RawSubscriber batch|loop|commit|timed|slow [ca=FILE] [window=MESSAGES] PORT TOPIC COUNT QOS
// Prints "ready" once subscribed, and processor and wall time in nanoseconds a message once COUNT have come. "commit" is the
// batch form that waits 1 ms after each batch; it prints how many there were. "timed" is the library's loop; it prints for each
// message the nanoseconds since its body's "amount". "slow" is the batch form in which each thousandth message takes 20 ms; it
// prints the nanoseconds of the others. A window is the receive maximum, and the most messages of a batch.
#define _GNU_SOURCE
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
    bool in_batches;
    int port;
    const char *topic;
    long expected;
    int qos;
    const char *authority;
    long window;
    bool commits;
    bool times;
    bool is_slow;
};

static struct options options = {.window = 250};
static long received;
static long batches;
static long timed;
static long long started_processor;
static long long started_wall;
static long long *latencies;

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static bool read_options(int count, char **arguments) {
    if (count < 6) return false;
    options.commits = strcmp(arguments[1], "commit") == 0;
    options.is_slow = strcmp(arguments[1], "slow") == 0;
    options.in_batches = options.commits || options.is_slow || strcmp(arguments[1], "batch") == 0;
    options.times = options.is_slow || strcmp(arguments[1], "timed") == 0;
    if (!options.in_batches && !options.times && strcmp(arguments[1], "loop") != 0) return false;
    char **place = arguments + count - 4;
    options.port = atoi(place[0]);
    options.topic = place[1];
    options.expected = atol(place[2]);
    options.qos = atoi(place[3]);
    for (int i = 2; i < count - 4; i++) {
        if (strncmp(arguments[i], "ca=", 3) == 0) options.authority = arguments[i] + 3;
        else if (strncmp(arguments[i], "window=", 7) == 0) options.window = atol(arguments[i] + 7);
        else return false;
    }
    return options.expected > 0 && options.window > 0 && options.window <= 65535;
}

static void on_connect(struct mosquitto *client, void *context, int code, int flags, const mosquitto_property *properties) {
    (void)context, (void)flags, (void)properties;
    if (code != 0) exit(2);
    mosquitto_subscribe_v5(client, NULL, options.topic, options.qos, 0, NULL);
}

static void on_subscribe(struct mosquitto *client, void *context, int id, int count, const int *granted) {
    (void)client, (void)context, (void)id, (void)count, (void)granted;
    printf("ready\n");
    fflush(stdout);
}

static void begin(void) {
    started_processor = now(CLOCK_PROCESS_CPUTIME_ID);
    started_wall = now(CLOCK_MONOTONIC);
}

static void note_latency(const struct mosquitto_message *message) {
    static const char key[] = "\"amount\":";
    const char *found = memmem(message->payload, message->payloadlen, key, sizeof key - 1);
    if (found == NULL) exit(2);
    latencies[timed++] = now(CLOCK_MONOTONIC) - atoll(found + sizeof key - 1);
}

static void on_message(struct mosquitto *client, void *context, const struct mosquitto_message *message,
                       const mosquitto_property *properties) {
    (void)client, (void)context, (void)properties;
    if (received == 0) begin();
    received++;
    if (options.is_slow && received % 1000 == 0) usleep(20000);
    else if (options.times && received <= options.expected) note_latency(message);
}

static void turn(struct mosquitto *client) {
    short events = POLLIN | (mosquitto_want_write(client) ? POLLOUT : 0);
    struct pollfd socket = {mosquitto_socket(client), events, 0};
    poll(&socket, 1, 100);
    long before;
    long first = received;
    do {
        before = received;
        if (mosquitto_loop_read(client, 1) != MOSQ_ERR_SUCCESS) exit(2);
    } while (received > before && received - first < options.window);
    if (received > first) {
        batches++;
        if (options.commits) usleep(1000);
    }
    mosquitto_loop_write(client, 1);
    mosquitto_loop_misc(client);
}

static struct mosquitto *connected(void) {
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(NULL, true, NULL);
    mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, (int)options.window);
    mosquitto_connect_v5_callback_set(client, on_connect);
    mosquitto_subscribe_callback_set(client, on_subscribe);
    mosquitto_message_v5_callback_set(client, on_message);
    if (options.in_batches) mosquitto_threaded_set(client, true);
    if (options.authority && mosquitto_tls_set(client, options.authority, NULL, NULL, NULL, NULL) != MOSQ_ERR_SUCCESS) exit(2);
    if (mosquitto_connect_bind_v5(client, "127.0.0.1", options.port, 60, NULL, NULL) != MOSQ_ERR_SUCCESS) exit(2);
    if (options.in_batches) mosquitto_loop_write(client, 1);
    return client;
}

static void show(void) {
    double processor = now(CLOCK_PROCESS_CPUTIME_ID) - started_processor;
    double wall = now(CLOCK_MONOTONIC) - started_wall;
    printf("%.1f %.1f\n", processor / received, wall / received);
    if (options.commits) printf("%ld\n", batches);
    for (long i = 0; i < timed; i++) printf("%lld\n", latencies[i]);
}

int main(int count, char **arguments) {
    if (!read_options(count, arguments)) return 64;
    // So that what hangs is ended.
    alarm(180);
    latencies = calloc(options.expected, sizeof *latencies);
    if (latencies == NULL) return 71;
    struct mosquitto *client = connected();
    while (received < options.expected) {
        if (options.in_batches) turn(client);
        else if (mosquitto_loop(client, 100, 1) != MOSQ_ERR_SUCCESS) return 2;
    }
    show();
    mosquitto_disconnect(client);
    return 0;
}
