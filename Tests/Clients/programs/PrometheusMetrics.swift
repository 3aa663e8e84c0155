import PrometheusMetrics

let registry = PrometheusRegistry(help: ["orders": "The orders."])
registry.makeCounter(label: "orders", dimensions: [("dish", "soup")]).increment(by: 2)
print(registry.text())
