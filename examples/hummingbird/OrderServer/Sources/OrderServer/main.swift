import Foundation
import Hummingbird
import Logging
import ServiceLifecycle
import Signalbox
import SignalboxCore

// An application of Hummingbird that hands its requests to plugins. Configuration by the environment:
// - PORT: the port; 0, the default, is a free one. The line `{"port":…}` on the standard output names it.
// - SHOP_TOKEN: the bearer token of the principal `shop`.
let environment = ProcessInfo.processInfo.environment
let logger = Logger(label: "orders") { StreamLogHandler.standardError(label: $0) }

/// A line of JSON on the standard output, at once, so that a script can wait for it.
func announce(_ name: String, _ value: some Encodable & Sendable) {
    print("{\"\(name)\":\((try? BodyWriter.write(value)).map(String.init(describing:)) ?? "null")}")
    fflush(nil)
}

struct Order: Codable, Sendable {
    let dish: String
    let count: Int
}

// Ids are stable: the header Idempotency-Key identifies one order, also if a client sends it again.
let shop = PushAdapter(source: "shop", features: [.replies, .stableIDs], queueLimit: 100)
let supervisor = Supervisor(logger: logger)
try supervisor.add(shop)
try supervisor.register(
    // Anyone may read the menu; only a caller with the token may order.
    Registration("menu", as: RawBody.self, from: .source("shop")) { _, _ in ["soup", "bread"] }
)
try supervisor.register(
    Registration("order", as: Order.self, from: .caller(principal: "shop")) { order, context in
        context.logger.info("\(order.count) x \(order.dish)")
        return ["ordered": order.count]
    }
)
try supervisor.register(
    Registration("bake", as: Order.self, from: .caller(principal: "shop")) { order, _ in
        announce("baking", order.dish)
        try await Task.sleep(for: .seconds(1))
        return ["baked": order.count]
    }
)

let application = Application(
    router: ActionRoutes(shop: shop, token: environment["SHOP_TOKEN"]).router(),
    configuration: ApplicationConfiguration(
        address: .hostname("127.0.0.1", port: environment["PORT"].flatMap(Int.init) ?? 0)
    ),
    onServerRunning: { channel in announce("port", channel.localAddress?.port ?? 0) },
    logger: logger
)

// A group stops its services in the reverse order. The application stops first: it accepts no more connections, and the requests in
// progress still get their outcomes from the supervisor, which drains afterwards.
let group = ServiceGroup(
    configuration: ServiceGroupConfiguration(
        services: [supervisor, application],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: logger
    )
)
try await group.run()
announce("report", ["handled": supervisor.report.total.handled, "unsettled": supervisor.report.unsettled])
