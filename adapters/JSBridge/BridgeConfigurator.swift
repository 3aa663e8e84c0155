public import NavigationChain
public import SignalboxCore
public import SignalboxRoutes

/// A builder of the web view configuration for one kind of page.
///
/// A configurator is a value that starts with a default for every option. Named switches such as ``set(disableZoom:)``
/// choose the scripts in a page, because a program cannot inject scripts. The setters accept any value, and
/// ``build(url:)`` checks them all together.
///
/// ```swift
/// var configurator = BridgeConfigurator()
/// configurator.set(disableZoom: true)
/// configurator.add(handler: BridgeHandler("user"))
/// let configuration = try configurator.build(url: URLText("https://shop.example/"))
/// ```
///
/// Use a ``BridgePreset`` instead when several kinds of page share most of their options.
public struct BridgeConfigurator: Sendable {
    /// The maximum number of handlers in a configuration.
    public static let maximumHandlers = 100
    /// The maximum number of origins in a configuration.
    public static let maximumOrigins = 100
    /// The maximum length of a title, in bytes.
    public static let maximumTitleLength = 1_024
    /// The maximum length of the user agent suffix, in bytes.
    public static let maximumUserAgentSuffixLength = 256

    /// Whether pages keep a fixed scale. The default is `false`.
    public private(set) var disablesZoom = false
    /// Whether the title of a page's document replaces ``title``. The default is `true`.
    public private(set) var overridesTitle = true
    /// The title of the screen. The default is `nil`.
    public private(set) var title: String?
    /// The navigation chain, or `nil` for the default chain of ``build(url:)``. A program can derive another chain from
    /// it.
    public private(set) var navigation: NavigationRouter?
    /// The suffix of the user agent. The default is `nil`.
    public private(set) var userAgentSuffix: String?
    /// The origins that get the bridge. If `nil`, ``build(url:)`` chooses the origin of the first page.
    public private(set) var origins: [WebOrigin]?
    /// The handlers to which pages may post, in the order of their registration. The list is empty by default.
    public private(set) var handlers: [BridgeHandler] = []

    /// Creates a configurator with the default value of every option.
    public init() {}

    /// Sets whether pages keep a fixed scale.
    ///
    /// A script adds a `viewport` element to the main frame once its document is parsed. If a page changes its own
    /// `viewport` afterwards, the engine follows the page.
    public mutating func set(disableZoom: Bool) {
        disablesZoom = disableZoom
    }

    /// Sets whether the title of a page's document replaces the title of ``set(title:)``.
    public mutating func set(overrideTitleFromWebView: Bool) {
        overridesTitle = overrideTitleFromWebView
    }

    /// Sets the title that the screen has until the title of a page replaces it.
    ///
    /// - Parameter title: The title, of at most ``maximumTitleLength`` bytes, or `nil` to remove it.
    public mutating func set(title: String?) {
        self.title = title
    }

    /// Sets the chain that decides all loads, including the first one.
    ///
    /// - Parameter navigation: The chain, or `nil` to restore the default chain of ``build(url:)``.
    public mutating func set(navigation: NavigationRouter?) {
        self.navigation = navigation
    }

    /// Sets the suffix of the user agent, such as `Shop/3.2`.
    ///
    /// The suffix has 1 to ``maximumUserAgentSuffixLength`` printable ASCII characters (U+0020 to U+007E). It must not
    /// start or end with a space, because HTTP drops a space there (RFC 9110, section 5.5).
    ///
    /// - Parameter userAgentSuffix: The suffix, or `nil` to remove it.
    public mutating func set(userAgentSuffix: String?) {
        self.userAgentSuffix = userAgentSuffix
    }

    /// Sets the origins whose pages get the bridge.
    ///
    /// The origins do not restrict the actions that a page may call. That is the task of the access rules of the
    /// plugins.
    ///
    /// - Parameter origins: At most ``maximumOrigins`` origins, or `nil` to select the origin of the first page. An
    ///   empty list disables the bridge.
    public mutating func set(origins: [WebOrigin]?) {
        self.origins = origins
    }

