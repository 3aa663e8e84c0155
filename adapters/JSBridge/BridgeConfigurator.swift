public import NavigationChain
public import SignalboxCore
public import SignalboxRoutes

/// Builds the web view configuration for one kind of page.
///
/// A configurator is a value type, and every option has a default. A program cannot inject scripts directly; it chooses
/// them through named switches such as ``set(disableZoom:)``. The setters accept any value, because ``build(url:)``
/// checks all options together.
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
    /// The maximum number of origins that can be set for a configuration.
    public static let maximumOrigins = 100
    /// The maximum length of a title, in bytes.
    public static let maximumTitleLength = 1_024
    /// The maximum length of the user agent suffix, in bytes.
    public static let maximumUserAgentSuffixLength = 256

    /// Whether pages keep a fixed scale. The default is `false`.
    public private(set) var disablesZoom = false
    /// Whether the title of the page's document replaces ``title``. The default is `true`.
    public private(set) var overridesTitle = true
    /// The title of the screen. The default is `nil`.
    public private(set) var title: String?
    /// The navigation chain, or `nil` to use the default chain described in ``build(url:)``. You can derive a new chain
    /// from this one.
    public private(set) var navigation: NavigationRouter?
    /// The suffix of the user agent. The default is `nil`.
    public private(set) var userAgentSuffix: String?
    /// The origins whose pages have the bridge, or `nil` to use the first page's origin. The default is `nil`.
    public private(set) var origins: [WebOrigin]?
    /// The handlers that pages can post to, in the order in which they were added. The default is an empty list.
    public private(set) var handlers: [BridgeHandler] = []

    /// Creates a configurator with the default value for every option.
    public init() {}

    /// Sets whether pages keep a fixed scale.
    ///
    /// To keep the scale fixed, a script adds a `viewport` element to the main frame's document once the document is
    /// parsed. If the page later changes its own `viewport`, the page's value takes effect.
    public mutating func set(disableZoom: Bool) {
        disablesZoom = disableZoom
    }

    /// Sets whether the title of the page's document replaces the title set with ``set(title:)``.
    public mutating func set(overrideTitleFromWebView: Bool) {
        overridesTitle = overrideTitleFromWebView
    }

    /// Sets the screen's initial title, which is used until the title of the page's document replaces it.
    ///
    /// - Parameter title: A title of at most ``maximumTitleLength`` bytes, or `nil` to remove the title.
    public mutating func set(title: String?) {
        self.title = title
    }

    /// Sets the navigation chain, which decides on every load, including that of the first page.
    ///
    /// - Parameter navigation: The chain, or `nil` to restore the default chain described in ``build(url:)``.
    public mutating func set(navigation: NavigationRouter?) {
        self.navigation = navigation
    }

    /// Sets the text that is appended to the user agent, such as `Shop/3.2`.
    ///
    /// The suffix must consist of 1 to ``maximumUserAgentSuffixLength`` printable ASCII characters (U+0020 to U+007E).
    /// It must not start or end with a space, because HTTP strips spaces there (RFC 9110, section 5.5).
    ///
    /// - Parameter userAgentSuffix: The suffix, or `nil` to remove it.
    public mutating func set(userAgentSuffix: String?) {
        self.userAgentSuffix = userAgentSuffix
    }

    /// Sets the origins whose pages have the bridge.
    ///
    /// The origins do not restrict which actions a page can call; the plugins' access rules do that.
    ///
    /// - Parameter origins: At most ``maximumOrigins`` origins, or `nil` to use the first page's origin. An empty list
    ///   disables the bridge.
    public mutating func set(origins: [WebOrigin]?) {
        self.origins = origins
    }

    /// Adds a handler that pages can post to, or replaces the one with the same identifier.
    ///
    /// The handler is placed at the end of the list. A configuration can have at most ``maximumHandlers`` handlers.
    public mutating func add(handler: BridgeHandler) {
        handlers.removeAll { $0.identifier == handler.identifier }
        handlers.append(handler)
    }

    /// Builds a web view configuration whose first page is `url`.
    ///
    /// If no origins are set, pages from the URL's origin have the bridge.
    ///
    /// If no chain is set, the default chain allows pages from the URL's origin in any frame, and the empty documents
    /// that such pages put into frames. It cancels all other loads, such as downloads and pages with a different host,
    /// port or scheme (including `http` instead of `https`).
    ///
    /// - Throws: ``BridgeConfigurationError`` with one of these codes:
    ///   - `tooManyHandlers`, `tooManyOrigins`, `invalidTitle` or `invalidUserAgentSuffix` if an option is out of
    ///     bounds.
    ///   - `noOrigin` if the URL has no origin and either the origins or the chain are not set. A file URL, for
    ///     example, has no origin, nor does a URL with an application's own scheme.
    ///   - `invalidNavigation` if the default chain cannot be built.
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
            throw BridgeConfigurationError(.invalidNavigation, "\(error.detail); set a chain with set(navigation:)")
        }
    }
}

