import MQTTPush

let broker = try MQTTBroker(url: "mqtts://broker.example.com")
print(broker)