    /// Adds a handler to which pages may post, after the handlers that are already registered.
    ///
    /// The new handler replaces an earlier one with the same identifier. A configuration has at most
    /// ``maximumHandlers``.
    public mutating func add(handler: BridgeHandler) {
        handlers.removeAll { $0.identifier == handler.identifier }
        handlers.append(handler)
    }

    /// Builds the configuration of a web view for pages of which `url` is the first.
    ///
    /// If no origins are set, pages of the URL's own origin get the bridge. If no chain is set, the default chain loads
    /// pages of the URL's own origin in any frame, and the empty documents that they put into frames. It cancels
    /// everything else, such as another host, `http` in place of `https`, another port or scheme, or a download.
    ///
    /// - Throws: ``BridgeConfigurationError``. The codes are `tooManyHandlers`, `tooManyOrigins`, `invalidTitle` and
    ///   `invalidUserAgentSuffix`. The code is `noOrigin` if the origins or the chain are not set and the URL has no
    ///   origin, like that of a file or of an application's scheme. It is `invalidNavigation` if the default chain
    ///   cannot be built.
    public func build(url: URLText) throws(BridgeConfigurationError) -> BridgeConfiguration {
        try checkBounds()
        let origins = if let origins { origins } else { [try BridgeConfigurator.origin(of: url)] }
        let navigation = if let navigation { navigation } else { try BridgeConfigurator.chain(forPagesOf: url) }
        return BridgeConfiguration(
            url: url,
            navigation: navigation,
            origins: origins,
            handlers: handlers,
            disablesZoom: disablesZoom,
            overridesTitle: overridesTitle,
            title: title,
            userAgentSuffix: userAgentSuffix
        )
    }
}

extension BridgeConfigurator {
    func checkBounds() throws(BridgeConfigurationError) {
        guard handlers.count <= BridgeConfigurator.maximumHandlers else {
            let detail =
                "a page can have at most \(BridgeConfigurator.maximumHandlers) handlers, not \(handlers.count)"
            throw BridgeConfigurationError(.tooManyHandlers, detail)
        }
        guard (origins ?? []).count <= BridgeConfigurator.maximumOrigins else {
            let detail = "the bridge can have at most \(BridgeConfigurator.maximumOrigins) origins"
            throw BridgeConfigurationError(.tooManyOrigins, detail)
        }
        let longest = BridgeConfigurator.maximumTitleLength
        guard (title ?? "").utf8.count <= longest else {
            throw BridgeConfigurationError(.invalidTitle, "a title must have at most \(longest) bytes")
        }
        if let userAgentSuffix { try BridgeConfigurator.check(userAgentSuffix: userAgentSuffix) }
    }

    private static func check(userAgentSuffix suffix: String) throws(BridgeConfigurationError) {
        let isBounded = (1...maximumUserAgentSuffixLength).contains(suffix.utf8.count)
        let isPrintable = suffix.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        let space = UInt8(ascii: " ")
        guard isBounded, isPrintable, suffix.utf8.first != space, suffix.utf8.last != space else {
            let detail =
                "the user agent suffix must be 1 to \(maximumUserAgentSuffixLength) printable ASCII characters "
                + "without a space at either end, such as Shop/3.2; use nil to add nothing"
            throw BridgeConfigurationError(.invalidUserAgentSuffix, detail)
        }
    }

    static func origin(of url: URLText) throws(BridgeConfigurationError) -> WebOrigin {
        guard let origin = url.origin else {
            let detail =
                "a page with the scheme \(url.scheme) has no origin; "
                + "set the origins of the bridge with set(origins:), and a navigation chain with set(navigation:)"
            throw BridgeConfigurationError(.noOrigin, detail)
        }
        return origin
    }

    /// Returns the default navigation chain.
    static func chain(forPagesOf url: URLText) throws(BridgeConfigurationError) -> NavigationRouter {
        let origin = try origin(of: url)
        do throws(NavigationChainError) {
            // The scheme handler allows the empty documents of frames, which have no origin.
            let handlers: [any NavigationHandler] = [
                try SchemeHandler(allowing: [origin.scheme]), OwnOriginHandler(origin: origin),
            ]
            return try NavigationRouter(handlers, fallback: .cancel("no page of \(origin)"))
        } catch {
            throw BridgeConfigurationError(.invalidNavigation, "\(error); set a chain with set(navigation:)")
        }
    }
}

