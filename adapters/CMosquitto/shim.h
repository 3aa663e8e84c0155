#ifndef SIGNALBOX_CMOSQUITTO_SHIM_H
#define SIGNALBOX_CMOSQUITTO_SHIM_H

#include <mosquitto.h>
#include <mqtt_protocol.h>

#endif
