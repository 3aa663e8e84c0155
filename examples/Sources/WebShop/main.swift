import AppScheme
import Foundation
import JSBridge
import Logging
import NavigationChain
import SignalboxCore
import SignalboxRoutes

// WebShop FOLDER [PICTURE.png]: a shop whose pages speak to the application, in web views, or, built without them, the
// pages' script alone.
let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first else {
    print("usage: WebShop FOLDER [PICTURE.png]")
    exit(64)
}
// The log goes to stderr, so that the lines are the shop's own.
let logger = Logger(label: "webshop") { label in
    var log = StreamLogHandler.standardError(label: label)
    log.logLevel = .warning
    return log
}
do {
    #if WebKitGTK
    let picture = arguments.dropFirst().first
    try await ShopSite.serving(folder, logger) { site in
        try await ShopTour(site: site, picture: picture, logger: logger).run()
    }
    #endif
    try await HeadlessShop(folder: folder, logger: logger).run()
} catch {
    logger.critical("\(error)")
    exit(1)
}
