// The baseline: a raw libmosquitto subscriber that only counts, in external-batch form or with the library's own loop.
// usage: RawSubscriber batch|loop PORT TOPIC COUNT
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static long received;
static long expected;
static double started;
static const char *topic;

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6 + usage.ru_stime.tv_sec + usage.ru_stime.tv_usec / 1e6;
}

static void on_connect(struct mosquitto *client, void *context, int code, int flags, const mosquitto_property *properties) {
    (void)context, (void)flags, (void)properties;
    if (code != 0) exit(2);
    mosquitto_subscribe_v5(client, NULL, topic, 1, 0, NULL);
}

static void on_subscribe(struct mosquitto *client, void *context, int id, int count, const int *granted) {
    (void)client, (void)context, (void)id, (void)count, (void)granted;
    printf("ready\n");
    fflush(stdout);
}

static void on_message(struct mosquitto *client, void *context, const struct mosquitto_message *message,
                       const mosquitto_property *properties) {
    (void)client, (void)context, (void)message, (void)properties;
    if (received++ == 0) started = cpu_seconds();
}

int main(int count, char **arguments) {
    if (count != 5) return 64;
    int in_batches = strcmp(arguments[1], "batch") == 0;
    topic = arguments[3];
    expected = atol(arguments[4]);
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(NULL, true, NULL);
    mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, 250);
    mosquitto_connect_v5_callback_set(client, on_connect);
    mosquitto_subscribe_callback_set(client, on_subscribe);
    mosquitto_message_v5_callback_set(client, on_message);
    if (in_batches) mosquitto_threaded_set(client, true);
    if (mosquitto_connect_bind_v5(client, "127.0.0.1", atoi(arguments[2]), 60, NULL, NULL) != MOSQ_ERR_SUCCESS) return 2;
    if (in_batches) mosquitto_loop_write(client, 1);
    while (received < expected) {
        if (!in_batches) {
            if (mosquitto_loop(client, 100, 1) != MOSQ_ERR_SUCCESS) return 2;
            continue;
        }
        short events = POLLIN | (mosquitto_want_write(client) ? POLLOUT : 0);
        struct pollfd socket = {mosquitto_socket(client), events, 0};
        poll(&socket, 1, 100);
        long before;
        long first = received;
        do {
            before = received;
            if (mosquitto_loop_read(client, 1) != MOSQ_ERR_SUCCESS) return 2;
        } while (received > before && received - first < 250);
        mosquitto_loop_write(client, 1);
        mosquitto_loop_misc(client);
    }
    printf("%.0f\n", (cpu_seconds() - started) * 1e9 / received);
    mosquitto_disconnect(client);
    return 0;
}
