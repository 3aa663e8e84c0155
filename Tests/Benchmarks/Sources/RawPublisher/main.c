// Publishes COUNT messages of QoS 1, each the bytes of FILE, as fast as the broker acknowledges them.
// usage: RawPublisher PORT TOPIC COUNT FILE
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long acknowledged;

static void on_publish(struct mosquitto *client, void *context, int id) {
    (void)client, (void)context, (void)id;
    atomic_fetch_add(&acknowledged, 1);
}

int main(int count, char **arguments) {
    if (count != 5) return 64;
    static char payload[1 << 20];
    FILE *file = fopen(arguments[4], "rb");
    if (file == NULL) return 66;
    int length = (int)fread(payload, 1, sizeof payload, file);
    fclose(file);
    long messages = atol(arguments[3]);
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(NULL, true, NULL);
    mosquitto_publish_callback_set(client, on_publish);
    mosquitto_max_inflight_messages_set(client, 500);
    if (mosquitto_connect(client, "127.0.0.1", atoi(arguments[1]), 60) != MOSQ_ERR_SUCCESS) return 2;
    if (mosquitto_loop_start(client) != MOSQ_ERR_SUCCESS) return 2;
    for (long sent = 0; sent < messages; sent++) {
        while (sent - atomic_load(&acknowledged) > 2000) usleep(200);
        if (mosquitto_publish(client, NULL, arguments[2], length, payload, 1, false) != MOSQ_ERR_SUCCESS) return 2;
    }
    while (atomic_load(&acknowledged) < messages) usleep(1000);
    mosquitto_disconnect(client);
    mosquitto_loop_stop(client, false);
    return 0;
}
