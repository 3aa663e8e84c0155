public import NavigationChain
public import SignalboxCore
public import SignalboxRoutes

/// Collects what one kind of page is told, and builds what a web view keeps.
///
/// A value: a copy can be changed without changing the other. What is not set has a default, and nothing is checked before
/// ``build(url:)``. What runs in a page is chosen by named switches such as ``set(disableZoom:)``; script cannot be given.
///
/// ```swift
/// var configurator = BridgeConfigurator()
/// configurator.set(disableZoom: true)
/// configurator.add(handler: BridgeHandler("user"))
/// let configuration = try configurator.build(url: URLText("https://shop.example/"))
/// ```
public struct BridgeConfigurator: Sendable {
    /// The most handlers of one configuration.
    public static let maximumHandlers = 100
    /// The most origins of one configuration.
    public static let maximumOrigins = 100
    /// The most bytes of a title.
    public static let maximumTitleLength = 1_024
    /// The most bytes of what is added to the user agent.
    public static let maximumUserAgentSuffixLength = 256

    /// Whether pages are told to keep their scale; not by default.
    public private(set) var disablesZoom = false
    /// Whether a page's own title takes the place of ``title``; it does by default.
    public private(set) var overridesTitle = true
    /// What the screen is called; nothing by default.
    public private(set) var title: String?
    /// The chain that was set, or `nil`: ``build(url:)`` then makes one. To derive a chain from it, change and set it again.
    public private(set) var navigation: NavigationRouter?
    /// What is added to the user agent; nothing by default.
    public private(set) var userAgentSuffix: String?
    /// The origins that were set, or `nil`: ``build(url:)`` then takes the page's own.
    public private(set) var origins: [WebOrigin]?
    /// What pages may post to by name, in the order in which it was added; nothing by default.
    public private(set) var handlers: [BridgeHandler] = []

    /// A configurator that nothing was set in.
    public init() {}

    /// Whether pages are told to keep their scale: a `viewport` element of fixed scale, put into the page's main frame once
    /// its document was read. A page that changes its own `viewport` afterwards is followed by the engine.
    public mutating func set(disableZoom: Bool) {
        disablesZoom = disableZoom
    }

    /// Whether a page's own title takes the place of that of ``set(title:)``.
    public mutating func set(overrideTitleFromWebView: Bool) {
        overridesTitle = overrideTitleFromWebView
    }

    /// What the screen is called while no title of a page takes its place; at most ``maximumTitleLength`` bytes. `nil` takes
    /// an earlier one back.
    public mutating func set(title: String?) {
        self.title = title
    }

    /// Who decides what may be loaded, from the first page on. `nil` takes an earlier chain back, and ``build(url:)`` makes
    /// the one it says.
    public mutating func set(navigation: NavigationRouter?) {
        self.navigation = navigation
    }

    /// What the engine adds to what it calls itself to servers, such as `Shop/3.2`: printable ASCII (U+0020 to U+007E), 1 to
    /// ``maximumUserAgentSuffixLength`` bytes, without a space at either end, which HTTP drops (RFC 9110, section 5.5). `nil`
    /// takes an earlier one back.
    public mutating func set(userAgentSuffix: String?) {
        self.userAgentSuffix = userAgentSuffix
    }

    /// The origins whose pages get the bridge, at most ``maximumOrigins``. An empty list is a page without it; `nil` is the
    /// origin of the URL that is built for. What a page may call is not said by this, but by the plugins' access rules.
    public mutating func set(origins: [WebOrigin]?) {
        self.origins = origins
    }

    /// Lets pages post to a name; at most ``maximumHandlers``. One of the same identifier takes the place of the earlier in
    /// everything but its place: the earlier is removed, the new one is the last.
    public mutating func add(handler: BridgeHandler) {
        handlers.removeAll { $0.identifier == handler.identifier }
        handlers.append(handler)
    }