/// The immutable configuration of a web view.
///
/// Create one with a ``BridgeConfigurator`` or a ``BridgePreset``, and pass it to a ``WebViewConfiguration``.
public struct BridgeConfiguration: Sendable {
    /// The URL of the first page.
    public let url: URLText
    /// The chain that decides every load, beginning with the first page.
    public let navigation: NavigationRouter
    /// The origins whose pages get the bridge. Any other page has no bridge, even if a redirect led to it.
    public let origins: [WebOrigin]
    /// The handlers to which pages may post. `signalbox.call` is not limited to them, because the access rules of the
    /// plugins decide which actions it may call.
    public let handlers: [BridgeHandler]
    /// Whether the page keeps a fixed scale.
    public let disablesZoom: Bool
    /// Whether ``PageHandle/title`` is the title of the document instead of ``title``.
    public let overridesTitle: Bool
    /// The title that the screen has until the title of a document replaces it.
    public let title: String?
    /// The text that the engine appends to its user agent.
    public let userAgentSuffix: String?
}

/// A name to which a page posts, as `messageHandlers.NAME.postMessage(value)`, and the action of its messages.
///
/// By default, the action has the same name. With different actions, several kinds of page can post to the same name
/// and still use different plugins:
///
/// ```swift
/// let cart = BridgeHandler("page", action: "cart.page")
/// let payment = BridgeHandler("page", action: "payment.page")
/// ```
public struct BridgeHandler: Sendable, Hashable {
    /// The name in the page, unique in a configuration.
    public let identifier: ActionName
    /// The action for which plugins are registered.
    public let action: ActionName

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - identifier: The name in the page.
    ///   - action: The action of its messages. By default, it is the identifier.
    public init(_ identifier: ActionName, action: ActionName? = nil) {
        self.identifier = identifier
        self.action = action ?? identifier
    }
}

/// An error that prevents the configuration of a page, because the program or its settings contain a mistake.
public struct BridgeConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `noOrigin`.
        public let rawValue: String

        /// Creates a code by its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The configurator has more than ``BridgeConfigurator/maximumHandlers`` handlers.
        public static let tooManyHandlers = Code(rawValue: "tooManyHandlers")
        /// The configurator has more than ``BridgeConfigurator/maximumOrigins`` origins.
        public static let tooManyOrigins = Code(rawValue: "tooManyOrigins")
        /// The title has more than ``BridgeConfigurator/maximumTitleLength`` bytes.
        public static let invalidTitle = Code(rawValue: "invalidTitle")
        /// The suffix cannot be part of a user agent.
        public static let invalidUserAgentSuffix = Code(rawValue: "invalidUserAgentSuffix")
        /// The URL of the page has no origin, and the origins or the chain were not set.
        public static let noOrigin = Code(rawValue: "noOrigin")
        /// The default chain cannot be built for the URL of the page.
        public static let invalidNavigation = Code(rawValue: "invalidNavigation")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The name of the invalid preset, or an empty string if the configurator does not belong to a preset.
    public let preset: String
    /// A sentence that describes the error and its remedy.
    public let detail: String

    init(_ code: Code, _ detail: String, preset: String = "") {
        self.code = code
        self.preset = preset
        self.detail = detail
    }

    func of(preset: String) -> BridgeConfigurationError {
        BridgeConfigurationError(code, detail, preset: preset)
    }

    /// The preset and the detail, on one line.
    public var description: String {
        let about = preset.isEmpty ? "page configuration" : "page preset \(PageLogText.escaped(preset))"
        return "\(about): \(PageLogText.escaped(detail))"
    }
}

/// A handler that allows pages of one origin and passes on all other requests, including downloads.
struct OwnOriginHandler: SyncNavigationHandler {
    let name = "ownOrigin"
    let origin: WebOrigin

    func decide(_ request: NavigationRequest) -> NavigationDecision? {
        guard request.kind != .download, request.url.origin == origin else { return nil }
        return .allow("a page of \(origin)")
    }
}
