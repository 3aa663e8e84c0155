import AppScheme
import Foundation
import JSBridge
import Logging
import NavigationChain
import SignalboxCore
import SignalboxRoutes

// WebShop FOLDER [PICTURE.png]: a shop whose pages communicate with the application. Runs the pages in web views, if
// they are built in, and then the pages' script without a page.
let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first else {
    print("usage: WebShop FOLDER [PICTURE.png]")
    exit(64)
}
// The log goes to stderr, so that stdout contains only the shop's lines.
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