    /// What a web view is told about its pages, of which `url` is the first.
    ///
    /// Where no origins were set, pages of the URL's own origin get the bridge. Where no chain was set, one is made that
    /// loads pages of the URL's own origin, in any frame, and the empty documents that these put into frames of their own,
    /// and cancels everything else: another host, `http` in place of `https`, another port, another scheme, a download.
    ///
    /// - Throws: ``BridgeConfigurationError``: `tooManyHandlers`, `tooManyOrigins`, `invalidTitle`,
    ///   `invalidUserAgentSuffix`; `noOrigin` when the URL has no origin of its own, as that of a file or of a scheme of the
    ///   application has none, and the origins or the chain were not set; `invalidNavigation` when no chain can be made.
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
                "a page has at most \(BridgeConfigurator.maximumHandlers) handlers; these are \(handlers.count)"
            throw BridgeConfigurationError(.tooManyHandlers, detail)
        }
        guard (origins ?? []).count <= BridgeConfigurator.maximumOrigins else {
            let detail = "the bridge is for at most \(BridgeConfigurator.maximumOrigins) origins"
            throw BridgeConfigurationError(.tooManyOrigins, detail)
        }
        if let title { try BridgeConfigurator.check(title: title) }
        if let userAgentSuffix { try BridgeConfigurator.check(userAgentSuffix: userAgentSuffix) }
    }

    private static func check(title: String) throws(BridgeConfigurationError) {
        guard title.utf8.count <= maximumTitleLength else {
            throw BridgeConfigurationError(.invalidTitle, "a title has at most \(maximumTitleLength) bytes")
        }
    }

    private static func check(userAgentSuffix suffix: String) throws(BridgeConfigurationError) {
        let isBounded = (1...maximumUserAgentSuffixLength).contains(suffix.utf8.count)
        let isPrintable = suffix.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        let space = UInt8(ascii: " ")
        guard isBounded, isPrintable, suffix.utf8.first != space, suffix.utf8.last != space else {
            let detail =
                "what is added to the user agent is 1 to \(maximumUserAgentSuffixLength) printable ASCII characters "
                + "without a space at either end, such as Shop/3.2; use nil to add nothing"
            throw BridgeConfigurationError(.invalidUserAgentSuffix, detail)
        }
    }

    static func origin(of url: URLText) throws(BridgeConfigurationError) -> WebOrigin {
        guard let origin = url.origin else {
            let detail =
                "a page at a URL of the scheme \(url.scheme) has no origin of its own; "
                + "say with set(origins:) who gets the bridge, and with set(navigation:) what may be loaded"
            throw BridgeConfigurationError(.noOrigin, detail)
        }
        return origin
    }

    /// The chain of a page that nobody made one for.
    static func chain(forPagesOf url: URLText) throws(BridgeConfigurationError) -> NavigationRouter {
        let origin = try origin(of: url)
        do throws(NavigationChainError) {
            // The first allows the empty documents of frames, which have no origin.
            let handlers: [any NavigationHandler] = [
                try SchemeHandler(allowing: [origin.scheme]), OwnOriginHandler(origin: origin),
            ]
            return try NavigationRouter(handlers, fallback: .cancel("no page of \(origin)"))
        } catch {
            throw BridgeConfigurationError(.invalidNavigation, "\(error); set a chain with set(navigation:)")
        }
    }
}

/// What a web view is told about its pages. Made by a ``BridgeConfigurator`` alone, and never changed.
public struct BridgeConfiguration: Sendable {
    /// The page that is loaded first.
    public let url: URLText
    /// Who decides what may be loaded, from the first page on.
    public let navigation: NavigationRouter
    /// The origins whose pages get the bridge; another page, also one that a redirect led to, has none.
    public let origins: [WebOrigin]
    /// What pages may post to by name. Any action can be called by `signalbox.call`; who may is the plugins' access rules.
    public let handlers: [BridgeHandler]
    /// Whether the page is told to keep its scale.
    public let disablesZoom: Bool
    /// Whether ``PageHandle/title`` is the document's title, and not ``title``.
    public let overridesTitle: Bool
    /// What the screen is called as long as no document's title takes its place.
    public let title: String?
    /// Added to what the engine calls itself to servers.
    public let userAgentSuffix: String?
}

/// What a page posts to by name, `messageHandlers.NAME.postMessage(value)`, and the action that it becomes.
public struct BridgeHandler: Sendable, Hashable {
    /// The name in the page. One configuration has each once.
    public let identifier: ActionName
    /// The action, which plugins are registered for.
    public let action: ActionName

    /// - Parameters:
    ///   - identifier: the name in the page.
    ///   - action: what its messages become; the identifier itself by default. Another lets pages of one kind, which post
    ///     to the same name, be served by a plugin of their own.
    public init(_ identifier: ActionName, action: ActionName? = nil) {
        self.identifier = identifier
        self.action = action ?? identifier
    }
}

/// Why no configuration of a page can be built: a mistake in the program or in what it was configured with.
public struct BridgeConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case tooManyHandlers, tooManyOrigins, invalidTitle, invalidUserAgentSuffix, noOrigin, invalidNavigation
        }
        private let word: Word

        /// More than ``BridgeConfigurator/maximumHandlers``.
        public static let tooManyHandlers = Code(word: .tooManyHandlers)
        /// More than ``BridgeConfigurator/maximumOrigins``.
        public static let tooManyOrigins = Code(word: .tooManyOrigins)
        /// A title of more than ``BridgeConfigurator/maximumTitleLength`` bytes.
        public static let invalidTitle = Code(word: .invalidTitle)
        /// What cannot be a part of a user agent.
        public static let invalidUserAgentSuffix = Code(word: .invalidUserAgentSuffix)
        /// The page's URL has no origin, and what would follow from one was not set.
        public static let noOrigin = Code(word: .noOrigin)
        /// No chain can be made for the page's URL, and none was set.
        public static let invalidNavigation = Code(word: .invalidNavigation)

        /// The word used in logs, such as `noOrigin`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The name of the preset it is about; empty when a configurator was used by itself.
    public let preset: String
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String, preset: String = "") {
        self.code = code
        self.preset = preset
        self.detail = detail
    }

    func of(preset: String) -> BridgeConfigurationError {
        BridgeConfigurationError(code, detail, preset: preset)
    }

    /// The preset and the detail, in one line.
    public var description: String {
        let about = preset.isEmpty ? "page configuration" : "page preset \(LineText.escaped(preset))"
        return "\(about): \(LineText.escaped(detail))"
    }
}

/// Allows pages of one origin, and passes on all else, downloads too.
struct OwnOriginHandler: SyncNavigationHandler {
    let name = "ownOrigin"
    let origin: WebOrigin

    func decide(_ request: NavigationRequest) -> NavigationDecision? {
        guard request.kind != .download, request.url.origin == origin else { return nil }
        return .allow("a page of \(origin)")
    }
}
