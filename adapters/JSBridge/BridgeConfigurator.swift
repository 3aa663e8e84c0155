public import NavigationChain
public import SignalboxCore
public import SignalboxRoutes

/// A builder of the web view configuration for one kind of page.
///
/// A configurator is a value with a default for every option; ``build(url:)`` performs all checks. Named switches such
/// as ``set(disableZoom:)`` choose the scripts in a page; a program cannot inject its own.
///
/// ```swift
/// var configurator = BridgeConfigurator()
/// configurator.set(disableZoom: true)
/// configurator.add(handler: BridgeHandler("user"))
/// let configuration = try configurator.build(url: URLText("https://shop.example/"))
/// ```
public struct BridgeConfigurator: Sendable {
    /// The maximum number of handlers in a configuration.
    public static let maximumHandlers = 100
    /// The maximum number of origins in a configuration.
    public static let maximumOrigins = 100
    /// The maximum length of a title, in bytes.
    public static let maximumTitleLength = 1_024
    /// The maximum length of the user agent suffix, in bytes.
    public static let maximumUserAgentSuffixLength = 256

    /// Whether pages keep a fixed scale; `false` by default.
    public private(set) var disablesZoom = false
    /// Whether a page's own title replaces ``title``; `true` by default.
    public private(set) var overridesTitle = true
    /// The screen's title; `nil` by default.
    public private(set) var title: String?
    /// The navigation chain, or `nil` for the default of ``build(url:)``. Programs can derive another chain from it.
    public private(set) var navigation: NavigationRouter?
    /// The suffix of the user agent; `nil` by default.
    public private(set) var userAgentSuffix: String?
    /// The origins that get the bridge, or `nil` for the page's own, chosen by ``build(url:)``.
    public private(set) var origins: [WebOrigin]?
    /// The handlers to which pages may post, in the order of their registration; empty by default.
    public private(set) var handlers: [BridgeHandler] = []

    /// Creates a configurator with the default of every option.
    public init() {}

    /// Sets whether pages keep a fixed scale, with a `viewport` element added to the main frame once its document is
    /// parsed. The engine follows a page that changes its own `viewport` afterwards.
    public mutating func set(disableZoom: Bool) {
        disablesZoom = disableZoom
    }

    /// Sets whether a page's own title replaces the title of ``set(title:)``.
    public mutating func set(overrideTitleFromWebView: Bool) {
        overridesTitle = overrideTitleFromWebView
    }

    /// Sets the screen's title until a page's title replaces it; `nil` removes it. At most ``maximumTitleLength``
    /// bytes.
    public mutating func set(title: String?) {
        self.title = title
    }

    /// Sets the chain that decides all loads, including the first. `nil` restores the default of ``build(url:)``.
    public mutating func set(navigation: NavigationRouter?) {
        self.navigation = navigation
    }

    /// Sets the suffix of the user agent, such as `Shop/3.2`; `nil` removes it. It has 1 to
    /// ``maximumUserAgentSuffixLength`` printable ASCII characters (U+0020 to U+007E), and no space at either end,
    /// because HTTP drops one there (RFC 9110, section 5.5).
    public mutating func set(userAgentSuffix: String?) {
        self.userAgentSuffix = userAgentSuffix
    }

    /// Sets the origins whose pages get the bridge, at most ``maximumOrigins``; `nil` selects the origin of the first
    /// page. An empty list disables the bridge. The plugins' access rules decide which actions a page may call.
    public mutating func set(origins: [WebOrigin]?) {
        self.origins = origins
    }

    /// Adds a handler to which pages may post; at most ``maximumHandlers``. The new handler is the last in order. It
    /// replaces an earlier one with the same identifier.
    public mutating func add(handler: BridgeHandler) {
        handlers.removeAll { $0.identifier == handler.identifier }
        handlers.append(handler)
    }

    /// Builds the configuration of a web view for pages of which `url` is the first.
    ///
    /// Without explicit origins, pages of the URL's own origin get the bridge. Without an explicit chain, the default
    /// chain loads pages of the URL's own origin in any frame, and the empty documents that they put into frames. It
    /// cancels everything else: another host, `http` in place of `https`, another port or scheme, or a download.
    ///
    /// - Throws: ``BridgeConfigurationError``: `tooManyHandlers`, `tooManyOrigins`, `invalidTitle`,
    ///   `invalidUserAgentSuffix`; `noOrigin` when the origins or the chain are not set and the URL has no origin, such
    ///   as a file's or that of an application's scheme; `invalidNavigation` when the default chain cannot be built.
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

/// The immutable configuration of a web view. Only a ``BridgeConfigurator`` creates one.
public struct BridgeConfiguration: Sendable {
    /// The URL of the first page.
    public let url: URLText
    /// The chain that decides every load, beginning with the first page.
    public let navigation: NavigationRouter
    /// The origins whose pages get the bridge. Other pages have none, including one reached by a redirect.
    public let origins: [WebOrigin]
    /// The handlers to which pages may post. `signalbox.call` can call any action; the plugins' access rules decide.
    public let handlers: [BridgeHandler]
    /// Whether the page keeps a fixed scale.
    public let disablesZoom: Bool
    /// Whether ``PageHandle/title`` is the document's title instead of ``title``.
    public let overridesTitle: Bool
    /// The screen's title until a document's title replaces it.
    public let title: String?
    /// The text that the engine appends to its user agent.
    public let userAgentSuffix: String?
}

/// A name to which a page posts, as `messageHandlers.NAME.postMessage(value)`, and the action of its messages.
public struct BridgeHandler: Sendable, Hashable {
    /// The name in the page, unique in a configuration.
    public let identifier: ActionName
    /// The action for which plugins are registered.
    public let action: ActionName

    /// Creates a handler. With different actions, several kinds of page can post to one name and use different plugins.
    ///
    /// - Parameters:
    ///   - identifier: The name in the page.
    ///   - action: The action of its messages; the identifier by default.
    public init(_ identifier: ActionName, action: ActionName? = nil) {
        self.identifier = identifier
        self.action = action ?? identifier
    }
}

/// An error that prevents the configuration of a page: a mistake in the program or in its settings.
public struct BridgeConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `noOrigin`.
        public let rawValue: String

        /// Creates a code by its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// More than ``BridgeConfigurator/maximumHandlers``.
        public static let tooManyHandlers = Code(rawValue: "tooManyHandlers")
        /// More than ``BridgeConfigurator/maximumOrigins``.
        public static let tooManyOrigins = Code(rawValue: "tooManyOrigins")
        /// A title of more than ``BridgeConfigurator/maximumTitleLength`` bytes.
        public static let invalidTitle = Code(rawValue: "invalidTitle")
        /// A suffix that cannot be part of a user agent.
        public static let invalidUserAgentSuffix = Code(rawValue: "invalidUserAgentSuffix")
        /// The page's URL has no origin, and the origins or the chain were not set.
        public static let noOrigin = Code(rawValue: "noOrigin")
        /// The default chain cannot be built for the page's URL.
        public static let invalidNavigation = Code(rawValue: "invalidNavigation")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The name of the invalid preset; empty for a configurator without a preset.
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