/// The immutable configuration of a web view.
///
/// Create one with a ``BridgeConfigurator`` or a ``BridgePreset``, and pass it to a ``WebViewConfiguration``.
public struct BridgeConfiguration: Sendable {
    /// The URL of the first page.
    public let url: URLText
    /// The navigation chain, which decides on every load, including that of the first page.
    public let navigation: NavigationRouter
    /// The origins whose pages have the bridge. A page from any other origin has no bridge, even if a redirect led to
    /// it.
    public let origins: [WebOrigin]
    /// The handlers that pages can post to. They do not limit `signalbox.call`, because the plugins' access rules
    /// decide which actions it can call.
    public let handlers: [BridgeHandler]
    /// Whether the page keeps a fixed scale.
    public let disablesZoom: Bool
    /// Whether ``PageHandle/title`` is the document's title instead of ``title``.
    public let overridesTitle: Bool
    /// The screen's initial title, which is used until the title of the page's document replaces it.
    public let title: String?
    /// The text that the engine appends to its user agent.
    public let userAgentSuffix: String?
}

/// A name that pages post to with `messageHandlers.NAME.postMessage(value)`, and the action that those messages call.
///
/// By default, the action has the same name. With different actions, several kinds of page can post to the same name
/// and still reach different plugins:
///
/// ```swift
/// let cart = BridgeHandler("page", action: "cart.page")
/// let payment = BridgeHandler("page", action: "payment.page")
/// ```
public struct BridgeHandler: Sendable, Hashable {
    /// The name used in the page. It is unique within a configuration.
    public let identifier: ActionName
    /// The action that plugins register for.
    public let action: ActionName

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - identifier: The name used in the page.
    ///   - action: The action that messages to this handler call. The default is the identifier.
    public init(_ identifier: ActionName, action: ActionName? = nil) {
        self.identifier = identifier
        self.action = action ?? identifier
    }
}

/// An error thrown for an invalid page configuration, which is caused by a mistake in the program or its settings.
public struct BridgeConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `noOrigin`.
        public let rawValue: String

        /// Creates a code with the given name.
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
        /// The page's URL has no origin, and either the origins or the chain were not set.
        public static let noOrigin = Code(rawValue: "noOrigin")
        /// The default chain cannot be built for the page's URL.
        public static let invalidNavigation = Code(rawValue: "invalidNavigation")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The name of the invalid preset, or an empty string if the configurator does not belong to a preset.
    public let preset: String
    /// A sentence that describes the error and how to fix it.
    public let detail: String

    init(_ code: Code, _ detail: String, preset: String = "") {
        self.code = code
        self.preset = preset
        self.detail = detail
    }

    func of(preset: String) -> BridgeConfigurationError {
        BridgeConfigurationError(code, detail, preset: preset)
    }

    /// The preset and the detail, followed by the code, such as `[BridgeConfigurationError.noOrigin]`, on one line.
    public var description: String {
        let about = preset.isEmpty ? "page configuration" : "page preset \(PageLogText.escaped(preset))"
        return coded("\(about): \(PageLogText.escaped(detail))")
    }
}

extension BridgeConfigurationError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}

/// Allows pages from one origin, and passes on all other requests, including downloads.
struct OwnOriginHandler: SyncNavigationHandler {
    let name = "ownOrigin"
    let origin: WebOrigin

    func decide(_ request: NavigationRequest) -> NavigationDecision? {
        guard request.kind != .download, request.url.origin == origin else { return nil }
        return .allow("a page of \(origin)")
    }
}
